//! Everything that serves a drive is tested here, in one program; memory alone has its own.

mod common;
mod replaying;
mod serving;
