//! What a run observes: the causes of every nanosecond of a request, and the requests themselves.

pub use crate::attribution::parts::*;
use crate::attribution::slot_waits::Mix;
use crate::attribution::trail::{GcRecord, Passage, Run, Use};
pub use crate::commands::completion::Completion;
use crate::ids::PlaneIx;
use crate::policy::view::View;
use crate::units::Ns;
use std::borrow::Cow;

/// What the latency of a request is attributed to: its time in the device, and its wait in the host for a slot.
#[derive(Clone, Copy, Debug)]
pub struct RequestAttribution<'a> {
    in_device: &'a Attribution,
    in_host: Option<(&'a Mix, Ns)>,
}

impl<'a> RequestAttribution<'a> {
    pub(crate) fn new(in_device: &'a Attribution, in_host: Option<(&'a Mix, Ns)>) -> Self {
        Self { in_device, in_host }
    }

    /// Causes with their nanoseconds, which add up to the latency. A cause may come twice: in the device, and in the host.
    #[inline]
    pub fn parts(&self) -> impl Iterator<Item = (usize, Ns)> + '_ {
        self.in_device.parts().chain(self.in_host.into_iter().flat_map(|(mix, wait)| mix.divide(wait)))
    }

    /// The latency.
    pub fn total(&self) -> Ns {
        self.parts().map(|(_, ns)| ns).sum()
    }

    /// Each cause once.
    pub fn sum(&self) -> Cow<'a, Attribution> {
        let mut sum = Cow::Borrowed(self.in_device);
        if let Some((mix, wait)) = self.in_host {
            let sum = sum.to_mut();
            mix.divide(wait).for_each(|(part, ns)| sum.add(part, ns));
        }
        sum
    }

    /// How the time passed, in no order. Empty unless the observer traces.
    pub fn trail(&self) -> &'a [Passage] {
        &self.in_device.trail
    }
}

impl<'a> From<&'a Attribution> for RequestAttribution<'a> {
    /// Of a request that did not wait in the host.
    fn from(in_device: &'a Attribution) -> Self {
        Self::new(in_device, None)
    }
}

/// Observes every completed request.
pub trait Observer {
    /// Whether it traces as well: what dies, channels and GCs do, and the trail of each attribution.
    const TRACED: bool = false;

    /// Called once for each request, with what its latency is attributed to.
    fn completed(&mut self, completion: &Completion, attribution: RequestAttribution<'_>);

    /// Whether it wants to look at the drive now. Asked at each completion, before `completed`.
    #[inline]
    fn wants_look(&self, _now: Ns) -> bool {
        false
    }

    /// Looks at the drive, as `wants_look` asked.
    fn look(&mut self, _view: View<'_>) {}

    /// The device took a request. Only if it traces, like all that follows.
    fn accepted(&mut self, _id: u64, _at: Ns) {}

    /// A die has run something.
    fn die_ran(&mut self, _run: &Run) {}

    /// A channel carries something from now on.
    fn channel_used(&mut self, _used: &Use) {}

    /// When a channel carries nothing, it counts as this category from now on; the GC with this number locks it, or nobody does.
    fn channel_idles(&mut self, _channel: u32, _at: Ns, _category: usize, _gc: u64) {}

    /// The GC with this number locks a plane from now on, or nobody does.
    fn plane_locked(&mut self, _plane: PlaneIx, _at: Ns, _gc: u64) {}

    /// A GC has ended.
    fn gc_ended(&mut self, _gc: &GcRecord) {}
}

/// An observer that ignores everything.
#[derive(Debug, Default)]
pub struct NullObserver;

impl Observer for NullObserver {
    fn completed(&mut self, _: &Completion, _: RequestAttribution<'_>) {}
}
