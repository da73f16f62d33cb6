//! # Rate matching
//!
//! **What it does.** As `emergency_external_background`, except where at a die a write of the host and GC that is not urgent both
//! wait: there GC goes first if it has had less than its share of the drive's time recently. The share is that in which GC frees as
//! many pages as the host writes: `(moves x move + erase) / freed pages` for each of them, all of it measured, moves and freed
//! pages of an average block. With another `target` the times of a move and of a write are the device's, on pages of the kind that
//! the target names, and GC's share is one of the time that the host's writes take. Where `background` keeps GC from idle dies, it
//! has its share there too, and no more. With `hand_over`, the share is scaled down while the pool of erased blocks is large: by the
//! part that is left of it between a sustainable level and the background threshold. With `[page_choice] policy =
//! "by_workload_mode"` there is a share in the sustained mode alone.
//!
//! **Source.** The Harey Tortoise, section 4.3.1: a target ratio of the two bandwidths of one chip, Equations 1 and 2, and the ratio
//! of the times spent on both in the recent history, by which the drive's next operation is chosen before it is placed. Taken
//! literally the ratios are each other's reciprocals; the rates match in the orientation above. The equations have the latencies
//! of the preferred pages, and the paper does not say whether its target has them too (`target`). Section 6: a factor between
//! them that "dynamically adjusts to one" (`hand_over`). Decisions: reads of the host wait for no share; freed and moved pages are
//! measured, not 20 % of a block; a write counts whenever it ends, GC if a write of the host waits for a die then. Where GC is kept
//! from idle dies, it counts if a write waits or runs then, and what is under way counts whole.
//!
//! **Parameters.** `window_ms` (default 500, 1 to 60,000): time in which what was measured fades to 1/e. `window_erases` (default 64,
//! 1 to 65,536): erases over which moved pages are averaged. Decisions, made from the device alone: 500 ms are some 600 programs
//! of a die and 170 erases' time; 64 erases are eight of each die of the smaller drive. `hand_over` (default `false`) and
//! `sustainable_percent` (default 25, 0 to 99): the sustainable level, in percent of the way from the emergency to the
//! background threshold; they need a `[gc_trigger]` with thresholds, and `[place] policy = "next_idle"`. `reads_first` (default
//! `false`): reads of the host go before everything else, at dies and channels, as by `user_reads_first`. `background` (default
//! `"idle_die"`): where GC goes on without a share, as by `emergency_external_background`. `target` (default `"measured"`):
//! whose times GC's share is worked out by. `"mean_pages"`: the mean of all pages; `"fast_gc"`: fast pages for GC and slow ones for
//! the host; `"slow_gc"`: the other way round. `external`: as by `emergency_external_background`.
//!
//! **Cost.** The host waits for GC before it must. Whatever the share, a drive that is busy all the time writes no more than its GC
//! frees; rate matching decides when that is felt, not whether.

use crate::policy::prelude::*;
use crate::techniques::order::emergency_external_background::{Background, External, queue};
use crate::techniques::order::fifo::oldest;

/// GC's share of the dies' time under load.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RateMatch {
    window_ms: u64,
    window_erases: u64,
    hand_over: bool,
    reads_first: bool,
    sustainable_percent: u32,
    background: Background,
    external: External,
    target: Target,
    #[serde(skip)]
    measured: Box<Measured>,
    /// Of a target that is not measured, the times of a write and of a move.
    #[serde(skip)]
    assumed_ns: Option<(f64, f64)>,
    /// When the workload mode changes, by the design's `[page_choice]`.
    #[serde(skip)]
    mode_switches: ModeSwitches,
}

/// What the share of GC is worked out by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The times that were measured.
    #[default]
    Measured,
    /// The mean times of the device's pages.
    MeanPages,
    /// Slow pages for the host, fast ones for GC.
    FastGc,
    /// Fast pages for the host, slow ones for GC.
    SlowGc,
}

/// What was measured up to some time.
#[derive(Debug, Default)]
struct Measured {
    at: Ns,
    /// Everything up to then.
    work: Work,
    /// What of it has not faded: writes and their time, that of GC while writes waited or ran, its moves while they waited, and their
    /// time.
    host_programs: f64,
    host_ns: f64,
    gc_ns: f64,
    move_ns: f64,
    moves: f64,
    mean_move_ns: f64,
    /// Erases and what had been moved out of their blocks when the window of erases began, and moves for each in the one before;
    /// in the first as many as ageing's victims had.
    then: (u64, u64),
    moves_per_erase: Option<f64>,
    erase_ns: f64,
}

