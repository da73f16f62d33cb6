//! Where pages go.
pub mod idle_die;
pub mod static_order;
