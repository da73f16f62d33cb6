//! # I/O-parallelized GC
//!
//! **What it does.** A read of GC takes along waiting reads of the host, and of its read-modify-writes, that are for the same page
//! offset in sibling planes of the die; a program of GC takes along waiting programs of the host or the buffer, where their
//! planes' open blocks are at its offset. At most one operation of each sibling plane, the host's own reads before others, the
//! one that has waited longest first; of each plane the 64 reads that have waited longest are looked at. What a GC's lock masks
//! out is served so. It is decided for each operation of GC when it starts, and so for requests that come during the GC. Nothing
//! joins an erase. The host's operations join each other as with `same_offset`, and GC's do not join the host's.
//!
//! **Source.** I/O-parallelized GC, section 4.1 and algorithm 2 (GC-PAR); section 4.4 for pages that go to another die, whose
//! reads find partners where they are read and whose programs where they are programmed.
//!
//! **Parameters.** `aligned_blocks` (default false): each plane may have a second open block, for host and GC alike, and a GC takes
//! the one that is level with those of its siblings (section 4.2). `skip_pages_max` (default 0), 0 to the pages of a block less one: a
//! plane whose block is behind GC's by no more than so many pages skips them when a program of its own waits; they are written with
//! nothing, in no time, and count as skipped. Skipping is a decision: the paper lets blocks that are behind stay behind (figure 6c).
//! Needs dies of several planes, `copy = "controller"` in `[gc]`, and for aligned blocks `write_points` = 2 or more there (all pairs
//! of open blocks are looked at).
//!
//! **Cost.** The search for partners takes no time (hundreds of ns in the paper). Transfers are serial; GC's go first. A page that
//! joined a read stays in a second register of its plane until the channel has time for it, and the data of a program that is to
//! join cross it while GC's read works in the array, as many as fit, but not those of a plane that senses a page that joined or
//! holds one. A GC is prolonged by partners only that came later, did not fit or found their plane so: with the times of the
//! paper's flash one fits, so that on dies of four planes the third partner adds its transfer. Programs that join use up erased
//! pages of their planes: where writes always wait, the next GC is due when one ends, and with
//! `gc_first` the reads that joined none wait for a whole row of GCs. With aligned blocks a block less one page of each plane at most
//! lies open besides the first, and a block is kept for it; skipped pages are write amplification.

use crate::event::EXTRA_SLOTS;
use crate::event::SLOTS_MAX;
use crate::policy::prelude::*;
use crate::techniques::pairing::active_blocks;
use crate::techniques::pairing::same_offset::{check_multi_plane, first_of_each_plane};

/// The host's operations are paired with those of GC.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GcPar {
    #[serde(default)]
    aligned_blocks: bool,
    #[serde(default)]
    skip_pages_max: u32,
}

impl GcPar {
    /// With aligned blocks of which those that are behind by so many pages at most skip them, or without.
    pub fn new(aligned_with_skips: Option<u32>) -> Self {
        Self { aligned_blocks: aligned_with_skips.is_some(), skip_pages_max: aligned_with_skips.unwrap_or(0) }
    }
}

fn goes_with(lead: Class, partner: Class) -> bool {
    match lead {
        Class::Gc => matches!(partner, Class::HostRead | Class::AuxiliaryRead),
        Class::GcProgram => matches!(partner, Class::HostProgram | Class::Flush | Class::GcProgram),
        lead => partner == lead,
    }
}