impl Default for RateMatch {
    fn default() -> Self {
        Self {
            window_ms: 500,
            window_erases: 64,
            hand_over: false,
            reads_first: false,
            sustainable_percent: 25,
            background: Background::default(),
            external: External::default(),
            target: Target::default(),
            measured: Box::default(),
            assumed_ns: None,
            mode_switches: ModeSwitches::default(),
        }
    }
}

impl RateMatch {
    /// Rate matching with a window of measured times, and with or without a hand-over to it.
    pub fn new(window_ms: u64, hand_over: bool) -> Self {
        Self { window_ms, hand_over, ..Self::default() }
    }

    /// The queue of a candidate; reads of the host may stand in one before all others.
    fn queue(&self, view: View<'_>, candidate: &Candidate) -> u32 {
        if self.reads_first && candidate.class == Class::HostRead { 0 } else { 1 + queue(view, candidate) }
    }

    /// Whether GC has had less than its share.
    fn is_due(&mut self, view: View<'_>) -> bool {
        let counts = |work: Work| if self.background == Background::IdleDie { work.gc_in_the_way_ns } else { work.gc_under_load_ns };
        self.measured.up_to(view.now(), view.work(), self.window_ms * MS, self.window_erases, counts);
        if !self.mode_switches.is_sustained(view.counted_ns()) {
            return false;
        }
        let scale = if self.hand_over { 1.0 - f64::from(view.pool_permille(self.sustainable_percent)) / 1000.0 } else { 1.0 };
        let (mut programs, mut gc_ns) = (self.measured.host_programs, self.measured.gc_ns);
        let mut move_ns = self.measured.mean_move_ns;
        if let Some((write_ns, assumed_ns)) = self.assumed_ns {
            (programs, move_ns) = (self.measured.host_ns / write_ns, assumed_ns);
        }
        if self.background != Background::IdleDie {
            programs += f64::from(view.host_programs_under_way());
            gc_ns += f64::from(view.moves_under_way()) * self.measured.mean_move_ns;
        }
        gc_ns < scale * self.measured.share_ns(view.geometry().pages_in(1), move_ns) * programs
    }
}

impl Target {
    /// The times of a write and of a move, if they are not to be measured.
    fn times_ns(self, device: &Measured, timing: &crate::device::Timing) -> Option<(f64, f64)> {
        let programs = || timing.program_ns.iter().map(|&ns| ns as f64);
        let [fast, slow] = [programs().fold(f64::INFINITY, f64::min), programs().fold(0.0, f64::max)];
        let mean = programs().sum::<f64>() / timing.program_ns.len() as f64;
        let (host, gc) = match self {
            Self::Measured => return None,
            Self::MeanPages => (mean, mean),
            Self::FastGc => (slow, fast),
            Self::SlowGc => (fast, slow),
        };
        let channel = (timing.command_ns + timing.transfer_page_ns) as f64;
        Some((host + channel, device.mean_move_ns - mean + gc))
    }
}

impl Measured {
    /// What follows from the device, before anything has been measured.
    fn of_device(device: &Device) -> Self {
        let timing = &device.timing;
        let mean = |times: &[Ns]| times.iter().sum::<Ns>() as f64 / times.len() as f64;
        let channel = (timing.command_ns + timing.transfer_page_ns) as f64;
        let program = mean(&timing.program_ns) + channel;
        Self {
            mean_move_ns: mean(&timing.read_ns) + channel + program,
            erase_ns: (device.timing.erase_step_ns * u64::from(device.timing.erase_steps) + device.timing.command_ns) as f64,
            ..Self::default()
        }
    }

