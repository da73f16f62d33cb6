//! The check of a read's data, where the buffer and stripes have a say in what it must be.

use crate::flash::Engine;
use crate::flash::op::{Class, Owner};
use crate::ftl::above::WithFtl;
use crate::ids::Ppn;
use crate::observe::TrafficClass;
use crate::raid::front::{Front, WithRaid};

impl<U> Engine<WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    /// Checks a read at the moment at which it is bound to its physical page.
    pub(super) fn check_read(&mut self, op: u32, ppn: Option<Ppn>) {
        let WithFtl { ftl, oracle: Some(oracle), up: WithRaid { raid, .. } } = &mut self.up else { return };
        let entry = self.flash.ops[op as usize];
        if let Some(ppn) = ppn.filter(|&ppn| ftl.tables.owner(ppn) != entry.tag) {
            oracle.fail(format!("logical page {} maps to physical page {ppn}, which was written for {}", entry.tag, ftl.tables.owner(ppn)));
            return;
        }
        match entry.class {
            Class::HostRead if entry.traffic == TrafficClass::Reconstruction => {
                if let Some(ppn) = ppn {
                    oracle.read_flash(op, ppn, false);
                }
            }
            Class::HostRead => {
                // A page that the host has given up reads as zeroes, though its stripe's parity may still need it.
                let wanted = ppn.filter(|_| !raid.is_trimmed(entry.tag));
                let in_ram = raid.buffer.find(entry.tag).map_or(0, |(_, present)| present);
                oracle.check_flash(op, entry.tag, wanted, entry.first_sector.into(), entry.sectors.into(), in_ram);
                if let (Some(ppn), Owner::Job(_)) = (ppn, entry.owner) {
                    oracle.read_flash(op, ppn, false);
                }
            }
            _ => match ppn {
                Some(ppn) => oracle.read_flash(op, ppn, false),
                None => oracle.read_nothing(op),
            },
        }
    }
}
