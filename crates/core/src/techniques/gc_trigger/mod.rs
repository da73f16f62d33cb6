//! When planes want a GC.
pub mod background_emergency;
pub mod never;
pub mod watermark;