    /// Takes in what was done since, and fades what was before.
    fn up_to(&mut self, now: Ns, work: Work, window_ns: Ns, window_erases: u64, gc_ns: impl Fn(Work) -> Ns) {
        let keep = 1.0 - ((now - self.at).min(window_ns) as f64 / window_ns as f64);
        let since = |now: u64, then: u64| (now - then) as f64;
        let faded = [
            (&mut self.host_programs, since(work.host_programs, self.work.host_programs)),
            (&mut self.host_ns, since(work.host_ns, self.work.host_ns)),
            (&mut self.gc_ns, since(gc_ns(work), gc_ns(self.work))),
            (&mut self.move_ns, since(work.moves_in_the_way_ns, self.work.moves_in_the_way_ns)),
            (&mut self.moves, since(work.moves_in_the_way, self.work.moves_in_the_way)),
        ];
        for (sum, more) in faded {
            *sum = *sum * keep + more;
        }
        if self.moves > 1.0 {
            // Moves keep their last mean while there are none.
            self.mean_move_ns = self.move_ns / self.moves;
        }
        let erases = work.erases - self.then.1;
        if erases >= window_erases {
            self.moves_per_erase = Some(since(work.moves_of_erased, self.then.0) / erases as f64);
            self.then = (work.moves_of_erased, work.erases);
        }
        if work.erases > 0 {
            self.erase_ns = work.erase_ns as f64 / work.erases as f64;
        }
        (self.at, self.work) = (now, work);
    }

    /// GC's time for each page that the host writes, at which both rates match.
    fn share_ns(&self, pages_of_block: u32, move_ns: f64) -> f64 {
        let pages = f64::from(pages_of_block);
        let of_ageing = pages * f64::from(self.work.victim_valid_permille) / 1000.0;
        let moves = self.moves_per_erase.unwrap_or(of_ageing).min(pages - 1.0);
        (moves * move_ns + self.erase_ns) / (pages - moves)
    }
}

