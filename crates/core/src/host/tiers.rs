//! The tiers of a drive.

use crate::context::Firmware;
use crate::flash::Engine;
use crate::ftl::above::WithFtl;
use crate::host::state::Host;
use crate::observe::NullObserver;
use crate::raid::front::WithRaid;

/// The host interface, below whatever is above it.
pub struct WithHost<U> {
    pub(crate) host: Host,
    pub(crate) up: U,
}

/// A drive of one design on one device: its flash, with the firmware above it.
pub type Drive<O = NullObserver> = Engine<WithFtl<WithRaid<WithHost<Firmware<O>>>>>;
