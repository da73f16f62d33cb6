//! How often things happened, put together from what all tiers of a drive count.

pub use crate::buffer::counters::BufferCounters;
use crate::counters::Reported;
pub use crate::flash::counters::FlashCounters;
pub use crate::ftl::counters::FtlCounters;
pub use crate::gc::counters::GcCounters;
pub use crate::host::counters::HostCounters;
use crate::policy::view;
pub use crate::raid::counters::RaidCounters;

/// How often things happened since the counters were last reset, by the room that counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The host interface.
    pub host: HostCounters,
    /// The write buffer.
    pub buffer: BufferCounters,
    /// Stripes with parity, and bit errors.
    pub raid: RaidCounters,
    /// GC.
    pub gc: GcCounters,
    /// The translation layer.
    pub ftl: FtlCounters,
    /// The flash.
    pub flash: FlashCounters,
}

impl Counters {
    /// Return the pages that were programmed, for whatever purpose.
    pub fn programmed_pages(&self) -> u64 {
        view::programmed_pages(&self.ftl, &self.gc, &self.raid)
    }

    /// Those that results report.
    pub fn reported(&self) -> impl Iterator<Item = Reported> + use<> {
        let Self { host, buffer, raid, gc, ftl, flash } = self;
        let above = host.reported().chain(buffer.reported()).chain(raid.reported());
        above.chain(gc.reported()).chain(ftl.reported()).chain(flash.reported())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_named_after_the_technique_that_it_counts() {
        let counters = Counters { gc: GcCounters { gcs: 7, ..GcCounters::default() }, ..Counters::default() };
        let reported = |name: &str| counters.reported().find(|counter| counter.name == name).unwrap();
        let victim = reported("victim/*");
        assert_eq!((victim.named(|interface| format!("{interface}'s")), victim.count), ("victim/victim's".into(), 7));
        assert_eq!(reported("trim: commands").named(|_| unreachable!()), "trim: commands");
        assert_eq!(reported("gc_gate/*: put off").named(|_| "free".into()), "gc_gate/free: put off");
    }
}
