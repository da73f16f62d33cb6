//! The options of job files: those that say something here, those that change nothing of what a drive gets, and why others are
//! refused.
//!
//! docs/reference/fio.md has this table; a test writes it.

use tinytail_config::did_you_mean;

/// An option of fio.
pub(super) struct FioOption {
    /// What it is called here, the first of fio's names.
    pub(super) name: &'static str,
    /// Its other names.
    others: &'static [&'static str],
    pub(super) meaning: Meaning,
}

/// What an option is to tinytail.
pub(super) enum Meaning {
    /// It says something: what.
    Says(#[cfg_attr(not(test), expect(dead_code, reason = "the documentation is made from it"))] &'static str),
    /// It changes what fio reports, what is in its buffers or how its host works, and not what the drive gets.
    Ignored,
    /// It is refused unless it has one of these values, by which it does nothing; and what to do instead.
    Refused(&'static [&'static str], &'static str),
}

use Meaning::{Ignored, Refused, Says};

const fn option(name: &'static str, others: &'static [&'static str], meaning: Meaning) -> FioOption {
    FioOption { name, others, meaning }
}

const fn ignored(name: &'static str) -> FioOption {
    option(name, &[], Ignored)
}

const fn refused(name: &'static str, neutral: &'static [&'static str], instead: &'static str) -> FioOption {
    option(name, &[], Refused(neutral, instead))
}

const OFF: &[&str] = &["0"];
const NO_FLUSHES: &str = "there are no flushes here";
const NO_ZONES: &str = "the drive has no zones; give `random_distribution=zoned_abs` or a job for each part, with `offset` and `size`";
const NO_REPLAY: &str = "an I/O log is a trace: give it as the workload itself, and read it with the options of traces";
const ONE_BY_ONE: &str = "requests are issued and taken one by one";
const NO_FLOW: &str = "jobs do not wait for each other's progress; give each its `rate_iops`";
const NO_TARGET: &str = "the depth does not follow latencies; compare depths with a sweep";
const NO_STEADY_STATE: &str = "no job ends by what it measures; give `runtime`";
const NO_TRIM_PERCENTAGE: &str = "write a job with `rw=randtrim` for the trims";
const NO_VERIFY: &str = "data are verified with the run, by --verify, without requests of its own";
const NO_LEVELS: &str = "a drive knows no levels of priority; give `prioclass` or `cmdprio_percentage`";
const NO_PLACEMENT: &str = "the host gives no hints for placement; compare designs, or give a device with several write points";
const NO_CGROUP: &str = "the host has no cgroups; give `rate_iops`";

/// All options of fio up to 3.42, and those of its asynchronous engines and of its command line that people write into job files.
pub(super) static OPTIONS: &[FioOption] = &[
    option("allrandrepeat", &[], Says("either value: the run's seed decides what is drawn")),
    refused("atomic", OFF, "there are no atomic writes here"),
    option(
        "blockalign",
        &["ba"],
        Says(
            "what the places of random requests are multiples of, for all or for reads, writes and trims; the smallest size without it. Another value than that turns the random map off",
        ),
    ),
    option(
        "blocksize",
        &["bs"],
        Says(
            "one size, or those of reads, writes and trims; 4k without it. A multiple of 512. Any number of sizes may share the random map: requests are cut so that no block comes twice",
        ),
    ),
    option(
        "blocksize_range",
        &["bsrange"],
        Says("sizes between two, in steps of the smaller: each as likely, but what is above the larger is that"),
    ),
    option(
        "blocksize_unaligned",
        &["bs_unaligned"],
        Says("the sizes of `bssplit` as they are; without it each is rounded down to a multiple of the smallest"),
    ),
    refused("bs_is_seq_rand", OFF, "write a job for the random and one for the sequential requests"),
    option(
        "bssplit",
        &[],
        Says(
            "sizes with their shares in percent, of all or of each direction; those without one share what is left. Rounded down to multiples of the smallest, and none passes the end of the range",
        ),
    ),
    option("buffered", &[], Says("0, as `direct=1`")),
    refused("cmdprio", OFF, NO_LEVELS),
    refused("cmdprio_hint", OFF, NO_LEVELS),
    refused("cmdprio_bssplit", &[], "give `cmdprio_percentage`, for a job's writes of all sizes"),
    option("cmdprio_class", &[], Says("1, fio's default: an ordinary class would be no priority")),
    option(
        "cmdprio_percentage",
        &[],
        Says(
            "the share of the requests that have priority, as READS,WRITES in percent: with `0,100` the writes of a mix are [critical](files.md#synthetic), with 100 those of a job that only writes. For `libaio` and `io_uring`, as in fio. Not a share between: write two jobs",
        ),
    ),
    refused("create_only", OFF, "the drive is aged before the run; leave the job out"),
    option("dataplacement", &["data_placement"], Refused(&["none"], NO_PLACEMENT)),
    option("description", &[], Says("the workload's summary")),
    option("direct", &[], Says("1, and it must be said: fio's default is buffered I/O, and there is no page cache here")),
    option("directory", &[], Says("where `filename` is: a part of its name")),
    refused("end_fsync", OFF, NO_FLUSHES),
    refused("end_syncfs", OFF, NO_FLUSHES),
    refused("exec_postrun", &[], "no commands are run"),
    refused("exec_prerun", &[], "no commands are run"),
    refused("exitall", OFF, "each job ends by itself; give all of them `runtime`, or `time_based` to those that others outlive"),
    refused("fdatasync", OFF, NO_FLUSHES),
    refused("fdp", OFF, NO_PLACEMENT),
    refused("file_append", OFF, "the drive does not grow; give `offset`"),
    option(
        "filename",
        &[],
        Says("one name, the same in all jobs, whatever it is; may be missing if there is one thread. The drive is the one file"),
    ),
    option(
        "filesize",
        &[],
        Says(
            "where the range ends, in bytes from the beginning of the drive; `size` is then how much a pass through it has. The drive is larger, as for `size`",
        ),
    ),
    refused("fill_device", OFF, "a job without `size` goes through all that holds data"),
    refused("flow", OFF, NO_FLOW),
    refused("flow_id", OFF, NO_FLOW),
    refused("flow_sleep", OFF, NO_FLOW),
    refused("flow_watermark", OFF, NO_FLOW),
    refused("fsync", OFF, NO_FLUSHES),
    refused("fsync_on_close", OFF, NO_FLUSHES),
    option(
        "io_size",
        &["io_limit"],
        Says(
            "how much a job reads and writes in all, going through its range again if need be, and no more once the rest is smaller than its largest request; percent are of its range. 0: as much as its range has",
        ),
    ),
    option("io_submit_mode", &[], Says("`inline` or `offload`; requests with a rate come at their times in both, as with `offload`")),
    option(
        "iodepth",
        &[],
        Says("requests that are outstanding in closed loop, up to 65,536, with an engine that keeps more than one; 1 without it"),
    ),
    refused("iodepth_batch", &["0", "1"], ONE_BY_ONE),
    refused("iodepth_batch_complete_max", &["0", "1"], ONE_BY_ONE),
    refused("iodepth_batch_complete_min", &["1"], ONE_BY_ONE),
    refused("iodepth_low", OFF, ONE_BY_ONE),
    option(
        "ioengine",
        &[],
        Says(
            "`libaio`, `io_uring`, `posixaio` or `windowsaio` keep as many requests outstanding as `iodepth` says; `psync` (fio's default), `sync`, `vsync`, `pvsync` and `pvsync2` one. No other",
        ),
    ),
    option("kb_base", &[], Says("1024, by which `k` is 1024 and `kib` 1000, or 1000, the other way round")),
    refused("latency_percentile", &["100", "100.0"], NO_TARGET),
    refused("latency_run", OFF, NO_TARGET),
    refused("latency_target", OFF, NO_TARGET),
    refused("latency_window", OFF, NO_TARGET),
    refused("lockfile", &["none"], "the drive has no file locks"),
    option("loops", &[], Says("how many times a job goes through its range; `io_size` and `number_ios` count for each")),
    refused("max_latency", OFF, "no request ends a job"),
    refused("merge_blktrace_file", &[], NO_REPLAY),
    refused("merge_blktrace_iters", &[], NO_REPLAY),
    refused("merge_blktrace_scalars", &[], NO_REPLAY),
    refused("no_completion_thinktime", OFF, "a pause begins when all that is outstanding has completed"),
    option("norandommap", &[], Says("random blocks are drawn each by itself. Without it no block comes twice in a pass through the range")),
    option("nrfiles", &["nr_files"], Says("1: the drive is the one file")),
    refused("num_range", &["1"], "a trim has one range"),
    option("number_ios", &[], Says("how many requests a job has at most; 0: no limit")),
    option("numjobs", &[], Says("so many threads of the kind, with random numbers of their own; at most 1,024 of all jobs")),
    option(
        "offset",
        &["fileoffset"],
        Says("where the range begins; percent are of the part of the drive that holds data, rounded up to a block"),
    ),
    option("offset_align", &[], Says("what an offset in percent is rounded up to, instead of the smallest block")),
    option("offset_increment", &[], Says("how much later the range of each clone begins")),
    refused("opendir", &[], "the drive is the one file"),
    option(
        "percentage_random",
        &[],
        Says(
            "how many percent of the requests of a random job are random, of all or of reads, writes and trims; the others go to the place behind the one before",
        ),
    ),
    refused("percentage_sequential", &[], "fio has dropped it; give `percentage_random`"),
    refused("pre_read", OFF, "there is no page cache here"),
    refused("prio", OFF, NO_LEVELS),
    option(
        "prioclass",
        &[],
        Says(
            "1, the real-time class: the job's writes are [critical](files.md#synthetic). 0 and 2 are ordinary. It is the nearest that fio has: a priority, where the hint says what a host waits for. Not 1 in a job that reads as well",
        ),
    ),
    refused("priohint", OFF, NO_LEVELS),
    refused("profile", &[], "write the jobs of the profile"),
    refused("ramp_size", OFF, "give `ramp_time`"),
    option(
        "ramp_time",
        &[],
        Says(
            "how long the jobs of the last phase run before measuring begins, the same in all of them. Between lies a pause in which what is outstanding completes",
        ),
    ),
    option(
        "random_distribution",
        &[],
        Says(
            "`random`; `zipf:THETA`: Zipf's law itself, up to an exponent of 4 but not 1, the hot blocks spread as in `\"zipf\"`, where fio approximates the law, and its hash puts some ranks on the same block; `pareto:H` and `normal:DEVIATION`, also with a centre behind a colon; `zoned:` and `zoned_abs:` with shares of requests and sizes of zones. All but `random` turn the random map off",
        ),
    ),
    option(
        "random_generator",
        &[],
        Says(
            "`tausworthe` or `tausworthe64`, by which nothing changes here, or `lfsr` in a job of one size and even places, where each block comes once",
        ),
    ),
    refused("random_sequence_stride", OFF, "no distribution is a sequence of blocks"),
    option(
        "randrepeat",
        &[],
        Says(
            "1: each pass through the range draws what the one before drew; 0: each draws anew. The run's seed decides both, so that other numbers come with another --seed",
        ),
    ),
    option("randseed", &[], Says("mixed into the run's seed: with another number other requests, and each pass draws anew")),
    option(
        "rate",
        &[],
        Says(
            "bytes per second of all or of reads, writes and trims. Requests come when those before have had their time, but for those that wait because `iodepth` are outstanding; they catch up. In a mix of both directions or of neither. 0: no limit",
        ),
    ),
    option(
        "rate_iops",
        &[],
        Says(
            "as `rate`, in requests of the smallest size per second. In a mix each direction keeps its own rate, whatever `rwmixread` says",
        ),
    ),
    refused("rate_iops_min", OFF, "no rate ends a job"),
    refused("rate_ignore_thinktime", OFF, "a job catches up after its pauses"),
    refused("rate_min", OFF, "no rate ends a job"),
    option("rate_process", &[], Says("`linear`: equal times; `poisson`: exponential ones")),
    refused("read_beyond_wp", OFF, NO_ZONES),
    refused("readfua", OFF, "a read has no way past the drive's buffer"),
    refused("read_iolog", &[], NO_REPLAY),
    refused("read_iolog_chunked", OFF, NO_REPLAY),
    option(
        "readwrite",
        &["rw"],
        Says(
            "`read` (the default), `write`, `trim`, `rw`, `readwrite`, `randread`, `randwrite`, `randtrim`, `randrw`. A sequential mix reads and writes each at a place of its own. Behind a colon: bytes between sequential requests, negative ones too; of how many requests of a random job the first is random",
        ),
    ),
    refused("replay_align", OFF, NO_REPLAY),
    refused("replay_no_stall", OFF, NO_REPLAY),
    refused("replay_redirect", &[], NO_REPLAY),
    refused("replay_scale", &["1"], NO_REPLAY),
    refused("replay_skip", &[], NO_REPLAY),
    refused("replay_time_scale", &["100"], NO_REPLAY),
    option("runtime", &["timeout"], Says("how long a job lasts at most, in s of the drive's time; 0: no limit")),
    option(
        "rw_sequencer",
        &[],
        Says("whether those of several requests that are not random go to the place behind (`sequential`) or to the same (`identical`)"),
    ),
    refused("rwmixcycle", &[], "fio has dropped it"),
    option("rwmixread", &[], Says("share of the reads of a mix in percent; 50 without it")),
    option("rwmixwrite", &[], Says("share of the writes; where both are given, they must add up to 100")),
    refused("serialize_overlap", OFF, "requests that overlap are not held back"),
    option(
        "size",
        &[],
        Says(
            "how large the range is, in any number of bytes; percent are of the part of the drive that holds data, which is also the range without it. A job ends when it has read or written as much as its range has. The last sequential request of one size begins in the range and may end behind it, as on a device that is larger",
        ),
    ),
    refused("sprandom", OFF, "the drive is aged before the run"),
    refused("sqthread_poll", OFF, "the host's threads are not modelled"),
    option("startdelay", &[], Says("when a job begins, in s; only where no job has `stonewall`")),
    refused("steadystate", &[], NO_STEADY_STATE),
    refused("steadystate_duration", OFF, NO_STEADY_STATE),
    refused("steadystate_ramp_time", OFF, NO_STEADY_STATE),
    option(
        "stonewall",
        &["wait_for_previous"],
        Says("a new phase begins, when all jobs before have ended. The last phase is measured; those before it prepare the drive"),
    ),
    refused("sync", &["0", "none"], "without a page cache every write is a synchronous one"),
    refused("sync_file_range", &[], NO_FLUSHES),
    refused("thinkcycles", OFF, "give `thinktime`"),
    option(
        "thinktime",
        &[],
        Says(
            "how long a job pauses after each request, in µs; what is outstanding completes first, so that a depth above 1 says nothing without `thinktime_blocks`",
        ),
    ),
    option("thinktime_blocks", &[], Says("after how many requests; 1 without it and without `thinktime_iotime`")),
    option("thinktime_blocks_type", &[], Says("`complete`: requests that have completed count; `issue`: those that have been issued")),
    option("thinktime_iotime", &[], Says("after how long from the end of the pause before, in s")),
    option("thinktime_spin", &[], Says("a part of the pause; that the processor is busy makes no difference to a drive")),
    option("time_based", &[], Says("only `runtime`, which must be given, ends the job: not with `io_size` or `number_ios`")),
    refused("trim_percentage", OFF, NO_TRIM_PERCENTAGE),
    refused("uncached", OFF, "there is no page cache here"),
    refused("unlink", OFF, "the drive is not deleted; write a job with `rw=trim`"),
    refused("unlink_each_loop", OFF, "the drive is not deleted; write a job with `rw=trim`"),
    refused("verify", &["0", "none"], NO_VERIFY),
    refused("verify_only", OFF, NO_VERIFY),
    refused("verify_state_load", OFF, NO_VERIFY),
    refused("wait_for", &[], "give `stonewall`, by which a job waits for all before it"),
    refused("write_barrier", OFF, NO_FLUSHES),
    refused("writefua", OFF, "a write has no way past the drive's buffer"),
    refused("write_hint", &["none"], "give `prioclass`, or a device with several write points"),
    refused("zonecapacity", OFF, NO_ZONES),
    refused("zonemode", &["none"], NO_ZONES),
    refused("zonerange", OFF, NO_ZONES),
    refused("zonesize", OFF, NO_ZONES),
    refused("zoneskip", OFF, NO_ZONES),
    refused("zone_reset_frequency", OFF, NO_ZONES),
    refused("zone_reset_threshold", OFF, NO_ZONES),
    refused("max_open_zones", OFF, NO_ZONES),
    refused("job_max_open_zones", OFF, NO_ZONES),
    refused("ignore_zone_limits", OFF, NO_ZONES),
    refused("cgroup", &[], NO_CGROUP),
    refused("cgroup_weight", &[], NO_CGROUP),
    refused("cgroup_nodelete", OFF, NO_CGROUP),
    // Of reports.
    ignored("block_error_percentiles"),
    ignored("bwavgtime"),
    ignored("clat_percentiles"),
    ignored("disable_bw_measurement"),
    ignored("disable_bw"),
    ignored("disable_clat"),
    ignored("disable_lat"),
    ignored("disable_slat"),
    ignored("disk_util"),
    ignored("eta"),
    ignored("eta-interval"),
    ignored("eta-newline"),
    ignored("group_reporting"),
    ignored("gtod_reduce"),
    ignored("iopsavgtime"),
    ignored("job_start_clock_id"),
    ignored("lat_percentiles"),
    ignored("log_alternate_epoch"),
    ignored("log_alternate_epoch_clock_id"),
    ignored("log_avg_msec"),
    ignored("log_compression"),
    ignored("log_compression_cpus"),
    ignored("log_entries"),
    ignored("log_hist_coarseness"),
    ignored("log_hist_msec"),
    ignored("log_issue_time"),
    option("log_max_value", &["log_window_value"], Ignored),
    ignored("log_offset"),
    ignored("log_prio"),
    ignored("log_store_compressed"),
    ignored("log_unix_epoch"),
    ignored("minimal"),
    ignored("name"),
    ignored("new_group"),
    ignored("output"),
    ignored("output-format"),
    ignored("per_job_logs"),
    ignored("percentile_list"),
    ignored("rate_cycle"),
    ignored("ratecycle"),
    ignored("significant_figures"),
    ignored("slat_percentiles"),
    ignored("stats"),
    ignored("status-interval"),
    ignored("unified_rw_reporting"),
    ignored("unit_base"),
    ignored("write_bw_log"),
    ignored("write_hist_log"),
    ignored("write_iolog"),
    ignored("write_iops_log"),
    ignored("write_lat_log"),
    // Of buffers and their contents.
    ignored("buffer_compress_chunk"),
    ignored("buffer_compress_percentage"),
    ignored("buffer_pattern"),
    ignored("dedupe_global"),
    ignored("dedupe_mode"),
    ignored("dedupe_percentage"),
    ignored("dedupe_working_set_percentage"),
    ignored("refill_buffers"),
    ignored("scramble_buffers"),
    ignored("zero_buffers"),
    // Of options that are refused themselves, without which these do nothing.
    ignored("do_verify"),
    ignored("dp_scheme"),
    ignored("exit_what"),
    ignored("experimental_verify"),
    option("plid_select", &["fdp_pli_select"], Ignored),
    option("plids", &["fdp_pli"], Ignored),
    ignored("recover_zbd_write_error"),
    ignored("spr_cs"),
    ignored("spr_num_regions"),
    ignored("spr_op"),
    option("steadystate_check_interval", &["ss_interval"], Ignored),
    ignored("trim_backlog"),
    ignored("trim_backlog_batch"),
    ignored("trim_verify_zero"),
    ignored("verify_async"),
    ignored("verify_async_cpus"),
    ignored("verify_backlog"),
    ignored("verify_backlog_batch"),
    ignored("verify_dump"),
    ignored("verify_fatal"),
    ignored("verify_header_seed"),
    ignored("verify_interval"),
    ignored("verify_offset"),
    ignored("verify_pattern"),
    ignored("verify_pattern_interval"),
    ignored("verify_policy"),
    ignored("verify_state_save"),
    ignored("verify_write_sequence"),
    ignored("verifysort"),
    ignored("verifysort_nr"),
    ignored("write_zone_remainder"),
    // Of the engine io_uring_cmd, which is refused.
    ignored("apptag"),
    ignored("apptag_mask"),
    ignored("cdb_len"),
    ignored("cmd_type"),
    ignored("deac"),
    ignored("md_per_io_size"),
    ignored("pi_act"),
    ignored("pi_chk"),
    ignored("read_mode"),
    ignored("verify_bytchk"),
    ignored("verify_mode"),
    ignored("write_mode"),
    // Of the host: its memory, processors, files and errors.
    ignored("allow_file_create"),
    ignored("allow_mounted_write"),
    ignored("clocksource"),
    ignored("comm"),
    ignored("continue_on_error"),
    ignored("cpumask"),
    ignored("cpus_allowed"),
    ignored("cpus_allowed_policy"),
    ignored("create_fsync"),
    ignored("create_on_open"),
    ignored("create_serialize"),
    ignored("error_dump"),
    ignored("exitall_on_error"),
    ignored("fadvise_hint"),
    ignored("fallocate"),
    ignored("file_service_type"),
    ignored("filename_format"),
    ignored("filetype"),
    ignored("fixedbufs"),
    ignored("force_async"),
    ignored("gid"),
    ignored("gpu_dev_id"),
    ignored("gtod_cpu"),
    ignored("hipri"),
    ignored("hugepage-size"),
    ignored("ignore_error"),
    ignored("invalidate"),
    option("iomem", &["mem"], Ignored),
    option("iomem_align", &["mem_align"], Ignored),
    ignored("ioscheduler"),
    ignored("libaio_vectored"),
    ignored("lockmem"),
    ignored("nice"),
    ignored("nonvectored"),
    ignored("nowait"),
    ignored("numa_cpu_nodes"),
    ignored("numa_mem_policy"),
    ignored("openfiles"),
    ignored("overwrite"),
    ignored("registerfiles"),
    ignored("softrandommap"),
    ignored("sqthread_poll_cpu"),
    option("thread", &["threads"], Ignored),
    ignored("uid"),
    ignored("unique_filename"),
    ignored("userspace_reap"),
];

/// Other names of options that are refused.
const REFUSED_NAMES: &[(&str, &str)] = &[
    ("fill_fs", "fill_device"),
    ("iodepth_batch_complete", "iodepth_batch_complete_min"),
    ("iodepth_batch_submit", "iodepth_batch"),
    ("ratemin", "rate_min"),
    ("ss", "steadystate"),
    ("ss_dur", "steadystate_duration"),
    ("ss_ramp", "steadystate_ramp_time"),
];

/// The option of this name.
pub(super) fn find(key: &str) -> Option<&'static FioOption> {
    let key = REFUSED_NAMES.iter().find(|(other, _)| *other == key).map_or(key, |(_, name)| name);
    OPTIONS.iter().find(|option| option.name == key || option.others.contains(&key))
}

/// What to say of an option that is not in the table: none of fio's, or one of an engine that is not supported.
pub(super) fn unknown(key: &str) -> String {
    let all = || OPTIONS.iter().flat_map(|option| std::iter::once(option.name).chain(option.others.iter().copied()));
    let hint = did_you_mean(key, all());
    format!("is not known{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> impl Iterator<Item = &'static str> {
        let of_tables = OPTIONS.iter().flat_map(|option| std::iter::once(option.name).chain(option.others.iter().copied()));
        of_tables.chain(REFUSED_NAMES.iter().map(|(other, _)| *other))
    }

    #[test]
    fn no_name_stands_for_two_options() {
        let mut all: Vec<&str> = names().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn options_are_found_by_all_their_names() {
        let is = |key: &str, name: &str| find(key).is_some_and(|option| option.name == name);
        assert!(is("bs", "blocksize") && is("rw", "readwrite") && is("ss", "steadystate") && is("mem", "iomem"));
        assert!(find("io_dept").is_none());
        assert_eq!(unknown("io_dept"), "is not known (did you mean `iodepth`?)");
        assert_eq!(unknown("zzzzzz"), "is not known");
    }

    /// The lists of docs/reference/fio.md between its marks.
    fn documentation() -> String {
        let named = |option: &FioOption| -> String {
            std::iter::once(option.name).chain(option.others.iter().copied()).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        let mut says = String::from("| option | meaning |\n|---|---|\n");
        let mut refuses = String::from("| option | but for | because, or instead |\n|---|---|---|\n");
        let mut ignores = Vec::new();
        let mut options: Vec<&FioOption> = OPTIONS.iter().collect();
        options.sort_by_key(|option| option.name);
        for option in options {
            let named = named(option);
            match option.meaning {
                Says(what) => says += &format!("| {named} | {what} |\n"),
                Ignored => ignores.push(named),
                Refused(neutral, instead) => {
                    let neutral = neutral.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
                    refuses += &format!("| {named} | {neutral} | {instead} |\n");
                }
            }
        }
        format!("\n### What has a meaning\n\n{says}\n### What is ignored\n\n{}.\n\n### What is refused\n\n{refuses}\n", ignores.join(", "))
    }

    /// `UPDATE_EXPECT=1 cargo test --release -p tinytail-workload documented` writes them anew.
    #[test]
    fn all_options_are_documented() {
        const BEGIN: &str = "<!-- The lists below are made from crates/workload/src/fio/options.rs. -->\n";
        const END: &str = "<!-- The lists end here. -->\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/fio.md");
        let text = std::fs::read_to_string(path).unwrap();
        let (before, rest) = text.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        let made = format!("{before}{BEGIN}{}{END}{after}", documentation());
        expect_test::expect_file![path].assert_eq(&made);
    }

    /// fio itself, where it is installed, lists no option that is not in the table.
    #[test]
    fn all_options_of_fio_are_known() {
        let Ok(output) = std::process::Command::new("fio").arg("--cmdhelp=all").output() else {
            eprintln!("SKIPPED: fio is not installed, so that its options are not held against the table");
            return;
        };
        let output = String::from_utf8(output.stdout).unwrap();
        let listed = output.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim());
        let unknown: Vec<&str> = listed.filter(|name| !name.contains(' ') && find(name).is_none()).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
