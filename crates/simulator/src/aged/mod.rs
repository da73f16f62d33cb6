//! Aged drives that runs share: each state is made once.
//!
//! A state is looked for under a key, a digest of everything that decides it. Of runs that want the same state at the same
//! time one makes it and the others wait. What takes hardly longer to make than to copy is not stored. Of such states, and of
//! images, runs that follow each other in unknown number keep the last one in memory.

use crate::catalog;
use crate::control::{Control, Phase};
use crate::crew::{Crew, Waiting};
use crate::image::Image;
use crate::spec::{RunError, Spec};
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tinytail_core::device::AgeingMethod;
use tinytail_core::drive::Drive;
use tinytail_core::ids::Lpn;
use tinytail_core::image::Recipe;
use tinytail_core::observe::Observer;
use tinytail_core::precondition::Aged;
use tinytail_workload::Seen;

mod cache;
mod entry;

pub use cache::{Cache, Found, Listed};
pub use entry::{Entry, Header};

/// A digest of the sources that decide what ageing makes: the core's, and the versions of what it is built on.
pub const ENGINE: &str = env!("TINYTAIL_ENGINE");

/// Time to write a page of a state, in nanoseconds, by and large; a layout is drawn faster.
const WRITE_NS: u64 = 40;
const LAY_OUT_NS: u64 = 20;
/// Time to copy one, and how much longer making must take than copying.
const COPY_NS: u64 = 5;
const TIMES: u64 = 5;
/// Less than this is not worth a file.
const WORTH_NS: u64 = 250_000_000;
/// So many states of the cache are at hand at once, without a look into the cache.
const AT_HAND_MAX: usize = 8;
/// How long a wait may go on without a look whether the run is cancelled.
const LOOK: Duration = Duration::from_millis(20);

/// What the runs of one command share. Each has a part in it by its specification.
#[derive(Debug, Default)]
pub struct Shared {
    cache: Option<Cache>,
    keeps_all: bool,
    holds_last: bool,
    state: Mutex<State>,
    changed: Condvar,
    seen: Arc<Seen>,
}

#[derive(Debug, Default)]
struct State {
    slots: HashMap<String, Slot>,
    /// Runs that have not had their aged drive yet.
    pending: Vec<Spec>,
    /// The states that were aged: their seeds and keys.
    aged: HashSet<(u64, String)>,
    /// What is to be said, such as that the cache can't be written.
    notes: Vec<String>,
    /// The names in the cache of states that runs started from.
    used: Vec<String>,
    /// The key of the one state that is held in memory because it was the last.
    last: Option<String>,
    /// How many states were made, drawn, read from images or found in the cache, and not copied from memory.
    made: u64,
}

#[derive(Debug, Clone)]
enum Slot {
    Making,
    Made(Arc<Entry>),
}

impl Shared {
    /// What these runs share, with a cache or without.
    pub fn new(runs: Vec<Spec>, cache: Option<Cache>) -> Self {
        let state = State { pending: runs.iter().map(origin).collect(), ..State::default() };
        Self { cache, state: Mutex::new(state), ..Self::default() }
    }

    /// Keeps every state, however fast it is made.
    pub fn keep_all(self) -> Self {
        Self { keeps_all: true, ..self }
    }

    /// Holds the last state in memory that is not kept otherwise, as large as a drive: for runs of which many follow.
    pub fn hold_last(self) -> Self {
        Self { holds_last: true, ..self }
    }

    /// How many states were not copied from memory.
    pub fn made(&self) -> u64 {
        self.state().made
    }

    /// What the traces were when the first of the runs opened them, so that all play the same.
    pub fn seen(&self) -> &Arc<Seen> {
        &self.seen
    }

    /// How many states it has at hand.
    pub fn held(&self) -> usize {
        self.state().slots.len()
    }

