//! Where requests go: folded or clipped to a region, and shifted to where the region begins.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use tinytail_core::commands::{Command, CommandKind};
use tinytail_core::units::{Ns, SECTOR_BYTES};

use crate::error::WorkloadError;
use crate::source::{Arrival, Fitted, Note, Reached, Source};
use crate::text;

/// Addresses are folded at a multiple of this, so that requests stay as aligned as they were.
const PAGE_SECTORS: u64 = 4096 / SECTOR_BYTES as u64;

/// Where more of the reads or of the writes are fitted than this, another workload is played than was given.
const FITTED_PERCENT: f64 = 1.0;

/// What becomes of requests that reach beyond their region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fit {
    /// They go to the remainder of their address divided by the region's size.
    Fold,
    /// They are left out, and what reaches across the end is cut off.
    Clip,
}

/// Where requests go, in sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Added to every address.
    pub(crate) offset: u64,
    /// Size of the region that begins there; the rest of the drive without it.
    pub(crate) region: Option<u64>,
    /// Requests beyond the region are an error without it.
    pub(crate) fit: Option<Fit>,
}

/// What was done to requests beyond the region, over all rounds of a stream.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    requests: AtomicU64,
    beyond: AtomicU64,
    moved: AtomicU64,
    cut: AtomicU64,
    reads: CountsOfKind,
    writes: CountsOfKind,
}

/// The same of one kind of requests.
#[derive(Debug, Default)]
struct CountsOfKind {
    requests: AtomicU64,
    beyond: AtomicU64,
}

impl CountsOfKind {
    fn reached(&self) -> Reached {
        Reached { requests: self.requests.load(Ordering::Relaxed), beyond: self.beyond.load(Ordering::Relaxed) }
    }
}

impl Counts {
    fn of(&self, kind: CommandKind) -> Option<&CountsOfKind> {
        match kind {
            CommandKind::Read => Some(&self.reads),
            CommandKind::Write => Some(&self.writes),
            CommandKind::Trim => None,
        }
    }
}

/// Requests in their place, checked against the region's end and the end of time.
pub(crate) struct Placed {
    name: String,
    inner: Box<dyn Source>,
    place: Place,
    region: u64,
    counts: Arc<Counts>,
}

impl Placed {
    /// `name` is whose requests they are, for messages. A drive of unknown size has 2^64 - 1 sectors.
    ///
    /// # Errors
    /// A region beyond the drive.
    pub(crate) fn new(
        name: &str,
        inner: Box<dyn Source>,
        place: Place,
        drive_sectors: u64,
        counts: Arc<Counts>,
    ) -> Result<Self, WorkloadError> {
        let end = place.offset.checked_add(place.region.unwrap_or(1));
        if end.is_none_or(|end| end > drive_sectors) {
            return Err(WorkloadError::DoesNotFit {
                name: name.into(),
                message: format!(
                    "its region{} from byte {} on is beyond the drive's {} bytes",
                    place.region.map_or_else(String::new, |region| format!(" of {} bytes", bytes(region))),
                    bytes(place.offset),
                    bytes(drive_sectors)
                ),
            });
        }
        let region = place.region.unwrap_or(drive_sectors - place.offset);
        Ok(Self { name: name.into(), inner, place, region, counts })
    }

    /// The request in the region, or nothing if it is left out.
    fn fitted(&self, fit: Fit, command: Command) -> Option<Command> {
        let Command { mut sector, mut sectors, .. } = command;
        let one = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        match fit {
            Fit::Clip if sector >= self.region => None,
            Fit::Clip => {
                one(&self.counts.cut);
                // Less than `sectors`, since the request reaches across the end.
                Some(Command { sectors: (self.region - sector) as u32, ..command })
            }
            Fit::Fold => {
                let whole = if self.region < PAGE_SECTORS { self.region } else { self.region / PAGE_SECTORS * PAGE_SECTORS };
                if u64::from(sectors) > whole {
                    sectors = whole as u32;
                    one(&self.counts.cut);
                }
                sector %= whole;
                if sector + u64::from(sectors) > whole {
                    sector = whole - u64::from(sectors);
                    one(&self.counts.moved);
                }
                Some(Command { sector, sectors, ..command })
            }
        }
    }

