//! All tests of workloads, in one program, which is linked once.

mod bursts;
mod characteristics;
mod convert;
mod fio_differential;
mod fio_jobs;
mod formats;
mod generators;
mod headers;
mod inputs;
mod multiplier;
mod recorded;
mod refusals;
mod support;
mod tables;
mod traces;
mod workloads;
mod written;
