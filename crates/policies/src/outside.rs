//! Techniques whose answers come from outside: the traits of the policy interfaces, of whatever answers questions with whole numbers.
//!
//! An answer that is not allowed is a fault, as is a policy that fails. Both end the run; until it has ended, harmless answers
//! stand in, and the policy is not asked again.

use crate::fault::{Fault, report};
use crate::question::{Asked, Question};
use std::sync::atomic::{AtomicU64, Ordering};
use tinytail_config::{ConfigError, Fault as ConfigFault, Faults};
use tinytail_core::device::Device;
use tinytail_core::flash::ask::{Candidate, Keep, Serve, Suspension};
use tinytail_core::ids::{BlockGroup, DieIx, Pool};
use tinytail_core::policy::thresholds::{CycleLevels, StartLevel};
use tinytail_core::policy::view::{BlockedRead, View};
use tinytail_core::policy::{Combination, Gate, GcGate, GcTrigger, Order, ReadAnswer, ReadPlan, Suspend, Victim, Want};
use tinytail_core::techniques::outside::Entry;
use tinytail_core::units::Ns;

/// Counts questions and answers of this program.
static QUESTIONS: AtomicU64 = AtomicU64::new(0);

/// How many questions policies were asked, and how many they answered, together. Of one run it is odd while a question has no answer.
pub fn questions() -> u64 {
    QUESTIONS.load(Ordering::Relaxed)
}

/// Whatever answers questions.
pub trait Answers: Send {
    /// The answer to a question.
    ///
    /// # Errors
    /// It failed. The message says how, as what follows the policy's name.
    fn answer(&mut self, question: &Question<'_>) -> Result<i64, Fault>;
    /// Makes itself ready for a run on a device.
    ///
    /// # Errors
    /// Why it can't.
    fn prepare(&mut self, _device: &Device) -> Result<(), String> {
        Ok(())
    }
    /// Takes the run's seed.
    ///
    /// # Errors
    /// As for `answer`.
    fn seed(&mut self, _seed: u64) -> Result<(), Fault> {
        Ok(())
    }
    /// What it remembers.
    ///
    /// # Errors
    /// It remembers something, and can't give it. The message says so, as for `answer`.
    fn save(&self) -> Result<Vec<u8>, Fault> {
        Ok(Vec::new())
    }
    /// Takes back what `save` gave.
    ///
    /// # Errors
    /// As for `answer`.
    fn restore(&mut self, _state: &[u8]) -> Result<(), Fault> {
        Err(Fault { message: "remembers nothing".into(), cause: None })
    }
}

/// A policy of which only the text of its file is known. Where nothing runs, it replaces the policy, so that no code of the file runs.
#[derive(Clone, Copy, Debug)]
pub struct Described;

impl Answers for Described {
    fn answer(&mut self, _: &Question<'_>) -> Result<i64, Fault> {
        Err(Fault { message: "was not loaded, and cannot answer".into(), cause: None })
    }
}

/// Where a trigger's GC begins and ends, in percent of the pages of a plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// Erased pages below which it wants a GC at all.
    pub start_percent: f64,
    /// Erased pages at which it wants no more, once it had one.
    pub stop_percent: f64,
    /// Erased pages below which it wants a GC urgently.
    pub urgent_percent: f64,
}

/// What a memory begins with that could be given.
const SAVED: u8 = 1;
/// What one begins with that could not: the rest says why.
const UNSAVED: u8 = 0;

/// A technique of a policy from outside.
pub struct Outside<A> {
    section: &'static str,
    /// What messages call it.
    name: String,
    digest: String,
    answers: A,
    levels: Option<Levels>,
    /// The levels in pages, once a drive is known: where GC starts, where it stops, where it is urgent.
    pages: [u32; 3],
    has_failed: bool,
    candidates: Vec<BlockGroup>,
}

impl<A: Answers> Outside<A> {
    /// A policy of a section, as a design names it. A trigger has levels, unless only its code says which.
    pub fn new(section: &'static str, entry: &Entry, levels: Option<Levels>, answers: A) -> Self {
        let name = match &entry.file {
            Some(file) => format!("{} of {file}", entry.name),
            None => entry.name.clone(),
        };
        let digest = entry.digest.clone();
        Self { section, name, digest, answers, levels, pages: [0; 3], has_failed: false, candidates: Vec::new() }
    }

    fn fail(&mut self, fault: Fault, when: &str) {
        self.has_failed = true;
        report(self.fault(fault, when));
    }

    /// A fault with the policy's name, and with what it was to do.
    fn fault(&self, Fault { message, cause }: Fault, when: &str) -> Fault {
        // What it raised is shown below the message.
        let (said, below) = message.split_once('\n').unwrap_or((&message, ""));
        let below = if below.is_empty() { String::new() } else { format!("\n{below}") };
        Fault { message: format!("the policy {} of [{}] {said}{when}{below}", self.name, self.section), cause }
    }

