//! What one client may hold, and for how long, so that none can hurt another. docs/guides/serve.md has them as a table.

use rustix::process::{Resource, getrlimit};
use tinytail_config::ConfigError;
use tinytail_core::units::SECOND;

/// Clients at a time that have taken the export, where the process may have so many descriptors. As many may negotiate at a
/// time; for one more, the one that has done so for longest is hung up on.
pub const CLIENTS_MAX: usize = 256;
/// Descriptors that are left to the process for its other files.
pub const DESCRIPTORS_KEPT: usize = 32;
/// A client that negotiates for so long is hung up on.
pub const NEGOTIATION_NS: u64 = 10 * SECOND;
/// Bytes of a negotiation that are read at a time.
pub const NEGOTIATION_BYTES: usize = 4 << 10;
/// Bytes that may have come of a client without a share of the memory of all: a write of 128 KiB and its header.
pub const INPUT_BYTES: usize = 132 << 10;
/// The same of replies to it; a power of two. A larger buffer is given back when what is left fits into so much.
pub const OUTPUT_BYTES: usize = 128 << 10;
/// With more bytes of replies waiting, nothing more is done for the client until it has read them.
pub const UNSENT_BYTES_MAX: usize = 1 << 20;
/// So long a client may have memory of all while others wait for some, whether bytes move or not.
pub const PATIENCE_NS: u64 = 5 * SECOND;
/// Requests of one client that may be under way at a time; others stay in the socket.
pub const OUTSTANDING_MAX: u32 = 1024;
/// With more bytes that its requests under way read or write, nor is anything more taken of a client.
pub const UNDER_WAY_BYTES_MAX: u64 = 64 << 20;
/// Trims and writes of zeroes are done in pieces that end at multiples of this. Of each client, one is in the drive at a time.
pub const PIECE_BYTES: u64 = 4 << 20;
/// Clients that are taken before others have their turn.
pub const TURN_CLIENTS: usize = 16;
/// Connections that are looked at meanwhile: clients, and those that have left again, which cost next to nothing.
pub const TURN_CONNECTIONS: usize = 256;
/// Requests of a client that are taken before others have their turn.
pub const TURN_REQUESTS: u32 = 64;
/// Bytes that its requests read or write, and bytes that it is sent, before others have their turn.
pub const TURN_BYTES: u64 = 1 << 20;

/// How many clients may have the export at a time: each needs a descriptor, and so does one that negotiates.
///
/// # Errors
/// There is no descriptor for a client.
pub fn clients_max() -> Result<usize, ConfigError> {
    let limit = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    // The system tells what is open; else it is taken to be little.
    let open = std::fs::read_dir("/proc/self/fd").map_or(DESCRIPTORS_KEPT, Iterator::count);
    let needed = open + DESCRIPTORS_KEPT;
    match limit.saturating_sub(needed) / 2 {
        0 => Err(ConfigError::new(format!(
            "the process may have {limit} descriptors, and serving needs {}; raise the limit, as with `ulimit -n 1024`",
            needed + 2
        ))),
        pairs => Ok(pairs.min(CLIENTS_MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nbd::PAYLOAD_BYTES_MAX;
    use crate::serve::{MEMORY_BYTES, MEMORY_BYTES_MIN};

    /// A client at its limits fits into the least memory: what comes of the largest write, and replies that are as large.
    #[test]
    fn the_least_memory_is_enough_for_one_client() {
        let largest = PAYLOAD_BYTES_MAX as usize;
        assert!(largest + 2 * UNSENT_BYTES_MAX + largest + OUTPUT_BYTES <= MEMORY_BYTES_MIN as usize);
    }

    fn size(bytes: u64) -> String {
        if bytes.is_multiple_of(1 << 20) { format!("{} MiB", bytes >> 20) } else { format!("{} KiB", bytes >> 10) }
    }

    #[test]
    fn the_table_of_the_guide_has_these_numbers() {
        let guide = include_str!("../../../docs/guides/serve.md");
        let (input, output, memory) = (size(INPUT_BYTES as u64), size(OUTPUT_BYTES as u64), size(MEMORY_BYTES));
        let (piece, negotiation, patience) = (size(PIECE_BYTES), NEGOTIATION_NS / SECOND, PATIENCE_NS / SECOND);
        for beginning in [
            format!("| clients that use the drive | {CLIENTS_MAX} |"),
            format!("| clients that negotiate | {CLIENTS_MAX} at a time, each for {negotiation} s |"),
            format!("| descriptors | {DESCRIPTORS_KEPT} are kept back |"),
            format!("| memory of each client | {input} of what has come, {output} of replies |"),
            format!("| memory of all clients beyond that | `--client-memory`, {memory} if not given |"),
            format!("| memory of all that a client has while others wait for some | {patience} s |"),
            format!("| unread replies of a client | {} |", size(UNSENT_BYTES_MAX as u64)),
            format!("| requests of a client under way | {OUTSTANDING_MAX}, and {} of reads and writes |", size(UNDER_WAY_BYTES_MAX)),
            format!("| one read or write | {} |", size(PAYLOAD_BYTES_MAX.into())),
            format!("| one trim or write of zeroes | in pieces of {piece} |"),
            format!("| a client's turn | {TURN_REQUESTS} requests, {} of reads and writes |", size(TURN_BYTES)),
        ] {
            assert!(guide.contains(&format!("\n{beginning}")), "the guide has no row that begins with {beginning}");
        }
    }
}
