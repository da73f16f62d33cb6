//! Priorities of a job's requests, of which a drive knows one: the mark of critical writes.

use super::{Job, values};
use tinytail_config::ConfigError;

/// Engines that give single requests a priority.
const ENGINES: [&str; 2] = ["io_uring", "libaio"];

/// The option that says which share of the requests has priority.
const SHARE: &str = "cmdprio_percentage";

impl Job<'_> {
    /// Whether the job's writes are critical: whether fio would send all of them in the real-time class.
    pub(super) fn critical(&self, reads: bool, writes: bool) -> Result<bool, ConfigError> {
        if !writes {
            self.check_not_idle(&["prioclass", SHARE, "cmdprio_class"], "in a job that does not write")?;
            return Ok(false);
        }
        if self.given(SHARE).is_none() {
            self.check_not_idle(&["cmdprio_class"], "without `cmdprio_percentage`")?;
            return self.has_real_time_class(reads);
        }
        if self.given("prioclass").is_some() {
            return Err(self.bound(SHARE, "and `prioclass` are both given", "one of them"));
        }
        if self.count("cmdprio_class")?.is_some_and(|class| class != 1) {
            return Err(self.unlike("cmdprio_class", "1, the real-time class"));
        }
        let engine = self.given("ioengine").unwrap_or("psync");
        if !ENGINES.contains(&engine) {
            return Err(self.fault(SHARE, format_args!("is an option of the engines {} alone", ENGINES.join(" and "))));
        }
        match self.shares()? {
            (1.., _) if reads => Err(self.unlike(SHARE, "0,100 or 0 in a job that reads, since reads have no priority here")),
            (_, 0) => Ok(false),
            (_, 100) => Ok(true),
            _ => Err(self.unlike(SHARE, "0 or 100 for its writes; write one job for the critical writes and one for the others")),
        }
    }

    /// Whether the class of the whole job is the real-time one.
    fn has_real_time_class(&self, reads: bool) -> Result<bool, ConfigError> {
        match self.count("prioclass")? {
            None | Some(0 | 2) => Ok(false),
            Some(1) if reads => {
                let found = "is 1 in a job that reads as well, and reads have no priority here";
                Err(self.bound("prioclass", found, "cmdprio_percentage=0,100, which is of the writes alone"))
            }
            Some(1) => Ok(true),
            Some(_) => Err(self.unlike("prioclass", "1, the real-time class, or 0 or 2, those of ordinary requests")),
        }
    }

    /// Which shares of reads and of writes have priority, in percent.
    fn shares(&self) -> Result<(u64, u64), ConfigError> {
        let base = self.kilo_base()?;
        let given = self.given(SHARE).unwrap_or_default();
        let share = |share: Option<&str>| share.map_or(Some(0), |share| values::number(share, base)).filter(|share| *share <= 100);
        let shares = (given.matches(',').count() < 2 && !given.is_empty()).then(|| values::by_kind(given)).flatten();
        let shares = shares.and_then(|[of_reads, of_writes, _]| Some((share(of_reads)?, share(of_writes)?)));
        shares.ok_or_else(|| self.unlike(SHARE, "a share in percent, or those of reads and of writes, as READS,WRITES"))
    }
}