impl Order for RateMatch {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        let mut faults = Faults::default();
        faults.range("order", "window_ms", self.window_ms, 1, 60_000);
        faults.range("order", "window_erases", self.window_erases, 1, 65_536);
        faults.range("order", "sustainable_percent", self.sustainable_percent, 0, 99);
        *self.measured = Measured::of_device(device);
        self.assumed_ns = self.target.times_ns(&self.measured, &device.timing);
        faults.result()
    }

    fn at_die(&mut self, view: View<'_>, candidates: &[Candidate]) -> usize {
        let first = oldest(candidates, |candidate| self.queue(view, candidate));
        // A GC that is a job begins with its lock request.
        let is_gc = |candidate: &Candidate| matches!(candidate.class, Class::Gc | Class::GcProgram | Class::Lock);
        let is_write = matches!(candidates[first].class, Class::HostProgram | Class::Flush) && queue(view, &candidates[first]) == 1;
        if is_write && candidates.iter().any(is_gc) && self.is_due(view) {
            return oldest(candidates, |candidate| u32::from(!is_gc(candidate)));
        }
        first
    }

    fn at_channel(&mut self, view: View<'_>, candidates: &[Candidate]) -> usize {
        oldest(candidates, |candidate| self.queue(view, candidate))
    }

    fn measures(&mut self) -> bool {
        true
    }

    fn may_hold_gc(&mut self) -> bool {
        self.background != Background::IdleDie
    }

    fn holds_gc(&mut self, view: View<'_>) -> bool {
        self.background.waits(view) && !self.is_due(view)
    }

    fn host_in_order(&mut self) -> bool {
        self.external == External::InOrder
    }

    fn check(&mut self, with: &Combination<'_>, faults: &mut Faults) {
        if self.hand_over {
            with.needs_pool("order", "rate_match", faults);
        }
        self.mode_switches = with.mode_switches.clone();
        self.background.check(with, faults);
        self.external.check(with, faults);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Parts, late_bound_state, take_pages};

    fn candidate(class: Class, arrival: u64, urgent: bool) -> Candidate {
        Candidate { class, plane: 0, arrival, urgent, continues: false, data: false }
    }

    /// A drive whose blocks of four pages have two moved when they are erased: a move of 2000 for each page of the host, and half
    /// an erase of 4000. The host has had 10 programs of 1000, so that GC is due up to 40,000.
    fn state(gc_ns: u64) -> Parts {
        let mut state = late_bound_state(1);
        state.flash.now = 1000;
        *state.ftl.gc.work_for_test() = Work {
            host_programs: 10,
            host_ns: 10_000,
            moves: 200,
            move_ns: 400_000,
            moves_in_the_way: 10,
            moves_in_the_way_ns: 20_000,
            erases: 64,
            erase_ns: 64 * 4000,
            moves_of_erased: 128,
            gc_in_the_way_ns: gc_ns,
            gc_under_load_ns: gc_ns,
            victim_valid_permille: 900,
        };
        state
    }

    fn prepared(hand_over: bool, state: &Parts) -> RateMatch {
        let mut order = RateMatch::new(500, hand_over);
        order.prepare(&state.flash.device).unwrap();
        order
    }

    #[test]
    fn gc_goes_before_writes_until_it_has_had_the_time_in_which_it_frees_what_they_take() {
        let waiting = [candidate(Class::HostProgram, 1, false), candidate(Class::Gc, 2, false)];
        for (gc_ns, chosen) in [(39_999, 1), (40_000, 0)] {
            let state = state(gc_ns);
            assert_eq!(prepared(false, &state).at_die(state.view(), &waiting), chosen, "{gc_ns}");
        }
    }

    #[test]
    fn a_gc_that_is_a_job_begins_by_its_share_and_reads_may_go_before_all() {
        let waiting = [candidate(Class::HostProgram, 1, false), candidate(Class::Lock, 2, false), candidate(Class::HostRead, 3, false)];
        for (gc_ns, chosen) in [(39_999, 1), (40_000, 0)] {
            let state = state(gc_ns);
            let mut order = prepared(false, &state);
            assert_eq!(order.at_die(state.view(), &waiting), chosen, "{gc_ns}");
            order.reads_first = true;
            assert_eq!((order.at_die(state.view(), &waiting), order.at_channel(state.view(), &waiting)), (2, 2));
            assert_eq!(order.at_die(state.view(), &waiting[..2]), chosen, "{gc_ns}");
        }
    }

    #[test]
    fn no_idle_die_begins_with_gc_that_has_had_its_share_where_the_background_is_kept_from_it() {
        // Ten writes have ended: 40,000 are GC's. Each one under way is 4000 more, and each move takes 2000 of it.
        let held = |background, gc_ns, writes, moves| {
            let mut state = state(gc_ns);
            state.ftl.bound[0] = writes;
            state.ftl.gc_bound[1] = moves;
            RateMatch { background, ..prepared(false, &state) }.holds_gc(state.view())
        };
        let [at_44_000, beyond] = [held(Background::Never, 43_999, 1, 0), held(Background::Never, 44_000, 1, 0)];
        assert_eq!((at_44_000, beyond), (false, true));
        assert_eq!([held(Background::Never, 43_999, 2, 2), held(Background::Never, 44_000, 2, 2)], [false, true]);
        assert_eq!([held(Background::Never, 39_999, 0, 0), held(Background::Never, 40_000, 0, 0)], [false, true], "behind the last write");
        assert!(!held(Background::IdleDie, 1_000_000, 1, 0) && !held(Background::IdleDrive, 1_000_000, 0, 0));
    }

    #[test]
    fn reads_and_urgent_gc_wait_for_no_share() {
        for gc_ns in [0, 1_000_000] {
            let state = state(gc_ns);
            let mut order = prepared(false, &state);
            let read = [candidate(Class::HostRead, 1, false), candidate(Class::HostProgram, 2, false), candidate(Class::Gc, 3, false)];
            assert_eq!(order.at_die(state.view(), &read), 0);
            let urgent = [candidate(Class::HostProgram, 1, false), candidate(Class::Gc, 2, false), candidate(Class::GcProgram, 3, true)];
            assert_eq!(order.at_die(state.view(), &urgent), 2);
        }
        let state = state(1_000_000);
        let idle = [candidate(Class::Gc, 5, false), candidate(Class::GcProgram, 0, false)];
        assert_eq!(prepared(false, &state).at_die(state.view(), &idle), 1, "without the host a page in hand goes first");
    }

    #[test]
    fn a_hand_over_leaves_gc_out_while_the_pool_is_full() {
        let waiting = [candidate(Class::HostProgram, 1, false), candidate(Class::Gc, 2, false)];
        let mut state = state(20_000);
        assert_eq!(prepared(true, &state).at_die(state.view(), &waiting), 0, "the pool is full");
        assert_eq!(prepared(false, &state).at_die(state.view(), &waiting), 1);
        for plane in 0..2 {
            take_pages(&mut state, plane, 0, (24 - 4) * 4);
        }
        assert_eq!(prepared(true, &state).at_die(state.view(), &waiting), 1, "the pool is at its sustainable level");
    }

    #[test]
    fn in_the_burst_mode_gc_that_is_not_urgent_has_no_share() {
        let waiting = [candidate(Class::HostProgram, 1, false), candidate(Class::Gc, 2, false)];
        let urgent = [candidate(Class::HostProgram, 1, false), candidate(Class::GcProgram, 2, true)];
        for (now, share) in [(MS - 1, 0), (MS, 1), (2 * MS - 1, 1), (2 * MS, 0)] {
            let mut state = state(20_000);
            state.flash.now = now;
            let mut order = prepared(false, &state);
            order.mode_switches = ModeSwitches(vec![1, 2]);
            assert_eq!(order.at_die(state.view(), &waiting), share, "at {now}");
            assert_eq!(order.at_die(state.view(), &urgent), 1, "at {now}");
            order.background = Background::Never;
            assert_eq!(order.holds_gc(state.view()), share == 0, "at {now}");
        }
    }

    #[test]
    fn a_target_of_preferred_pages_has_their_times() {
        // Pages of 100 and 300, a command and a transfer of 10: a write of 310, a move of 100 less where GC has the fast ones.
        let mut device = late_bound_state(1).flash.device;
        device.timing.program_ns = vec![100, 300];
        (device.timing.command_ns, device.timing.transfer_page_ns) = (4, 6);
        let measured = Measured::of_device(&device);
        let times = |target: Target| target.times_ns(&measured, &device.timing);
        let move_ns = measured.mean_move_ns;
        assert_eq!(times(Target::Measured), None);
        assert_eq!(times(Target::MeanPages), Some((210.0, move_ns)));
        assert_eq!(times(Target::FastGc), Some((310.0, move_ns - 100.0)));
        assert_eq!(times(Target::SlowGc), Some((110.0, move_ns + 100.0)));
        // Ten writes of 1000 count as 20 of 500; a move of 1000 for each, and half an erase of 4000: 3000 for each of them.
        let waiting = [candidate(Class::HostProgram, 1, false), candidate(Class::Gc, 2, false)];
        for (gc_ns, chosen) in [(59_999, 1), (60_000, 0)] {
            let state = state(gc_ns);
            let mut order = prepared(false, &state);
            order.assumed_ns = Some((500.0, 1000.0));
            assert_eq!(order.at_die(state.view(), &waiting), chosen, "{gc_ns}");
        }
    }

    #[test]
    fn what_was_measured_fades() {
        let waiting = [candidate(Class::HostProgram, 1, false), candidate(Class::Gc, 2, false)];
        let mut state = state(1_000_000);
        let mut order = prepared(false, &state);
        assert_eq!(order.at_die(state.view(), &waiting), 0, "GC has had more than its share");
        state.flash.now += 600 * MS;
        let work = state.ftl.gc.work_for_test();
        (work.host_programs, work.host_ns) = (20, 20_000);
        assert_eq!(order.at_die(state.view(), &waiting), 1, "600 ms later only the last ten writes count");
    }

    #[test]
    fn until_enough_is_erased_victims_are_as_those_of_ageing() {
        let waiting = [candidate(Class::HostProgram, 1, false), candidate(Class::Gc, 2, false)];
        // A fourth of four pages is a move of 2000 and an erase of 4000 for three pages of the host, each of 1000.
        for (gc_ns, chosen) in [(19_999, 1), (20_000, 0)] {
            let mut state = state(gc_ns);
            let work = state.ftl.gc.work_for_test();
            (work.erases, work.erase_ns, work.moves_of_erased, work.victim_valid_permille) = (63, 63 * 4000, 126, 250);
            assert_eq!(prepared(false, &state).at_die(state.view(), &waiting), chosen, "{gc_ns}");
        }
    }

    #[test]
    fn windows_out_of_bounds_are_refused() {
        let error = RateMatch::new(0, false).prepare(&late_bound_state(1).flash.device).unwrap_err();
        assert!(error.to_string().contains("`window_ms` is 0; allowed: 1 to 60000"), "{error}");
    }
}
