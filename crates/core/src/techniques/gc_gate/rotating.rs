//! # Rotating GC
//!
//! **What it does.** At most one GC at a time in each plane group, so that every stripe lacks one page at most and the others
//! can stand in for it. Planes that wait take turns: the one with the fewest erased pages first, or round the group. Above the
//! hard watermark a GC also waits for a channel without host operations, unless told otherwise. Below it a plane starts its
//! GC whatever the group does, which is a violation and counted with its time; where the gate is strict it never does, and
//! its writes stall when it has no erased page left.
//!
//! With `violating_gcs_max` an urgent plane passes only while its group has fewer GCs than that. Three more rules keep a GC back
//! that is not urgent: `groups_in_gc_max` while so many groups have GCs, `one_per_channel` while its channel has one of another
//! group, and `quiet_group` while a plane of its group has a program of the buffer, waiting or running. What they keep back is
//! asked again when a GC ends, or a channel falls quiet.
//!
//! **Source.** TTFLASH, section 4.4; violations and forced rotation ("F-RGC"), section 6.6. The quiet channel is the authors'
//! released simulator's, and so is one GC on each channel. The limits and the quiet group are variants to measure: the paper violates
//! once free pages are exhausted, and does not say how often in one group. The order of waiting planes is a decision: the paper names none, and fewest erased pages first
//! keeps violations rare, while round robin keeps the bound of (N - 1) x T_gc if GCs start at once. T_gc counts from a GC's
//! start; one that waits for its die and then finds nothing to free has had its turn as well.
//!
//! **Parameters.** `strict` (default false); `turn`, `"fewest_free"` (default) or `"round_robin"`; `start`, `"quiet_channel"`
//! (default) or `"immediate"`; `violating_gcs_max`, at least 2, and `groups_in_gc_max`, at least 1 (both without limit by default);
//! `one_per_channel` and `quiet_group` (default false). It needs stripes.
//!
//! **Cost.** A plane's GC may wait for those of the N - 1 others, so planes run lower on erased pages.

use crate::policy::prelude::*;
use crate::techniques::gc_gate::free::Start;

/// Which of the waiting planes is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// The one with the fewest erased pages.
    #[default]
    FewestFree,
    /// The one that follows the last holder in the group.
    RoundRobin,
}

/// At most one GC in each group.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rotating {
    #[serde(default)]
    strict: bool,
    #[serde(default)]
    pub(crate) turn: Turn,
    #[serde(default = "quiet_channel")]
    pub(crate) start: Start,
    #[serde(default)]
    violating_gcs_max: Option<u32>,
    #[serde(default)]
    groups_in_gc_max: Option<u32>,
    #[serde(default)]
    one_per_channel: bool,
    #[serde(default)]
    quiet_group: bool,
    /// How much each pool wanted a GC when it was asked about last.
    #[serde(skip)]
    wants: Vec<Want>,
    /// The pool of each group that started a GC last.
    #[serde(skip)]
    last: Vec<Option<Pool>>,
}

fn quiet_channel() -> Start {
    Start::QuietChannel
}

impl Rotating {
    /// A gate that violates rotation never (`strict`) or when a plane is urgent.
    pub fn new(strict: bool, turn: Turn, start: Start) -> Self {
        let (violating_gcs_max, groups_in_gc_max) = (None, None);
        let (one_per_channel, quiet_group, wants, last) = (false, false, Vec::new(), Vec::new());
        Self { strict, turn, start, violating_gcs_max, groups_in_gc_max, one_per_channel, quiet_group, wants, last }
    }

    /// Lets GC start without a quiet channel. Returns whether it waited for one.
    pub(crate) fn start_at_once(&mut self) -> bool {
        std::mem::replace(&mut self.start, Start::Immediate) == Start::QuietChannel
    }

    fn is_ready(&self, view: View<'_>, pool: Pool) -> bool {
        let urgent = self.wants[pool.index()] == Want::Hard;
        let is_quiet = || view.tables().planes_of(pool).all(|plane| view.host_operations_on_channel_of(plane) == 0);
        urgent || (self.start == Start::Immediate || is_quiet()) && self.lets_in(view, pool)
    }