    /// Asks; nothing if the policy has failed, now or before.
    fn ask<T>(&mut self, view: View<'_>, asked: Asked<'_>, meaning: impl FnOnce(u64) -> Option<T>) -> Option<T> {
        if self.has_failed {
            return None;
        }
        let question = Question { view, asked };
        QUESTIONS.fetch_add(1, Ordering::Relaxed);
        let answer = self.answers.answer(&question);
        QUESTIONS.fetch_add(1, Ordering::Relaxed);
        let fault = match answer {
            Ok(answer) => match u64::try_from(answer).ok().and_then(meaning) {
                Some(meant) => return Some(meant),
                None => Fault { message: format!("answered {answer}; allowed: {}", asked.allowed()), cause: None },
            },
            Err(fault) => fault,
        };
        self.fail(fault, &format!(". It was asked {question}"));
        None
    }

    fn ask_index(&mut self, view: View<'_>, asked: Asked<'_>, count: usize) -> usize {
        self.ask(view, asked, |answer| usize::try_from(answer).ok().filter(|&index| index < count)).unwrap_or(0)
    }

    fn prepare_levels(&mut self, device: &Device) -> Result<(), ConfigError> {
        let Some(Levels { start_percent, stop_percent, urgent_percent }) = self.levels else { return Ok(()) };
        if !(0.0 <= urgent_percent && urgent_percent < start_percent && start_percent <= stop_percent && stop_percent < 100.0) {
            let found = format!("is {start_percent}, `urgent_percent` {urgent_percent} and `stop_percent` {stop_percent}");
            return Err(ConfigFault::new(self.section, "start_percent", found).allowed("0 <= urgent < start <= stop < 100").into());
        }
        let all = f64::from(device.geometry.pages_per_plane());
        self.pages = [start_percent, stop_percent, urgent_percent].map(|percent| (all * percent / 100.0).round() as u32);
        Ok(())
    }
}

/// What all interfaces have.
macro_rules! common {
    () => {
        fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
            self.prepare_levels(device)?;
            let name = self.name.clone();
            let refuse = |what| ConfigFault::new(self.section, "", format!("has the policy {name}, which {what}"));
            self.answers.prepare(device).map_err(|what| refuse(what).into())
        }

        fn seed(&mut self, seed: u64) {
            if let Err(fault) = self.answers.seed(seed) {
                self.fail(fault, " when it was given a seed");
            }
        }

        fn save(&self) -> Vec<u8> {
            match self.answers.save() {
                Ok(memory) if memory.is_empty() => memory,
                Ok(memory) => [&[SAVED], self.digest.as_bytes(), &memory].concat(),
                Err(fault) => {
                    let fault = self.fault(fault, "");
                    let memory = [&[UNSAVED], fault.message.as_bytes()].concat();
                    report(fault);
                    memory
                }
            }
        }

        fn restore(&mut self, state: &[u8]) -> Result<(), String> {
            let Some((&kind, rest)) = state.split_first() else { return Ok(()) };
            if kind == UNSAVED {
                return Err(String::from_utf8_lossy(rest).into_owned());
            }
            // What another policy remembered is passed over, as that of another technique is.
            let Some(memory) = rest.strip_prefix(self.digest.as_bytes()) else { return Ok(()) };
            let restored = self.answers.restore(memory);
            restored.map_err(|fault| self.fault(fault, " when it was given back what it remembered").message)
        }
    };
}

impl<A: Answers> Victim for Outside<A> {
    common! {}

    fn narrow(&mut self, view: View<'_>, pool: Pool, candidates: &mut Vec<BlockGroup>) {
        let asked = Asked::Victim { pool, candidates };
        let chosen = self.ask(view, asked, |answer| candidates.iter().copied().find(|group| u64::from(group.0) == answer));
        candidates.retain(|&group| chosen.is_none_or(|chosen| chosen == group));
    }

    fn search(&mut self, view: View<'_>, pool: Pool, _: bool, found: &mut Vec<BlockGroup>) {
        found.clear();
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        candidates.extend(view.tables().collectable(pool));
        if !candidates.is_empty() {
            let among = |answer: u64| {
                let group = BlockGroup(u32::try_from(answer).ok()?);
                candidates.binary_search(&group).is_ok().then_some(group)
            };
            match self.ask(view, Asked::Victim { pool, candidates: &candidates }, among) {
                Some(group) => found.push(group),
                None => view.tables().fewest_valid(pool, true, found),
            }
        }
        self.candidates = candidates;
    }
}