    fn beyond(&self, request: u64, command: &Command) -> WorkloadError {
        let end = bytes(command.sector + u64::from(command.sectors) + self.place.offset);
        let limit = match self.place.region {
            Some(region) => format!("the end of its region at byte {}", bytes(self.place.offset + region)),
            None => format!("the drive's {} bytes", bytes(self.region + self.place.offset)),
        };
        WorkloadError::DoesNotFit {
            name: self.name.clone(),
            message: format!(
                "request {} ends at byte {end}, beyond {limit}; --fit fold folds such requests into it, --fit clip cuts them off",
                text::grouped(request)
            ),
        }
    }
}

/// The latest time that can be told from others, whatever a run holds.
const LATEST: Ns = u64::MAX / 2;

/// Saturates, since a drive of unknown size has more bytes than can be counted.
fn bytes(sectors: u64) -> u64 {
    sectors.saturating_mul(u64::from(SECTOR_BYTES))
}

impl Source for Placed {
    fn fill(&mut self, out: &mut Vec<Arrival>, limit: usize) -> Result<usize, WorkloadError> {
        let start = out.len();
        while out.len() == start {
            let count = self.inner.fill(out, limit)?;
            if count == 0 {
                break;
            }
            let before = self.counts.requests.fetch_add(count as u64, Ordering::Relaxed);
            let mut kept = start;
            for index in start..start + count {
                let Arrival { at, mut command, .. } = out[index];
                if at > LATEST {
                    return Err(crate::synthetic::too_late(&self.name));
                }
                let of_kind = self.counts.of(command.kind).filter(|_| self.place.fit.is_some());
                if let Some(counts) = of_kind {
                    counts.requests.fetch_add(1, Ordering::Relaxed);
                }
                if command.sector.saturating_add(u64::from(command.sectors)) > self.region {
                    let Some(fit) = self.place.fit else { return Err(self.beyond(before + (index - start) as u64 + 1, &command)) };
                    self.counts.beyond.fetch_add(1, Ordering::Relaxed);
                    if let Some(counts) = of_kind {
                        counts.beyond.fetch_add(1, Ordering::Relaxed);
                    }
                    match self.fitted(fit, command) {
                        Some(fitted) => command = fitted,
                        None => continue,
                    }
                }
                command.sector += self.place.offset;
                out[kept] = Arrival { command, ..out[index] };
                kept += 1;
            }
            out.truncate(kept);
        }
        Ok(out.len() - start)
    }

