//! Where pages go.
pub mod idle_die;
pub mod next_idle;
pub mod rain;
pub mod static_order;
pub mod superpage;
mod turns;

use crate::ids::PlaneIx;
use crate::techniques::PlacePolicy;

impl PlacePolicy {
    /// The plane of each logical page, modulo their number, if that is all that decides where a page goes.
    pub(crate) fn round(&self) -> Option<&[PlaneIx]> {
        match self {
            Self::Static(place) => Some(place.round()),
            _ => None,
        }
    }
}
