//! Where pages go.
pub mod static_order;