impl<A: Answers> GcTrigger for Outside<A> {
    common! {}

    fn want(&mut self, view: View<'_>, pool: Pool) -> Want {
        let meaning = |answer| [Want::No, Want::Soft, Want::Hard].get(usize::try_from(answer).ok()?).copied();
        self.ask(view, Asked::GcTrigger { pool }, meaning).unwrap_or_else(|| {
            let [start, _, urgent] = self.pages;
            match view.tables().free_pages_of(pool) {
                free if free < urgent => Want::Hard,
                free if free < start => Want::Soft,
                _ => Want::No,
            }
        })
    }

    fn urgent_below(&mut self) -> Option<(&'static str, u32)> {
        self.levels.map(|_| ("urgent_percent", self.pages[2]))
    }

    fn levels(&mut self) -> Option<CycleLevels> {
        self.levels?;
        let [start, stop, _] = self.pages.map(StartLevel::PlanePages);
        Some(CycleLevels { start, stop })
    }
}

impl<A: Answers> GcGate for Outside<A> {
    common! {}

    fn may_start(&mut self, view: View<'_>, pool: Pool, want: Want) -> Gate {
        let meaning = |answer| match answer {
            0 => Some(Gate::Closed),
            1 => Some(Gate::Open),
            at => (at > view.now()).then_some(Gate::ClosedUntil(at)),
        };
        self.ask(view, Asked::GcGate { pool, want }, meaning).unwrap_or(Gate::Open)
    }
}

impl<A: Answers> Order for Outside<A> {
    common! {}

    fn at_die(&mut self, view: View<'_>, candidates: &[Candidate]) -> usize {
        self.ask_index(view, Asked::AtDie { waiting: candidates }, candidates.len())
    }

    fn at_channel(&mut self, view: View<'_>, candidates: &[Candidate]) -> usize {
        self.ask_index(view, Asked::AtChannel { waiting: candidates }, candidates.len())
    }
}

/// What makes way, in one number: what it does (2 bits), what it keeps (2), which reads are served (2), and a time from bit 8 on.
fn suspension(answer: u64) -> Option<Suspension> {
    let at: Ns = answer >> 8;
    let serve = || match answer >> 4 & 15 {
        0 => Some(Serve::UntilNoneWaits),
        1 => Some(Serve::Arrived),
        2 => Some(Serve::ArrivedBy(at)),
        _ => None,
    };
    match (answer & 3, answer >> 2 & 3) {
        (0, _) if answer == 0 => Some(Suspension::No),
        (1, 0) => Some(Suspension::Now(Keep::Progress, serve()?)),
        (1, 1) => Some(Suspension::Now(Keep::Steps, serve()?)),
        (1, 2) => Some(Suspension::Now(Keep::ProgressForFree, serve()?)),
        (2, 0) => Some(Suspension::AtBoundary(serve()?)),
        (3, 0) if answer >> 4 & 15 == 0 => Some(Suspension::AskAt(at)),
        _ => None,
    }
}

impl<A: Answers> Suspend for Outside<A> {
    common! {}

    fn suspend(&mut self, view: View<'_>, die: DieIx) -> Suspension {
        self.ask(view, Asked::Suspend { die }, suspension).unwrap_or(Suspension::No)
    }
}

impl<A: Answers> ReadPlan for Outside<A> {
    common! {}

    fn check(&mut self, with: &Combination<'_>, faults: &mut Faults) {
        with.needs_stripes("read_plan", "custom", faults);
    }

    fn plan(&mut self, view: View<'_>, read: &BlockedRead<'_>) -> ReadAnswer {
        let meaning = |answer| [ReadAnswer::Direct, ReadAnswer::Wait, ReadAnswer::Reconstruct].get(usize::try_from(answer).ok()?).copied();
        self.ask(view, Asked::ReadPlan { read }, meaning).unwrap_or(ReadAnswer::Direct)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_about_suspension_is_one_number() {
        assert_eq!(suspension(0), Some(Suspension::No));
        assert_eq!(suspension(1), Some(Suspension::Now(Keep::Progress, Serve::UntilNoneWaits)));
        assert_eq!(suspension(1 | 1 << 2 | 2 << 4 | 70 << 8), Some(Suspension::Now(Keep::Steps, Serve::ArrivedBy(70))));
        assert_eq!(suspension(2 | 1 << 4), Some(Suspension::AtBoundary(Serve::Arrived)));
        assert_eq!(suspension(3 | 9 << 8), Some(Suspension::AskAt(9)));
        for unknown in [4, 1 | 3 << 2, 2 | 1 << 2, 2 | 3 << 4, 3 | 1 << 4, 1 << 8] {
            assert_eq!(suspension(unknown), None, "{unknown}");
        }
    }
}
