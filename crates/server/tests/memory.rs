//! What data in memory take, in a process of its own, in which nothing else takes any.

use tinytail_server::data::{Data, MemoryData};

const MIB: u64 = 1 << 20;

/// Memory of this process that is not shared with files, in bytes.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).expect("a system that tells");
    line.split_ascii_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

#[test]
fn memory_grows_with_what_is_written_and_shrinks_with_what_is_trimmed() {
    let mut data = MemoryData::new(48 << 30).unwrap();
    let block = vec![1; 64 << 20];
    let before = resident_bytes();
    // Far apart, so that huge pages would show.
    for at in 0..4096 {
        data.write(at * 10 * MIB, &block[..4096]).unwrap();
    }
    data.write(45 << 30, &block).unwrap();
    let grown = resident_bytes().saturating_sub(before);
    // Each page of 4 KiB that stands alone needs one of the page table as well, and 16 and 64 MiB were written.
    assert!((80 * MIB..110 * MIB).contains(&grown), "{grown} bytes for 80 MiB");
    data.zero(0, 48 << 30, false).unwrap();
    let left = resident_bytes().saturating_sub(before);
    assert!(left < 10 * MIB, "{left} bytes left");
}
