//! The options of job files: those that say something here, those that say nothing, and why others are refused.

use crate::text;
use tinytail_config::did_you_mean;

/// Options that say something, by fio's first name, with its other names.
const SUPPORTED: &[(&str, &[&str])] = &[
    ("allrandrepeat", &[]),
    ("blocksize", &["bs"]),
    ("bssplit", &[]),
    ("buffered", &[]),
    ("cmdprio_class", &[]),
    ("cmdprio_percentage", &[]),
    ("description", &[]),
    ("direct", &[]),
    ("filename", &[]),
    ("io_size", &["io_limit"]),
    ("iodepth", &[]),
    ("ioengine", &[]),
    ("kb_base", &[]),
    ("norandommap", &[]),
    ("number_ios", &[]),
    ("numjobs", &[]),
    ("offset", &[]),
    ("offset_increment", &[]),
    ("prioclass", &[]),
    ("random_distribution", &[]),
    ("randrepeat", &[]),
    ("randseed", &[]),
    ("rate_iops", &[]),
    ("rate_process", &[]),
    ("readwrite", &["rw"]),
    ("runtime", &[]),
    ("rwmixread", &[]),
    ("rwmixwrite", &[]),
    ("size", &[]),
    ("startdelay", &[]),
    ("stonewall", &["wait_for_previous"]),
    ("thinktime", &[]),
    ("time_based", &[]),
];

/// Options that are taken and mean nothing to a model: how fio reports, what its buffers hold, how its host works.
const WITHOUT_MEANING: &[&str] = &[
    "allow_mounted_write",
    "clat_percentiles",
    "clocksource",
    "cpus_allowed",
    "cpus_allowed_policy",
    "disable_bw_measurement",
    "disable_clat",
    "disable_lat",
    "disable_slat",
    "fixedbufs",
    "group_reporting",
    "gtod_reduce",
    "hipri",
    "invalidate",
    "lat_percentiles",
    "log_avg_msec",
    "name",
    "new_group",
    "numa_cpu_nodes",
    "numa_mem_policy",
    "percentile_list",
    "refill_buffers",
    "registerfiles",
    "scramble_buffers",
    "slat_percentiles",
    "thread",
    "unified_rw_reporting",
    "unit_base",
    "userspace_reap",
    "write_bw_log",
    "write_iops_log",
    "write_lat_log",
    "zero_buffers",
];

/// Options of fio that one may well expect, and what to do instead.
const REFUSED: &[(&str, &str)] = &[
    ("bs_is_seq_rand", "give the sizes of reads and writes as `bs=READ,WRITE`"),
    ("bsrange", "give the sizes with their weights, as `bssplit`"),
    ("blocksize_range", "give the sizes with their weights, as `bssplit`"),
    ("cmdprio", "a drive knows no levels of priority; give `cmdprio_percentage`"),
    ("cmdprio_bssplit", "give `cmdprio_percentage`, for a job's writes of all sizes"),
    ("directory", "the drive is the one file, whatever its `filename`"),
    ("end_fsync", "there are no flushes here"),
    ("fdatasync", "there are no flushes here"),
    ("filesize", "the drive is the one file; give `size` and `offset`"),
    ("fsync", "there are no flushes here"),
    ("loops", "give `io_size`, the amount that is read and written in all"),
    ("nrfiles", "the drive is the one file; give `size` and `offset`"),
    ("percentage_random", "write a job for the random and one for the sequential requests"),
    ("prio", "a drive knows no levels of priority; give `prioclass`"),
    ("ramp_time", "runs warm up by themselves"),
    ("rate", "give `rate_iops`, the number of requests per second"),
    ("rw_sequencer", "`readwrite` has no offset modifier here"),
    ("sync", "without a page cache every write is a synchronous one"),
    ("thinktime_blocks", "the job thinks after each request"),
    ("verify", "data are verified with the run, by --verify"),
];

/// What an option is to tinytail.
pub(super) enum Meaning {
    /// It says something, by this name.
    Supported(&'static str),
    /// It is taken and says nothing.
    Nothing,
}

/// What an option of this name is, or what to say of one that is not supported.
pub(super) fn meaning(key: &str) -> Result<Meaning, String> {
    if let Some((name, _)) = SUPPORTED.iter().find(|(name, others)| *name == key || others.contains(&key)) {
        return Ok(Meaning::Supported(name));
    }
    if WITHOUT_MEANING.contains(&key) {
        return Ok(Meaning::Nothing);
    }
    if let Some((_, instead)) = REFUSED.iter().find(|(name, _)| *name == key) {
        return Err(format!("the option {} of fio is not supported: {instead}", text::quoted(key)));
    }
    let all = || SUPPORTED.iter().flat_map(|(name, others)| std::iter::once(*name).chain(others.iter().copied()));
    let hint = did_you_mean(key, all().chain(WITHOUT_MEANING.iter().copied()));
    let supported: Vec<&str> = all().collect();
    Err(format!("the option {} is not supported{hint}; supported are {}", text::quoted(key), supported.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_option_is_in_two_lists() {
        let supported = SUPPORTED.iter().flat_map(|(name, others)| std::iter::once(*name).chain(others.iter().copied()));
        let mut all: Vec<&str> = supported.chain(WITHOUT_MEANING.iter().copied()).chain(REFUSED.iter().map(|(name, _)| *name)).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn what_is_not_supported_is_named_with_what_comes_near() {
        let message = |key| meaning(key).err().unwrap();
        assert!(
            message("io_dept").contains("`io_dept` is not supported (did you mean `iodepth`?); supported are allrandrepeat"),
            "{}",
            message("io_dept")
        );
        assert!(message("zzz").contains("`zzz` is not supported; supported are "), "{}", message("zzz"));
        assert!(message("rate").ends_with("`rate` of fio is not supported: give `rate_iops`, the number of requests per second"));
        assert!(matches!(meaning("bs"), Ok(Meaning::Supported("blocksize"))));
        assert!(matches!(meaning("thread"), Ok(Meaning::Nothing)));
    }
}