    /// Whether the programs of its group and the GCs of others let a GC start that is not urgent.
    fn lets_in(&self, view: View<'_>, pool: Pool) -> bool {
        let Some(stripes) = view.stripes() else { return true };
        let groups_in_gc = || (0..stripes.groups()).filter(|&group| view.gcs_in_group(group) > 0).count();
        let mut planes = view.tables().planes_of(pool);
        let mut group = stripes.rotation_group(view.tables().first_plane(pool));
        self.groups_in_gc_max.is_none_or(|most| groups_in_gc() < most as usize)
            && (!self.one_per_channel || planes.all(|plane| view.gcs_on_channel_of(plane) == 0))
            && (!self.quiet_group || !group.any(|plane| view.has_flush(plane)))
    }

    /// Where a pool stands among those that wait; less is sooner. Equal numbers of erased pages follow the last holder.
    fn place(&self, view: View<'_>, pool: Pool, last: Option<Pool>, group: &[Pool]) -> (u32, u32) {
        let position = |pool| group.iter().position(|&other| Some(other) == pool).unwrap_or(group.len() - 1) as u32;
        let size = group.len() as u32;
        let after = (position(Some(pool)) + size - 1 - position(last)) % size;
        match self.turn {
            Turn::FewestFree => (view.tables().free_pages_of(pool), after),
            Turn::RoundRobin => (after, 0),
        }
    }
}

