//! Where pages go.
pub mod idle_die;
pub mod next_idle;
pub mod rain;
pub mod static_order;
pub mod superpage;
mod turns;