impl Pairing for GcPar {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        let g = &device.geometry;
        if g.planes_per_die == 1 {
            let found = format!(
                "is \"gc_par\", which serves the host in sibling planes of a GC's; [geometry] `planes_per_die` of {} is 1",
                device.name
            );
            return Err(Fault::new("pairing", "policy", found).with("geometry", "planes_per_die").allowed("2 or more").into());
        }
        let pages = g.pages_per_block;
        let skips = Fault::new("pairing", "skip_pages_max", format!("is {}", self.skip_pages_max));
        if self.skip_pages_max >= pages {
            let allowed = format!("0 to {} on this device, whose blocks have {pages} pages", pages - 1);
            return Err(skips.allowed(allowed).into());
        }
        if self.skip_pages_max > 0 && !self.aligned_blocks {
            return Err(skips.with("pairing", "aligned_blocks").allowed("0, or `aligned_blocks` = true").into());
        }
        let slots = u64::from(g.dies()) * 2 + u64::from(g.channels + EXTRA_SLOTS);
        if slots > SLOTS_MAX as u64 {
            let found = format!(
                "is \"gc_par\", whose pages wait in second registers; with [geometry] `channels` of {} times dies that makes {slots} \
                 resources, at most {SLOTS_MAX} are possible",
                device.name
            );
            return Err(Fault::new("pairing", "policy", found).with("geometry", "channels").into());
        }
        check_multi_plane("gc_par", device)
    }

    fn check(&mut self, with: &Combination<'_>, faults: &mut Faults) {
        let [copyback, ideal] =
            with.gc_programs("whose two pages would both have to be at the offsets of the host's", "whose GC has no operations");
        let late = Against::policy(with.late_bound, "place", with.place, "whose programs have no plane while they wait", "");
        if let Some(fault) = contradiction("pairing", "policy", "= \"gc_par\"", [copyback, ideal, late]) {
            faults.push(fault);
        } else if self.aligned_blocks && with.write_points < 2 {
            let found = format!("= true needs a second open block of each plane, and [gc] `write_points` is {}", with.write_points);
            let fault = Fault::new("pairing", "aligned_blocks", found).with("gc", "write_points").with("geometry", "blocks_per_plane");
            faults.push(fault.allowed("2 or more"));
        }
    }

    fn partners(&mut self, _: View<'_>, lead: &Waiting, waiting: &[Waiting], paired: &mut [bool]) {
        first_of_each_plane(lead, waiting, paired, |candidate| goes_with(lead.class, candidate.class));
    }

    fn traits(&mut self) -> PairingTraits {
        PairingTraits { with_gc: true, aligns: self.aligned_blocks, ..PairingTraits::default() }
    }

    fn point(&mut self, view: View<'_>, plane: PlaneIx, page: Aligned) -> Option<usize> {
        active_blocks::point(view, plane, page, self.skip_pages_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::op::OpKind;
    use crate::testkit::{tiny_device, tiny_state};

    fn asked(lead: Waiting, waiting: &[Waiting]) -> Vec<bool> {
        let mut paired = vec![false; waiting.len()];
        GcPar::default().partners(tiny_state().view(), &lead, waiting, &mut paired);
        paired
    }

    #[test]
    fn a_read_of_gc_takes_one_read_at_its_offset_from_each_sibling_plane() {
        let read = |class, plane, offset| Waiting { kind: OpKind::Read, class, plane, offset };
        let waiting = [
            read(Class::HostRead, 1, 8),
            read(Class::HostRead, 1, 7),
            read(Class::HostRead, 1, 7),
            read(Class::AuxiliaryRead, 2, 7),
            read(Class::Background, 3, 7),
            read(Class::HostRead, 0, 7),
        ];
        assert_eq!(asked(read(Class::Gc, 0, 7), &waiting), [false, true, false, true, false, false]);
        assert_eq!(asked(read(Class::HostRead, 0, 7), &waiting), [false, true, false, false, false, false], "as same_offset");
    }

    #[test]
    fn a_program_of_gc_takes_programs_of_the_host_and_those_of_the_host_leave_gc_alone() {
        let program = |class, plane| Waiting { kind: OpKind::Program, class, plane, offset: 3 };
        let waiting = [program(Class::Flush, 1), program(Class::HostProgram, 2), program(Class::GcProgram, 3)];
        assert_eq!(asked(program(Class::GcProgram, 0), &waiting), [true, true, true]);
        assert_eq!(asked(program(Class::HostProgram, 0), &waiting), [false, true, false]);
        let read = Waiting { kind: OpKind::Read, class: Class::HostRead, plane: 1, offset: 3 };
        assert_eq!(asked(program(Class::GcProgram, 0), &[read]), [false]);
    }

    #[test]
    fn pages_that_are_skipped_need_aligned_blocks_and_are_fewer_than_those_of_a_block() {
        let mut device = tiny_device();
        device.geometry.planes_per_die = 2;
        GcPar::new(Some(3)).prepare(&device).unwrap();
        let error = GcPar::new(Some(4)).prepare(&device).unwrap_err().to_string();
        assert!(error.contains("`skip_pages_max` is 4") && error.contains("0 to 3"), "{error}");
        let error = GcPar { aligned_blocks: false, skip_pages_max: 1 }.prepare(&device).unwrap_err().to_string();
        assert!(error.contains("`aligned_blocks` = true"), "{error}");
    }

    #[test]
    fn dies_of_one_plane_and_flash_without_multi_plane_commands_are_refused() {
        let mut device = tiny_device();
        let error = GcPar::default().prepare(&device).unwrap_err().to_string();
        assert!(error.contains("[pairing] `policy`") && error.contains("`planes_per_die`"), "{error}");
        device.geometry.planes_per_die = 2;
        GcPar::default().prepare(&device).unwrap();
        (device.flash.multi_plane_read, device.flash.multi_plane_program) = (false, false);
        let error = GcPar::default().prepare(&device).unwrap_err().to_string();
        assert!(error.contains("\"gc_par\"") && error.contains("`multi_plane_read`"), "{error}");
    }
}
