//! Rebuilds the crate when a workload file is added, since the files are embedded in it.

fn main() {
    println!("cargo:rerun-if-changed=../../workloads");
}
