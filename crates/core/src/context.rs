//! What every tier above the flash may ask: the policies, and who observes.

use crate::design::Design;
use crate::observe::Observer;
use crate::policy::view::View;

/// The policies and the observer of a drive.
pub trait Context {
    /// The observer of requests and, if it traces, of everything else.
    type Observer: Observer;
    /// Puts a question to the policies.
    fn ask<R>(&mut self, question: impl FnOnce(&mut Design, View<'_>) -> R) -> R;
    /// The policies, to be looked at.
    fn policies(&self) -> &Design;
    /// The drive as policies see it.
    fn seen(&self) -> View<'_>;
    /// The observer.
    fn observer(&mut self) -> &mut Self::Observer;
}

/// The top tier: what a drive has besides its flash, translation layer, stripes and host interface.
pub struct Firmware<O> {
    pub(crate) observer: O,
    pub(crate) policies: Design,
}