impl GcGate for Rotating {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        for (key, given, least) in [("violating_gcs_max", self.violating_gcs_max, 2), ("groups_in_gc_max", self.groups_in_gc_max, 1)] {
            if let Some(given) = given.filter(|&given| given < least) {
                return Err(Fault::new("gc_gate", key, format!("is {given}")).allowed(format!("{least} or more, or no such line")).into());
            }
        }
        if self.strict && self.violating_gcs_max.is_some() {
            let fault = Fault::new("gc_gate", "violating_gcs_max", "is set, and `strict` is true: no GC violates rotation");
            return Err(fault.with("gc_gate", "strict").allowed("one of the two").into());
        }
        self.wants = vec![Want::No; device.geometry.planes() as usize];
        self.last = vec![None; device.geometry.planes() as usize];
        Ok(())
    }

    fn may_start(&mut self, view: View<'_>, pool: Pool, want: Want) -> Gate {
        let Some(stripes) = view.stripes() else { return Gate::Open };
        self.wants[pool.index()] = want;
        let tables = view.tables();
        let first = tables.first_plane(pool);
        if stripes.rotation_group(first).any(|other| tables.pool_of(other) != pool && view.in_gc(other)) {
            return Gate::Closed;
        }
        let index = stripes.rotation_index(first).0 as usize;
        // An urgent pool that nothing keeps back starts: if another is urgent too, both would anyhow.
        let unbound = want == Want::Hard && !self.strict;
        if !unbound {
            if !self.is_ready(view, pool) {
                return Gate::Closed;
            }
            let group: Vec<Pool> = stripes.rotation_group(first).map(|plane| tables.pool_of(plane)).collect();
            let own = self.place(view, pool, self.last[index], &group);
            let waits = |&&other: &&Pool| other != pool && view.waits_at_gate(tables.first_plane(other)) && self.is_ready(view, other);
            if group.iter().filter(waits).any(|&other| self.place(view, other, self.last[index], &group) < own) {
                return Gate::Closed;
            }
        }
        self.last[index] = Some(pool);
        Gate::Open
    }

    fn strict(&mut self, view: View<'_>, pool: Pool) -> bool {
        let gcs = || {
            let group = view.stripes().map(|stripes| stripes.rotation_group(view.tables().first_plane(pool)));
            group.map_or(0, |group| group.filter(|&plane| view.in_gc(plane)).count())
        };
        self.strict || self.violating_gcs_max.is_some_and(|most| gcs() >= most as usize)
    }

    fn alone_in_die(&mut self) -> bool {
        true
    }

    fn asks_of_group(&mut self) -> bool {
        self.quiet_group
    }

    fn takes_turns(&mut self) -> bool {
        true
    }

    fn check(&mut self, with: &Combination<'_>, faults: &mut Faults) {
        with.needs_stripes("gc_gate", "rotating", faults);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::op::Class;
    use crate::ftl::Claimant;
    use crate::gc::state::GcState;
    use crate::testkit::Parts;
    use crate::testkit::state_with_stripes;

    /// Four channels of two planes: group 0 is planes 0, 2, 4 and 6.
    fn gate(state: &Parts, strict: bool, turn: Turn) -> Rotating {
        let mut gate = Rotating::new(strict, turn, Start::QuietChannel);
        gate.prepare(&state.flash.device).unwrap();
        gate
    }

    #[test]
    fn a_gc_in_the_group_closes_it_for_the_others_of_the_group_alone() {
        let mut state = state_with_stripes(4, 2, 4);
        let mut gate = gate(&state, false, Turn::FewestFree);
        assert_eq!(gate.may_start(state.view(), Pool(0), Want::Soft), Gate::Open);
        state.ftl.gc.planes_for_test()[2].state = GcState::Claiming;
        assert_eq!(gate.may_start(state.view(), Pool(0), Want::Soft), Gate::Closed);
        assert_eq!(gate.may_start(state.view(), Pool(0), Want::Hard), Gate::Closed, "the mechanism passes it, and counts a violation");
        assert_eq!(gate.may_start(state.view(), Pool(1), Want::Soft), Gate::Open, "plane 1 is in the other group");
        state.ftl.gc.planes_for_test()[2].state = GcState::Idle;
        state.flash.channels_for_test()[0].host_operations = 1;
        assert_eq!(gate.may_start(state.view(), Pool(0), Want::Soft), Gate::Closed, "its channel is not quiet");
        assert_eq!(gate.may_start(state.view(), Pool(0), Want::Hard), Gate::Open);
    }

    #[test]
    fn an_urgent_plane_violates_while_its_group_has_fewer_gcs_than_allowed() {
        let mut state = state_with_stripes(4, 2, 4);
        let mut gate = gate(&state, false, Turn::FewestFree);
        for (plane, most, barred) in [(2, Some(2), false), (1, Some(2), false), (4, Some(2), true), (4, Some(3), false), (4, None, false)] {
            state.ftl.gc.planes_for_test()[plane].state = GcState::Claiming;
            gate.violating_gcs_max = most;
            assert_eq!(gate.strict(state.view(), Pool(0)), barred, "{plane}, {most:?}");
        }
        let lines = ["violating_gcs_max = 1", "groups_in_gc_max = 0", "strict = true\nviolating_gcs_max = 2"];
        for (line, named) in lines.into_iter().zip(["2 or more", "1 or more", "one of the two"]) {
            let error = toml::from_str::<Rotating>(line).unwrap().prepare(&state.flash.device).unwrap_err();
            assert!(error.to_string().contains(named), "{error}");
        }
    }

    #[test]
    fn what_others_do_keeps_a_gc_back_that_is_not_urgent() {
        let answers = |rule: &str, change: &dyn Fn(&mut Parts)| {
            let mut state = state_with_stripes(4, 2, 4);
            change(&mut state);
            let mut gate: Rotating = toml::from_str(rule).unwrap();
            gate.prepare(&state.flash.device).unwrap();
            [Want::Soft, Want::Hard].map(|want| gate.may_start(state.view(), Pool(0), want))
        };
        let (opens, keeps_back) = ([Gate::Open, Gate::Open], [Gate::Closed, Gate::Open]);
        // Plane 1 is on the channel of plane 0, in the other group; plane 3 is in that group, on another channel.
        for (plane, limits) in [(1, [opens, keeps_back, keeps_back]), (3, [opens, keeps_back, opens])] {
            let of_another_group = |state: &mut Parts| {
                crate::testkit::begin_gc(state, plane);
                state.ftl.gc.channels_for_test()[plane as usize / 2].under_way = 1;
            };
            let rules = ["", "groups_in_gc_max = 1", "one_per_channel = true"];
            assert_eq!(rules.map(|rule| answers(rule, &of_another_group)), limits, "{plane}");
            assert_eq!(answers("groups_in_gc_max = 2", &of_another_group), opens);
        }
        for (plane, answer) in [(2, keeps_back), (3, opens)] {
            let flush = |state: &mut Parts| {
                let (die, bit) = (state.flash.die_of(plane), state.flash.bit(plane, Class::Flush));
                state.flash.dies_for_test()[die as usize].ready |= bit;
            };
            assert_eq!(answers("quiet_group = true", &flush), answer, "{plane}");
            assert_eq!(answers("", &flush), opens);
        }
    }

    #[test]
    fn of_those_that_wait_the_one_with_the_fewest_erased_pages_goes_first() {
        let mut state = state_with_stripes(4, 2, 4);
        let mut gate = gate(&state, false, Turn::FewestFree);
        state.ftl.tables.take(4, 0, Claimant::Gc).unwrap();
        state.ftl.gc.gated_for_test()[0] = 1 << 4 | 1 << 6;
        assert_eq!(gate.may_start(state.view(), Pool(6), Want::Soft), Gate::Closed, "plane 4 has fewer");
        assert_eq!(gate.may_start(state.view(), Pool(4), Want::Soft), Gate::Open);
        state.flash.channels_for_test()[2].host_operations = 1;
        assert_eq!(gate.may_start(state.view(), Pool(6), Want::Soft), Gate::Open, "plane 4 could not start now");
    }

    #[test]
    fn round_robin_follows_the_last_holder_whatever_is_erased() {
        let mut state = state_with_stripes(4, 2, 4);
        let mut gate = gate(&state, true, Turn::RoundRobin);
        assert_eq!(gate.may_start(state.view(), Pool(2), Want::Hard), Gate::Open);
        state.ftl.tables.take(0, 0, Claimant::Gc).unwrap();
        state.ftl.gc.gated_for_test()[0] = 1 | 1 << 4;
        assert_eq!(gate.may_start(state.view(), Pool(0), Want::Hard), Gate::Closed, "plane 4 follows plane 2, and the gate is strict");
        assert_eq!(gate.may_start(state.view(), Pool(4), Want::Hard), Gate::Open);
        assert_eq!(gate.may_start(state.view(), Pool(0), Want::Hard), Gate::Open);
    }

    /// Who may go of all that wait is who comes first after the last holder; at first, who comes first.
    #[test]
    fn the_turn_goes_round_the_group_from_its_first_plane_on() {
        let group = [0, 2, 4, 6];
        for turn in [Turn::FewestFree, Turn::RoundRobin] {
            for last in [None, Some(0), Some(1), Some(2), Some(3)] {
                for waiting in 1u64..1 << group.len() {
                    let mut state = state_with_stripes(4, 2, 4);
                    let mut gate = gate(&state, true, turn);
                    let waits = |index: usize| waiting >> index & 1 == 1;
                    if let Some(last) = last {
                        assert_eq!(gate.may_start(state.view(), Pool(group[last]), Want::Soft), Gate::Open);
                    }
                    state.ftl.gc.gated_for_test()[0] = (0..4).filter(|&index| waits(index)).map(|index| 1 << group[index]).sum();
                    let from = last.map_or(0, |last| last + 1);
                    let next = (from..from + 4).map(|index| index % 4).find(|&index| waits(index)).unwrap();
                    for index in (0..4).filter(|&index| waits(index) && index != next) {
                        let answer = gate.may_start(state.view(), Pool(group[index]), Want::Soft);
                        assert_eq!(answer, Gate::Closed, "{turn:?}, {index} of {waiting:04b} after {last:?}");
                    }
                    assert_eq!(gate.may_start(state.view(), Pool(group[next]), Want::Soft), Gate::Open, "{turn:?}, {waiting:04b}");
                }
            }
        }
    }
}