    fn notes(&self) -> Vec<Note> {
        let mut notes = self.inner.notes();
        let Some(fit) = self.place.fit else { return notes };
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (requests, beyond, moved, cut) =
            (count(&self.counts.requests), count(&self.counts.beyond), count(&self.counts.moved), count(&self.counts.cut));
        let share = if requests > 0 { 100.0 * beyond as f64 / requests as f64 } else { 0.0 };
        let region = if self.place.region.is_some() { "region" } else { "drive" };
        let size = text::binary_size(bytes(self.region));
        let mut note = format!(
            "{}: {} of {} ({share:.2} %) reached beyond the {size} of the {region}",
            match fit {
                Fit::Fold => "folded",
                Fit::Clip => "clipped",
            },
            text::grouped(beyond),
            text::counted(requests, "request")
        );
        if beyond > 0 {
            note += &match fit {
                Fit::Fold => {
                    let cut = if cut > 0 { format!(", {} cut to its size", text::grouped(cut)) } else { String::new() };
                    format!(
                        " and went to the remainder of their address; {} of them were moved so as not to cross the end{cut}",
                        text::grouped(moved)
                    )
                }
                Fit::Clip => {
                    format!("; {} were left out and {} cut off at the end", text::grouped(beyond - cut), text::grouped(cut))
                }
            };
        }
        let (reads, writes) = (self.counts.reads.reached(), self.counts.writes.reached());
        let shares: Vec<String> = [(writes, "writes"), (reads, "reads")]
            .into_iter()
            .filter(|(reached, _)| reached.percent() > FITTED_PERCENT)
            .map(|(reached, kind)| format!("{:.1} % of the {kind}", reached.percent()))
            .collect();
        let message = format!(
            "{} lie beyond the {region} and {}",
            shares.join(" and "),
            match fit {
                Fit::Fold => "were folded into it",
                Fit::Clip if cut > 0 => "were left out or cut off",
                Fit::Clip => "were left out",
            }
        );
        notes.push(Note { text: note, fitted: (!shares.is_empty()).then_some(Fitted { message, reads, writes }) });
        notes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testkit::{given, read_all, reads, times};
    use super::*;

    fn placed(requests: &[Arrival], place: Place, drive: u64) -> Result<(Vec<Arrival>, Vec<String>), WorkloadError> {
        let mut source = Placed::new("w", given(requests), place, drive, Arc::default())?;
        let mut out = Vec::new();
        while source.fill(&mut out, 2)? > 0 {}
        Ok((out, source.notes().into_iter().map(|note| note.text).collect()))
    }

    const FOLD: Option<Fit> = Some(Fit::Fold);
    const CLIP: Option<Fit> = Some(Fit::Clip);

    #[test]
    fn without_fit_the_end_is_a_border() {
        let place = Place { offset: 10, ..Place::default() };
        assert_eq!(placed(&reads(&[(0, 8), (82, 8)]), place, 100).unwrap(), (reads(&[(10, 8), (92, 8)]), vec![]));
        let error = placed(&reads(&[(0, 8), (82, 8), (83, 8)]), place, 100).unwrap_err().to_string();
        assert_eq!(
            error,
            "workload `w`: request 3 ends at byte 51712, beyond the drive's 51200 bytes; --fit fold folds such requests into it, --fit clip cuts them off"
        );
        let place = Place { offset: 10, region: Some(20), fit: None };
        assert_eq!(placed(&reads(&[(12, 8)]), place, 100).unwrap().0, reads(&[(22, 8)]));
        let error = placed(&reads(&[(13, 8)]), place, 100).unwrap_err().to_string();
        assert!(error.contains("request 1 ends at byte 15872, beyond the end of its region at byte 15360"), "{error}");
    }

    #[test]
    fn a_region_must_be_on_the_drive() {
        let place = |offset, region| Place { offset, region, fit: FOLD };
        assert!(placed(&[], place(80, Some(20)), 100).is_ok());
        let error = placed(&[], place(81, Some(20)), 100).unwrap_err().to_string();
        assert!(error.contains("region of 10240 bytes from byte 41472 on is beyond the drive's 51200 bytes"), "{error}");
        assert!(placed(&[], place(99, None), 100).is_ok());
        assert!(placed(&[], place(100, None), 100).is_err());
        assert!(placed(&[], place(u64::MAX, Some(2)), 100).is_err());
    }

    #[test]
    fn folding_keeps_alignment_and_counts() {
        let place = Place { offset: 1000, region: Some(103), fit: FOLD };
        // It is folded at 96 sectors, the last multiple of a page in the region.
        let requests = reads(&[(0, 8), (95, 8), (96, 8), (200, 8), (190, 16), (40, 400)]);
        let (out, notes) = placed(&requests, place, 2000).unwrap();
        assert_eq!(out, reads(&[(1000, 8), (1095, 8), (1000, 8), (1008, 8), (1080, 16), (1000, 96)]));
        assert_eq!(
            notes,
            ["folded: 4 of 6 requests (66.67 %) reached beyond the 51.5 KiB of the region and went to the remainder of their address; \
              2 of them were moved so as not to cross the end, 1 cut to its size"]
        );
    }

    #[test]
    fn clipping_leaves_out_and_cuts_off() {
        let place = Place { fit: CLIP, ..Place::default() };
        let (out, notes) = placed(&reads(&[(100, 1), (0, 8), (99, 8), (92, 8), (5000, 8), (93, 8)]), place, 100).unwrap();
        assert_eq!(out, reads(&[(0, 8), (99, 1), (92, 8), (93, 7)]));
        assert_eq!(
            notes,
            ["clipped: 4 of 6 requests (66.67 %) reached beyond the 50.0 KiB of the drive; 2 were left out and 2 cut off at the end"]
        );
        let (_, notes) = placed(&reads(&[(0, 8)]), place, 100).unwrap();
        assert_eq!(notes, ["clipped: 0 of 1 request (0.00 %) reached beyond the 50.0 KiB of the drive"]);
    }

    #[test]
    fn shares_of_reads_and_of_writes_that_do_not_fit_are_told_apart_if_they_are_more_than_a_percent() {
        let reached = |requests, beyond: usize| Reached { requests, beyond: beyond as u64 };
        let said = |fit, reads_beyond: usize, writes_beyond: usize| {
            let mut requests = reads(&vec![(0, 8); 300]);
            requests[..reads_beyond].iter_mut().for_each(|read| read.command.sector = 5000);
            requests[200..].iter_mut().for_each(|request| request.command.kind = CommandKind::Write);
            requests[200..200 + writes_beyond].iter_mut().for_each(|write| write.command.sector = 5000);
            let mut source = Placed::new("w", given(&requests), Place { fit, ..Place::default() }, 100, Arc::default()).unwrap();
            while source.fill(&mut Vec::new(), 7).unwrap() > 0 {}
            let fitted = source.notes().remove(0).fitted;
            if let Some(Fitted { reads, writes, .. }) = &fitted {
                assert_eq!((*reads, *writes), (reached(200, reads_beyond), reached(100, writes_beyond)));
            }
            fitted.map(|fitted| fitted.message)
        };
        assert_eq!(said(FOLD, 2, 1), None);
        assert_eq!(said(FOLD, 3, 1).unwrap(), "1.5 % of the reads lie beyond the drive and were folded into it");
        assert_eq!(said(CLIP, 2, 81).unwrap(), "81.0 % of the writes lie beyond the drive and were left out");
        let both = "2.0 % of the writes and 50.0 % of the reads lie beyond the drive and were left out";
        assert_eq!(said(CLIP, 100, 2).unwrap(), both);
    }

    #[test]
    fn the_end_of_time_is_a_border() {
        let error = placed(&times(&[0, LATEST + 1]), Place::default(), 1 << 20).unwrap_err().to_string();
        assert!(error.contains("arrive later than 26.1 days"), "{error}");
        assert!(placed(&times(&[0, LATEST]), Place::default(), 1 << 20).is_ok());
    }

    proptest! {
        #[test]
        fn whatever_is_fitted_is_in_the_region(
            requests in proptest::collection::vec((0_u64..1 << 40, 1_u32..), 1..50),
            offset in 0_u64..1 << 30, region in 1_u64..1 << 34, clip in any::<bool>(),
        ) {
            let place = Place { offset, region: Some(region), fit: if clip { CLIP } else { FOLD } };
            let (out, _) = placed(&reads(&requests), place, u64::MAX).unwrap();
            prop_assert!(clip || out.len() == requests.len());
            for arrival in out {
                let command = arrival.command;
                prop_assert!(command.sectors > 0 && command.sector >= offset);
                prop_assert!(command.sector + u64::from(command.sectors) <= offset + region);
            }
        }

        #[test]
        fn what_fits_is_left_alone(requests in proptest::collection::vec((0_u64..1000, 1_u32..100), 1..50), clip in any::<bool>()) {
            let place = Place { fit: if clip { CLIP } else { FOLD }, ..Place::default() };
            prop_assert_eq!(placed(&reads(&requests), place, 1100).unwrap().0, reads(&requests));
        }
    }

    #[test]
    fn batches_make_no_difference() {
        let place = Place { fit: CLIP, ..Place::default() };
        let requests = reads(&[(200, 8), (0, 8), (200, 8), (300, 8), (8, 8)]);
        for batch in 1..7 {
            let source = Placed::new("w", given(&requests), place, 100, Arc::default()).unwrap();
            assert_eq!(read_all(Box::new(source), batch), reads(&[(0, 8), (8, 8)]));
        }
    }
}