    /// What is to be said since the last call.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.state().notes)
    }

    /// The names in the cache of the states that runs have started from since the last call, each once.
    pub fn take_used(&self) -> Vec<String> {
        std::mem::take(&mut self.state().used)
    }

    /// Where aged drives are kept, if anywhere.
    pub fn cache(&self) -> Option<&Cache> {
        self.cache.as_ref()
    }

    /// Takes over what a run in another process had to say, and the names in the cache of the states that it started from.
    pub fn add(&self, notes: Vec<String>, used: Vec<String>) {
        notes.into_iter().for_each(|note| self.note(note));
        let known = &mut self.state().used;
        known.extend(used.into_iter().filter(|name| !known.contains(name)).collect::<Vec<_>>());
    }

    /// Ages a drive that was just made, or gives it the state that another one has aged to. A run that is cancelled leaves the
    /// drive as far as it got.
    ///
    /// # Errors
    /// A state that was kept and is of no use.
    pub fn age<O: Observer>(&self, drive: &mut Drive<O>, spec: &Spec, footprint: &[Lpn], control: &Control) -> Result<Aged, RunError> {
        let recipe = drive.recipe();
        let mut worth = if self.keeps_all { Worth::File } else { Worth::of(&recipe, footprint.len() as u64) };
        if worth == Worth::Memory && self.cache.is_none() {
            worth = Worth::Nothing;
        }
        let is_large = recipe.layout.geometry.physical_pages() > SMALL_PAGES;
        if worth == Worth::Nothing && !(self.holds_last && is_large) {
            return Ok(age(drive, spec.seed, footprint, control));
        }
        let key = key(&recipe, spec.seed, footprint);
        if worth == Worth::Nothing {
            return self.copy_last(drive, spec.seed, &key, control, |drive| {
                let aged = age(drive, spec.seed, footprint, control);
                if control.is_cancelled() {
                    return Ok((aged, None));
                }
                let header = header(drive, spec, recipe, footprint, &aged);
                let entry = Entry::hold(drive, &header, drive.snapshot_bytes() + (1 << 20)).ok();
                Ok((aged, entry))
            });
        }
        if worth == Worth::Memory {
            return self.age_small(drive, spec, recipe, key, footprint, control);
        }
        let aged = self.age_or_copy(drive, spec, recipe, &key, footprint, control);
        let mut state = self.state();
        let name = self.cache.as_ref().map(|_| cache::name(&key));
        if let Some(name) = name.filter(|name| !state.used.contains(name)) {
            state.used.push(name);
        }
        if let Some(position) = state.pending.iter().position(|run| *run == origin(spec)) {
            state.pending.swap_remove(position);
        }
        if self.cache.is_none() && !state.is_wanted(spec) {
            state.slots.remove(&key);
        }
        aged
    }

    /// Loads an image into a drive that was just made, or gives it the state that the image gave another one.
    ///
    /// # Errors
    /// An image that is damaged, or that holds no drive.
    pub fn load<O: Observer>(&self, image: Image, drive: &mut Drive<O>, spec: &Spec, control: &Control) -> Result<Aged, RunError> {
        let recipe = drive.recipe();
        control.enter(Phase::Loading, 0);
        if !self.holds_last || recipe.layout.geometry.physical_pages() <= SMALL_PAGES {
            return Ok(image.load(drive, spec.seed)?);
        }
        // What the image holds does not depend on the design, if it fits.
        let layout = serde_json::to_string(&recipe.layout).expect("numbers and words");
        let key = digest(&(image.identity(), layout, recipe.bad_blocks_per_plane));
        self.copy_last(drive, spec.seed, &key, control, |drive| {
            let mut snapshot = Vec::new();
            // Without the memory for it the image is only loaded.
            let kept = snapshot.try_reserve(drive.snapshot_bytes() as usize + (1 << 20)).is_ok().then_some(&mut snapshot);
            let is_kept = kept.is_some();
            let aged = image.load_and_keep(drive, spec.seed, kept)?;
            if !is_kept {
                return Ok((aged, None));
            }
            let Ok(()) = drive.save_derived(&mut snapshot);
            let header = header(drive, spec, recipe, &[], &aged);
            Ok((aged, Some(Entry::of_snapshot(header, snapshot))))
        })
    }

    /// Copies the state that was made last, or makes one and holds it in its place.
    fn copy_last<O: Observer>(
        &self,
        drive: &mut Drive<O>,
        seed: u64,
        key: &str,
        control: &Control,
        make: impl FnOnce(&mut Drive<O>) -> Result<(Aged, Option<Entry>), RunError>,
    ) -> Result<Aged, RunError> {
        let Some(turn) = self.wait_or_make(key, control) else { return Ok(Aged::default()) };
        let making = match turn {
            Turn::Copy(entry) => return copy(&entry, drive, seed, control),
            Turn::Make(making) => making,
        };
        {
            let mut state = self.state();
            state.made += 1;
            // Its memory is free before the next one takes any.
            if let Some(last) = state.last.take() {
                state.slots.remove(&last);
            }
        }
        let (aged, entry) = make(drive)?;
        if let Some(entry) = entry {
            {
                let mut state = self.state();
                // Another thread may have made another one meanwhile.
                if let Some(last) = state.last.replace(key.into()) {
                    state.slots.remove(&last);
                }
            }
            making.made(Arc::new(entry));
        }
        Ok(aged)
    }

    fn age_or_copy<O: Observer>(
        &self,
        drive: &mut Drive<O>,
        spec: &Spec,
        recipe: Recipe,
        key: &str,
        footprint: &[Lpn],
        control: &Control,
    ) -> Result<Aged, RunError> {
        let Some(making) = self.wait_or_make(key, control) else { return Ok(Aged::default()) };
        let making = match making {
            Turn::Copy(entry) => return copy(&entry, drive, spec.seed, control),
            Turn::Make(making) => making,
        };
        match self.cache.as_ref().map_or(Found::Nothing, |cache| cache.find(key)) {
            Found::Whole(entry) => {
                making.made(Arc::clone(&entry));
                return copy(&entry, drive, spec.seed, control);
            }
            Found::Damaged => self.note("an aged drive in the cache was damaged and is made anew".into()),
            Found::Nothing => {}
        }
        self.note_another_state(spec, key);
        let aged = age(drive, spec.seed, footprint, control);
        if control.is_cancelled() {
            return Ok(aged);
        }
        let header = header(drive, spec, recipe, footprint, &aged);
        let bytes_about = drive.snapshot_bytes() + (1 << 20);
        let begins = self.cache.as_ref().filter(|cache| !cache.folder.exists());
        let kept = match &self.cache {
            Some(cache) => cache.store(key, drive, &header, bytes_about).map_err(|error| {
                let folder = cache.folder.display();
                self.note(format!("aged drives can't be kept in {folder}: {error}. The next command ages anew"));
            }),
            None if self.state().is_wanted(spec) => Entry::hold(drive, &header, bytes_about).map(Some).map_err(|_| ()),
            None => Ok(None),
        };
        if let Ok(Some(entry)) = kept {
            if let Some(Cache { folder, limit_bytes }) = begins {
                let gib = *limit_bytes as f64 / f64::from(1 << 30);
                self.note(format!(
                    "drives that take long to age are kept in {} from now on, {gib:.1} GiB of them at most, and later runs copy them; \
                     `tinytail image cache` shows them, with --clear it removes them, and TINYTAIL_CACHE_GIB sets another limit, 0 for none",
                    folder.display()
                ));
            }
            making.made(Arc::new(entry));
        }
        Ok(aged)
    }

    /// Copies a small drive that this process has aged before, or ages it and keeps it in memory.
    fn age_small<O: Observer>(
        &self,
        drive: &mut Drive<O>,
        spec: &Spec,
        recipe: Recipe,
        key: String,
        footprint: &[Lpn],
        control: &Control,
    ) -> Result<Aged, RunError> {
        let recent = || RECENT.lock().unwrap_or_else(PoisonError::into_inner);
        let found = recent().iter().find(|(other, _)| *other == key).map(|(_, entry)| Arc::clone(entry));
        if let Some(entry) = found {
            return copy(&entry, drive, spec.seed, control);
        }
        let aged = age(drive, spec.seed, footprint, control);
        if !control.is_cancelled() {
            let header = header(drive, spec, recipe, footprint, &aged);
            if let Ok(entry) = Entry::hold(drive, &header, drive.snapshot_bytes() + SMALL_HEADER_BYTES) {
                let mut recent = recent();
                recent.push_back((key, Arc::new(entry)));
                if recent.len() > RECENT_MAX {
                    recent.pop_front();
                }
            }
        }
        Ok(aged)
    }

    /// Waits for the one who makes a state, or becomes that one; `None` if the run is cancelled meanwhile.
    fn wait_or_make<'a>(&'a self, key: &'a str, control: &Control) -> Option<Turn<'a>> {
        let mut state = self.state();
        let mut waiting = None;
        loop {
            match state.slots.get(key) {
                Some(Slot::Made(entry)) => return Some(Turn::Copy(Arc::clone(entry))),
                Some(Slot::Making) => {
                    control.enter(Phase::Waiting, 0);
                    waiting.get_or_insert_with(Waiting::new);
                }
                None => {
                    state.slots.insert(key.into(), Slot::Making);
                    return Some(Turn::Make(Making { shared: self, key }));
                }
            }
            state = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
            if control.is_cancelled() {
                return None;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A design whose state is not that of another one, with the same seed, costs an ageing more. Where nobody said which runs there
    /// are, states are expected to differ.
    fn note_another_state(&self, spec: &Spec, key: &str) {
        if self.state().pending.is_empty() {
            return;
        }
        let is_other = {
            let aged = &mut self.state().aged;
            let is_first = aged.iter().all(|(seed, _)| *seed != spec.seed);
            aged.insert((spec.seed, key.into())) && !is_first
        };
        if is_other {
            self.note(format!("{} starts from another state than the designs before, so that a drive is aged for it too", spec.design));
        }
    }

    /// Something is to be said, once.
    pub(crate) fn note(&self, note: String) {
        let notes = &mut self.state().notes;
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
}

impl State {
    /// Whether a run that is to come may start from the same state.
    fn is_wanted(&self, spec: &Spec) -> bool {
        let place = |design: &str| {
            let rows = catalog::design_with(design, &spec.settings, None).map(|design| design.rows).unwrap_or_default();
            rows.into_iter().filter(|row| row.section == "place").map(|row| (row.key, row.value.to_string())).collect::<Vec<_>>()
        };
        let mine = origin(spec);
        self.pending.iter().any(|other| {
            let is_alike = Spec { design: mine.design.clone(), ..other.clone() } == mine;
            other.design != mine.design && is_alike && place(&other.design) == place(&mine.design)
        })
    }
}

/// What of a run may decide its starting state.
fn origin(spec: &Spec) -> Spec {
    let spec = spec.clone();
    Spec { log: None, request_timelines: None, timeline: None, windows: 0, ..spec }
}

enum Turn<'a> {
    Copy(Arc<Entry>),
    Make(Making<'a>),
}

/// The thread that makes a state. Without success the next one tries.
struct Making<'a> {
    shared: &'a Shared,
    key: &'a str,
}

impl Making<'_> {
    fn made(self, entry: Arc<Entry>) {
        let mut state = self.shared.state();
        if self.shared.cache.is_some() && state.slots.len() >= AT_HAND_MAX {
            // Those that nobody copies just now are found in the cache again.
            state.slots.retain(|_, slot| !matches!(slot, Slot::Made(entry) if Arc::strong_count(entry) == 1));
        }
        state.slots.insert(self.key.into(), Slot::Made(entry));
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        if matches!(state.slots.get(self.key), Some(Slot::Making)) {
            state.slots.remove(self.key);
        }
        self.shared.changed.notify_all();
    }
}

fn age<O: Observer>(drive: &mut Drive<O>, seed: u64, footprint: &[Lpn], control: &Control) -> Aged {
    control.enter(Phase::Ageing, 0);
    drive.age_with(&Crew::default(), seed, footprint, |done, total| {
        control.set_total(total);
        control.advance(done);
        !control.is_cancelled()
    })
}

fn copy<O: Observer>(entry: &Entry, drive: &mut Drive<O>, seed: u64, control: &Control) -> Result<Aged, RunError> {
    control.enter(Phase::Loading, 0);
    let refuse = |what| RunError::Failed(format!("an aged drive that was kept is of no use: {what}; try --no-cache"));
    entry.restore(drive, seed).map_err(refuse)
}

fn header<O: Observer>(drive: &Drive<O>, spec: &Spec, recipe: Recipe, footprint: &[Lpn], aged: &Aged) -> Header {
    Header {
        engine: ENGINE.into(),
        device: drive.view().device().name.clone(),
        design: spec.design.clone(),
        made_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        recipe,
        seed: spec.seed,
        footprint_pages: footprint.len() as u64,
        aged: aged.clone(),
    }
}

/// Small drives that this process has aged, the last of them at the end.
static RECENT: Mutex<VecDeque<(String, Arc<Entry>)>> = Mutex::new(VecDeque::new());
/// How many, and of how many pages at most: 16 MiB in all.
const RECENT_MAX: usize = 8;
const SMALL_PAGES: u64 = 1 << 18;
const SMALL_HEADER_BYTES: u64 = 1 << 12;

/// Where a state is worth to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Worth {
    Nothing,
    Memory,
    File,
}

