//! What a design makes each tier of a drive do. Asked of its techniques once, so that the tiers look there and not at them.

use crate::design::Design;
use crate::device::Device;
use crate::flash::traits::FlashTraits;
use crate::ftl::traits::FtlTraits;
use crate::policy::answers::Reach;
use crate::raid::traits::RaidTraits;
use crate::units::Ns;

/// What a design makes each tier do.
pub(super) struct Traits {
    pub flash: FlashTraits,
    pub ftl: FtlTraits,
    pub raid: RaidTraits,
    /// From a request's arrival to its deadline; `Ns::MAX` if it has none.
    pub deadline_ns: Ns,
}

impl Traits {
    /// Those of a design that is prepared for the device.
    pub(super) fn of(design: &mut Design, device: &Device) -> Self {
        let planes = device.geometry.planes_per_die;
        let (late_bound, pairing, gc_across) = (design.place.late_bound(), design.pairing.traits(), design.gc.leaves_its_plane());
        let many = design.gc.write_points > 2 && !pairing.aligns;
        let chooses = !late_bound && (many || design.page_choice.active());
        let assembles = pairing.assembly_ns.is_some();
        let assembles_gc = assembles && pairing.gc_assembly_ns.is_some() && planes > 1 && !design.gc.ideal;
        let stripes = design.place.stripes().is_some();
        let flash = FlashTraits {
            pairs: pairing.active,
            starts_together: pairing.active && planes > 1,
            pairs_with_gc: pairing.with_gc,
            merges_reads: pairing.merges_reads,
            late_bound,
            assembles,
            assembles_gc,
            suspends: design.suspend.active(),
            serves_programs: design.suspend.active() && design.suspend.serves_programs(),
            cuts_multi_plane: design.suspend.cuts_multi_plane_programs(),
            notes_relieved: design.place.reach() == Reach::Drive && !late_bound,
            joins_erases: design.gc_gate.joins_erases() && planes > 1 && !design.gc.ideal && !late_bound,
        };
        let ftl = FtlTraits {
            dynamic: design.place.reach() != Reach::Plane,
            assembly_ns: [pairing.assembly_ns, pairing.gc_assembly_ns].map(|ns| ns.unwrap_or(0)),
            aligns: pairing.aligns,
            chooses,
            returns_to_fast: chooses && design.page_choice.parking().is_some() && !design.gc.ideal && !gc_across,
            measures: late_bound || design.order.measures() || design.page_choice.measures(),
            holds_gc: late_bound && design.order.may_hold_gc(),
            gate_asks_of_group: design.gc_gate.asks_of_group(),
            host_in_order: late_bound && design.order.host_in_order(),
            gc_across,
            // The pages of one GC fill a program of the whole die, if they may leave their plane.
            gc_reads_ahead: if assembles_gc && gc_across { planes } else { 1 },
            gc_through_controller: design.gc.copies_through_controller(),
            gc_ideal: design.gc.ideal,
            gc_in_cycles: design.gc_trigger.levels().is_some_and(|levels| !levels.is_one_block()),
            gc_by_die: design.gc_trigger.by_die(),
        };
        let raid = RaidTraits {
            plans_reads: stripes && design.read_plan.active(),
            asked_again: design.read_plan.asked_again(),
            deferred_join_stripes: stripes && design.destage.deferred_join_stripes(),
            data_before_parity: stripes && design.destage.data_before_parity(),
            levels_wear: stripes && design.wear_level.active(),
            scrubs: design.scrub.pause_ns().is_some(),
        };
        Self { flash, ftl, raid, deadline_ns: design.order.deadline_ns().unwrap_or(Ns::MAX) }
    }
}
