//! Techniques that answer `scrub`.
pub mod idle;
pub mod never;