impl Worth {
    /// A state must take so much longer to make than to copy.
    fn of(recipe: &Recipe, footprint: u64) -> Self {
        let (making, copying) = (making_ns(recipe, footprint), recipe.layout.geometry.physical_pages() * COPY_NS);
        if making < TIMES * copying {
            Self::Nothing
        } else if making >= WORTH_NS {
            Self::File
        } else if recipe.layout.geometry.physical_pages() <= SMALL_PAGES {
            Self::Memory
        } else {
            Self::Nothing
        }
    }
}

/// About how long a state takes to make.
fn making_ns(recipe: &Recipe, footprint: u64) -> u64 {
    let pages = u64::from(recipe.mapped_pages) + footprint;
    let state = &recipe.state;
    // Each overwritten page may take its parity along, where it has one.
    let parity = state.parity_percent.map_or(0, u64::from);
    let of_live = |percent: u32| pages * u64::from(percent) * (100 + parity) / 10_000;
    match state.ageing {
        AgeingMethod::Statistical | AgeingMethod::Random => pages * LAY_OUT_NS,
        AgeingMethod::Overwrite => (pages + of_live(state.overwrite_percent)) * WRITE_NS,
        // Steadiness is judged by five rounds.
        AgeingMethod::Steady => (pages + of_live(state.overwrite_percent) + 5 * of_live(state.round_percent())) * WRITE_NS,
    }
}

/// A digest of everything that decides a state.
fn key(recipe: &Recipe, seed: u64, footprint: &[Lpn]) -> String {
    digest(&(ENGINE, serde_json::to_string(recipe).expect("numbers and words"), seed, footprint))
}

fn digest(what: &impl Hash) -> String {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        what.hash(&mut hasher);
        hasher.finish()
    };
    format!("{:016x}{:016x}", half(0), half(1))
}
