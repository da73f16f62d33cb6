//! Everything that serves a drive is tested here, in one program; memory alone has its own.

mod common;
mod hostile;
mod replaying;
mod serving;
