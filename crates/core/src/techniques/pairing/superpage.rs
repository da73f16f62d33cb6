//! # Superpage programs
//!
//! **What it does.** A die programs pages of the host or of the buffer only when each of its planes has one and none is locked
//! by a GC: one multi-plane program at one offset. Write points that lag behind, as at the start, are padded up to the others.
//! When the first page has waited for `wait_us`, planes without a page are padded too. While writes wait for room in the buffer,
//! pages that wait for others do not count as on their way, so that more leave the buffer and fill programs; when nothing else is
//! on its way, the die with the most pages is padded at once. Reads join as with `same_offset`.
//!
//! Pages that GCs move are assembled likewise, apart from the host's: each goes to its own plane, and waits in the controller
//! while a GC of a sibling can still bring one. GCs of a die lock their die and channels together. A GC brings those of its
//! siblings that free more pages than they add, since planes without a page are padded; one that is not urgent starts only if
//! all of them together free more pages than they program. No block is erased before its pages are programmed elsewhere. Where
//! a plane has no page left but GC's reserve, it is left out, and counted. With `destination = "die"` in `[gc]` the pages of
//! one GC go to all planes of its die and fill its programs by themselves; the next GC brings what the last one lacks.
//!
//! **Source.** Practical Erase Suspension, section 3.1: strict 8-plane programs. The paper does not say what becomes of
//! incomplete groups, nor of GC's.
//!
//! **Parameters.** `wait_us` (default 1000): microseconds for which the first page waits for the others, 1 to 1,000,000.
//! On a drive without a write buffer the host's pages are padded at once, since each write would wait for so long; a run names it.
//! `gc_programs`: `all_planes` (default), which needs `copy = "controller"` in `[gc]`, and with `destination = "plane"` there a
//! gate that lets planes of one die collect together; or `single`, a program for each page that a GC moves.
//!
//! **Cost.** Pages wait for each other; padding is write amplification that the counters of padded pages show. With `single`
//! and one write point for host and GC, every GC costs padding. GCs of `single` take turns, and while one of a die is under way
//! the host programs nothing there: once its first page has waited for `wait_us`, or a program lacks nothing while writes wait
//! for room in the buffer, GCs that are not urgent begin or go on only after it. The planes that are ready meanwhile stand idle.

use crate::policy::prelude::*;
use crate::techniques::pairing::same_offset::SameOffset;

/// All planes of a die, or none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuperpagePrograms {
    #[serde(default = "wait")]
    wait_us: u64,
    #[serde(default)]
    gc_programs: GcPrograms,
    /// The host's pages wait for none but those of their own moment.
    #[serde(skip)]
    pads_at_once: bool,
}

/// What the programs of GCs take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GcPrograms {
    /// All planes of a die, like those of the host.
    #[default]
    AllPlanes,
    /// One plane each.
    Single,
}

fn wait() -> u64 {
    1000
}

impl SuperpagePrograms {
    /// A first page waits for so many microseconds, of GCs too if they take all planes.
    pub fn new(wait_us: u64, gc_programs: GcPrograms) -> Self {
        Self { wait_us, gc_programs, pads_at_once: false }
    }

    /// The host's pages do not wait for others any more. Returns how long they did, in microseconds.
    pub(crate) fn pad_at_once(&mut self) -> u64 {
        self.pads_at_once = true;
        self.wait_us
    }
}

impl Pairing for SuperpagePrograms {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        let mut faults = Faults::default();
        faults.range("pairing", "wait_us", self.wait_us, 1, 1_000_000);
        if !device.flash.multi_plane_program {
            let found = format!(
                "is \"superpage\", which programs all planes of a die at once; [flash] `multi_plane_program` of {} is false",
                device.name
            );
            faults.push(Fault::new("pairing", "policy", found).with("flash", "multi_plane_program"));
        }
        faults.result()
    }

    fn check(&mut self, with: &Combination<'_>, faults: &mut Faults) {
        if with.write_points > 2 && !with.late_bound {
            let found = format!(
                "is {}; [pairing] `policy` = \"superpage\" has one for the host and one for GC, so that the planes of a die stay at one offset",
                with.write_points
            );
            faults.push(Fault::new("gc", "write_points", found).with("pairing", "policy").allowed("1 or 2"));
        }
        let planes = with.device.geometry.planes_per_die;
        if planes == 1 || self.gc_programs == GcPrograms::Single {
            return;
        }
        let (copyback, alone) = (!with.gc_through_controller, with.gate_alone_in_die && with.gc_destination == Reach::Plane);
        let leaves = "= \"drive\", whose pages leave the die that would program them";
        let padded = "which lets one plane of a die collect at a time, and all others would be padded";
        let against = [
            Against::value(copyback, ["gc", "copy"], "= \"copyback\", whose pages never reach the controller", "\"controller\""),
            Against::value(with.gc_destination == Reach::Drive, ["gc", "destination"], leaves, "\"plane\", \"die\""),
            Against::policy(alone, "gc_gate", with.gc_gate, padded, ""),
        ];
        let found = format!("= \"all_planes\", on {planes} planes of a die,");
        if let Some(fault) = contradiction("pairing", "gc_programs", &found, against) {
            faults.push(fault.remedy("or `gc_programs` = \"single\""));
        }
    }

    fn partners(&mut self, view: View<'_>, lead: &Waiting, waiting: &[Waiting], paired: &mut [bool]) {
        SameOffset::default().partners(view, lead, waiting, paired);
    }

    fn traits(&mut self) -> PairingTraits {
        let wait_ns = self.wait_us * US;
        let all_planes = self.gc_programs == GcPrograms::AllPlanes;
        PairingTraits {
            // The pages of a request come one after the other in the same nanosecond.
            assembly_ns: Some(if self.pads_at_once { 1 } else { wait_ns }),
            gc_assembly_ns: all_planes.then_some(wait_ns),
            ..PairingTraits::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::tiny_device;

    #[test]
    fn flash_without_multi_plane_programs_is_refused() {
        let mut device = tiny_device();
        SuperpagePrograms::new(1, GcPrograms::AllPlanes).prepare(&device).unwrap();
        device.flash.multi_plane_program = false;
        let error = SuperpagePrograms::new(1, GcPrograms::Single).prepare(&device).unwrap_err().to_string();
        assert!(error.contains("superpage") && error.contains("`multi_plane_program`"), "{error}");
    }

    #[test]
    fn a_wait_of_no_time_is_refused() {
        assert!(SuperpagePrograms::new(0, GcPrograms::AllPlanes).prepare(&tiny_device()).unwrap_err().to_string().contains("`wait_us`"));
    }
}
