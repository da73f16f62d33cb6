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
    /// The stripe write that it counts as.
    pub(super) stripe_write: u32,
    /// When it no longer comes behind everything else.
    pub(super) patience_over: Ns,
    /// Operations that have not ended.
    pub(super) pending: u32,
    /// Its mapped pages, and with an oracle what each holds.
    pub(super) pages: Vec<(Lpn, Option<Content>)>,
}

impl Mover {
    /// A page of it has been read or programmed. Returns whether it was the last.
    pub(super) fn op_done(&mut self) -> bool {
        self.pending -= 1;
        self.pending == 0
    }

    /// What a page of it holds; with an oracle, its content.
    pub(super) fn note_read(&mut self, lpn: Lpn, content: Option<Content>) {
        let page = self.pages.iter_mut().find(|page| page.0 == lpn).expect("a page of the stripe");
        page.1 = content;
    }
}

/// The moves of stripes, one at a time.
#[derive(Debug, Default)]
pub(crate) struct Levelling {
    mover: Option<Box<Mover>>,
    /// The move has taken so long that it does not come behind everything else any more.
    is_overdue: bool,
    /// When the next stripe may begin to move.
    pauses_until: Ns,
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

    /// The stripe that moves.
    pub(super) fn moving_stripe(&self) -> Option<u32> {
        self.mover.as_ref().map(|mover| mover.stripe)
    }

    /// Whether a stripe may begin to move.
    pub(super) fn may_begin(&self, now: Ns) -> bool {
        now >= self.pauses_until && !self.is_moving()
    }

    /// A stripe begins to move; the next one may at a later time.
    pub(super) fn begin(&mut self, mover: Mover, pauses_until: Ns) {
        (self.mover, self.pauses_until) = (Some(Box::new(mover)), pauses_until);
    }

    /// The move under way.
    pub(super) fn under_way(&mut self) -> &mut Mover {
        self.mover.as_mut().expect("a stripe that moves")
    }

    /// The patience of a stripe's move may be over now. Returns whether it is, and the move still under way.
    pub(super) fn hurry(&mut self, stripe: u32, now: Ns) -> bool {
        let is_overdue = self.mover.as_ref().is_some_and(|mover| (mover.stripe, mover.patience_over) == (stripe, now));
        self.is_overdue |= is_overdue;
        is_overdue
    }

    /// The move is over.
    pub(super) fn end(&mut self) -> Box<Mover> {
        self.is_overdue = false;
        self.mover.take().expect("a stripe that moves")
    }

    /// What a loss of power leaves: no move, and the pause since the last one began.
    pub fn after_power_loss(&self) -> Self {
        Self { pauses_until: self.pauses_until, ..Self::default() }
    }
}
