//! When planes want a GC.
pub mod never;
pub mod watermark;
