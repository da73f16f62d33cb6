//! What a move of a stripe keeps.

use crate::ids::Lpn;
use crate::oracle::Content;
use crate::stripes::Place;
use crate::units::Ns;

/// The stripe that moves.
#[derive(Debug)]
pub(super) struct Mover {
    pub(super) stripe: u32,
    pub(super) to: Place,
    /// Its place among the active stripes, and the stripe write that it counts as.
    pub(super) active: u32,
    pub(super) stripe_write: u32,
    pub(super) began: Ns,
    /// Operations that have not ended.
    pub(super) pending: u32,
    /// Its mapped pages, and with an oracle what each holds.
    pub(super) pages: Vec<(Lpn, Option<Content>)>,
}

/// The moves of stripes, one at a time.
#[derive(Debug, Default)]
pub(crate) struct Levelling {
    pub(super) mover: Option<Box<Mover>>,
    /// The move has taken so long that it does not come behind everything else any more.
    pub(super) is_overdue: bool,
    /// When the next stripe may begin to move.
    pub(super) pauses_until: Ns,
}

impl Levelling {
    /// A stripe moves.
    pub fn is_moving(&self) -> bool {
        self.mover.is_some()
    }

    /// It does so for so long that it does not come behind everything else any more.
    #[inline]
    pub fn is_overdue(&self) -> bool {
        self.is_overdue
    }

    /// What a loss of power leaves: no move, and the pause since the last one began.
    pub fn after_power_loss(&self) -> Self {
        Self { pauses_until: self.pauses_until, ..Self::default() }
    }
}
