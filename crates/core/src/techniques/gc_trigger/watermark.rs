//! # Watermark trigger
//!
//! **What it does.** A plane wants a GC when its erased pages, or those of its die, fall below a share of all, and wants it
//! urgently below a smaller share.
//!
//! **Source.** TTFLASH, section 3: GC starts when used pages exceed "a certain threshold (e.g., 70%)". The hard share is the
//! one of the authors' released simulator. Cleaning up to a second watermark is that of the SSD extension of DiskSim.
//!
//! **Parameters.** `soft_free_percent` (default 30), `hard_free_percent` (default 10): shares of pages that are erased. Hard may
//! not be above soft; where they are equal, every GC is urgent from its start. `percent_of`: of all `pages` of a plane (default),
//! or of its `spare` ones, which live data, parity, GC's reserve and open blocks leave on the drive. `soft_free_blocks` and
//! `hard_free_blocks`, instead of the two: their pages in blocks of a plane. `of`: the pages of the `plane` (default) or of the
//! `die`, whose planes then want a GC together; one without room beyond GC's reserve wants it urgently by itself. On a drive that
//! has no room for them, the two follow its spare space. `stop_above_blocks` (default 0): a GC that has begun goes on, block
//! after block, until so many blocks more are erased than where it starts, of the plane or in all of the die; with 0 each block
//! is asked for anew.
//!
//! **Cost.** A higher share means earlier GC of fuller blocks: more write amplification. A row of blocks keeps its plane or die
//! from the host for longer at a time, and less often.

use crate::policy::prelude::*;

/// Soft and hard watermark of erased pages.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Watermark {
    soft_free_percent: f64,
    hard_free_percent: f64,
    percent_of: PercentOf,
    soft_free_blocks: Option<u32>,
    hard_free_blocks: Option<u32>,
    of: Of,
    stop_above_blocks: u32,
    /// Spare pages of a plane, once a drive is known.
    #[serde(skip)]
    spare: Option<u32>,
    #[serde(skip)]
    soft_pages: u32,
    #[serde(skip)]
    hard_pages: u32,
    /// Where a cycle begins and ends, once a drive is known, and the pages of the end.
    #[serde(skip)]
    levels: Option<CycleLevels>,
    #[serde(skip)]
    stop_pages: u32,
}

/// What the shares are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PercentOf {
    /// All pages.
    #[default]
    Pages,
    /// The pages that live data, parity, GC's reserve and open blocks leave.
    Spare,
}

/// Whose pages are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Of {
    /// Those of the plane.
    #[default]
    Plane,
    /// Those of its die.
    Die,
}

impl Default for Watermark {
    fn default() -> Self {
        Self::new(30.0, 10.0)
    }
}

impl Watermark {
    /// Watermarks in percent of the pages of a plane.
    pub fn new(soft_free_percent: f64, hard_free_percent: f64) -> Self {
        Self {
            soft_free_percent,
            hard_free_percent,
            percent_of: PercentOf::Pages,
            soft_free_blocks: None,
            hard_free_blocks: None,
            of: Of::Plane,
            stop_above_blocks: 0,
            spare: None,
            soft_pages: 0,
            hard_pages: 0,
            levels: None,
            stop_pages: 0,
        }
    }

    /// The same, of the pages of another unit.
    pub fn of(self, of: Of) -> Self {
        Self { of, ..self }
    }

    /// The same, in cycles that go on until so many blocks more are erased.
    #[cfg(test)]
    pub(crate) fn stop_above(self, stop_above_blocks: u32) -> Self {
        Self { stop_above_blocks, ..self }
    }

    fn start_level(&self) -> StartLevel {
        match self.of {
            Of::Plane => StartLevel::PlanePages(self.soft_pages),
            Of::Die => StartLevel::DiePages(self.soft_pages),
        }
    }
}

impl Watermark {
    /// Lets the watermarks follow a drive's space. Returns both in the unit of their keys, and in pages as wanted and as used. What
    /// is wrong on any drive is left for `prepare`.
    pub(crate) fn fit(&mut self, room: &Room) -> ([Threshold; 2], Thresholds, Thresholds) {
        self.spare = Some(room.spare);
        let all = if self.percent_of == PercentOf::Spare { room.spare } else { room.plane };
        let in_pages = |percent: f64| (f64::from(all) * percent / 100.0).round() as u32;
        if let (Some(soft), Some(hard)) = (&mut self.soft_free_blocks, &mut self.hard_free_blocks) {
            let pages = |blocks: u32| blocks.saturating_mul(room.block);
            let wanted = Thresholds { soft: pages(*soft), hard: pages(*hard) };
            let used = room.fit(wanted);
            let soft = Threshold::replace("soft_free_blocks", soft, used.soft.div_ceil(room.block));
            let hard = Threshold::replace("hard_free_blocks", hard, used.hard.div_ceil(room.block));
            return ([soft, hard], wanted, used);
        }
        let (soft, hard) = (self.soft_free_percent, self.hard_free_percent);
        // A page apart at least, where there are too few for the two shares to differ.
        let wanted = Thresholds { soft: in_pages(soft).max(in_pages(hard) + u32::from(soft > hard)), hard: in_pages(hard) };
        let used = room.fit(wanted);
        // What GC must keep erased may be more than all that is spare: then the watermarks are shares of all pages.
        let beyond_spare = self.percent_of == PercentOf::Spare && used.soft >= room.spare;
        if beyond_spare {
            self.percent_of = PercentOf::Pages;
        }
        let all = if beyond_spare { room.plane } else { all };
        // Two decimals, upwards, so that no fewer pages are meant.
        let in_percent = |pages: u32| (f64::from(pages) * 10_000.0 / f64::from(all)).ceil() / 100.0;
        let fitted = |key: &'static str, percent: &mut f64, wanted: u32, used: u32| {
            let fitting = if wanted == used && !beyond_spare { *percent } else { in_percent(used) };
            Threshold::replace(key, percent, fitting)
        };
        let soft = fitted("soft_free_percent", &mut self.soft_free_percent, wanted.soft, used.soft);
        let hard = fitted("hard_free_percent", &mut self.hard_free_percent, wanted.hard, used.hard);
        ([soft, hard], wanted, used)
    }

    /// Watermarks in blocks take the place of those in percent.
    fn count_blocks(&mut self, geometry: &Geometry) -> Result<(), ConfigError> {
        let (soft, hard) = match (self.soft_free_blocks, self.hard_free_blocks) {
            (None, None) => return Ok(()),
            (Some(soft), Some(hard)) => (soft, hard),
            _ => {
                let missing = if self.soft_free_blocks.is_some() { "hard_free_blocks" } else { "soft_free_blocks" };
                return Err(Fault::new("gc_trigger", missing, "is missing; watermarks are both in blocks or both in percent").into());
            }
        };
        if !(hard <= soft && soft < geometry.blocks_per_plane) {
            let fault = Fault::new("gc_trigger", "soft_free_blocks", format!("is {soft} and `hard_free_blocks` {hard}"));
            let allowed = format!("hard <= soft < {}, the blocks of a plane", geometry.blocks_per_plane);
            return Err(fault.with("gc_trigger", "hard_free_blocks").allowed(allowed).into());
        }
        (self.soft_pages, self.hard_pages) = (geometry.pages_in(soft), geometry.pages_in(hard));
        Ok(())
    }
}

impl GcTrigger for Watermark {
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
        let (soft, hard) = (self.soft_free_percent, self.hard_free_percent);
        if !(soft >= hard && hard >= 0.0 && soft < 100.0) {
            let fault = Fault::new("gc_trigger", "soft_free_percent", format!("is {soft} and `hard_free_percent` {hard}"));
            return Err(fault.with("gc_trigger", "hard_free_percent").allowed("0 <= hard <= soft < 100").into());
        }
        let held = device.logical_pages().div_ceil(device.geometry.planes().into()) as u32;
        let spare = || self.spare.unwrap_or(device.geometry.pages_per_plane().saturating_sub(held));
        let pages = f64::from(if self.percent_of == PercentOf::Spare { spare() } else { device.geometry.pages_per_plane() });
        self.soft_pages = (pages * soft / 100.0).round() as u32;
        self.hard_pages = (pages * hard / 100.0).round() as u32;
        self.count_blocks(&device.geometry)?;
        if self.stop_above_blocks >= device.geometry.blocks_per_plane {
            let fault = Fault::new("gc_trigger", "stop_above_blocks", format!("is {}", self.stop_above_blocks));
            let allowed = format!("0 to {}, below the blocks of a plane", device.geometry.blocks_per_plane - 1);
            return Err(fault.with("geometry", "blocks_per_plane").allowed(allowed).into());
        }
        let levels = CycleLevels::above(self.start_level(), self.stop_above_blocks, &device.geometry);
        (self.levels, self.stop_pages) = (Some(levels), levels.stop.pages(&device.geometry));
        Ok(())
    }

    fn by_die(&mut self) -> bool {
        self.of == Of::Die
    }

    fn urgent_below(&mut self) -> Option<(&'static str, u32)> {
        Some((if self.hard_free_blocks.is_some() { "hard_free_blocks" } else { "hard_free_percent" }, self.hard_pages))
    }

    fn levels(&mut self) -> Option<CycleLevels> {
        self.levels
    }

    #[inline]
    fn want(&mut self, view: View<'_>, pool: Pool) -> Want {
        let free = match self.of {
            Of::Plane => view.tables().free_pages_of(pool),
            // A pool that has no room itself does not wait for the others.
            Of::Die if view.tables().free_pages_of(pool) <= view.tables().pages_kept() => 0,
            Of::Die => {
                let planes = view.planes_of(view.geometry().die_of(view.tables().first_plane(pool)));
                planes.map(|plane| view.tables().free_pages(plane)).sum::<u32>() / view.geometry().planes_per_die
            }
        };
        Want::of(free, if view.in_gc_cycle(pool) { self.stop_pages } else { self.soft_pages }, self.hard_pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::Claimant;
    use crate::testkit::{tiny_device, tiny_state};

    #[test]
    fn a_plane_wants_gc_below_the_share_and_not_at_it() {
        let device = tiny_device();
        let pages = device.geometry.pages_per_plane();
        let mut state = tiny_state();
        let mut trigger = Watermark::new(75.0, 50.0);
        trigger.prepare(&device).unwrap();
        for taken in 0..=pages / 2 + 1 {
            let want = trigger.want(state.view(), Pool(0));
            let free = pages - taken;
            let expected = if free >= pages * 3 / 4 {
                Want::No
            } else if free >= pages / 2 {
                Want::Soft
            } else {
                Want::Hard
            };
            assert_eq!(want, expected, "{free} of {pages} pages erased");
            state.ftl.tables.take(0, 0, Claimant::Gc).unwrap();
        }
    }

    #[test]
    fn where_both_watermarks_are_equal_every_gc_is_urgent_on_a_drive_with_room_and_without() {
        let device = tiny_device();
        for (least, pages) in [(0, 16), (20, 20)] {
            let room = Room { block: 4, least, plane: 32, spare: 28 };
            let mut trigger = Watermark::new(50.0, 50.0);
            let (.., used) = trigger.fit(&room);
            trigger.prepare(&device).unwrap();
            assert_eq!((used, trigger.soft_pages, trigger.hard_pages), (Thresholds { soft: pages, hard: pages }, pages, pages));
        }
    }

    #[test]
    fn watermarks_in_blocks_take_the_place_of_those_in_percent() {
        let blocks = |text: &str| {
            let mut watermark: Watermark = toml::from_str(text).unwrap();
            watermark.prepare(&tiny_device()).map(|()| watermark)
        };
        let watermark = blocks("soft_free_blocks = 3\nhard_free_blocks = 2").unwrap();
        assert_eq!((watermark.soft_pages, watermark.hard_pages), (12, 8));
        for (text, named) in [
            ("soft_free_blocks = 3", "`hard_free_blocks` is missing"),
            ("hard_free_blocks = 3", "`soft_free_blocks` is missing"),
            ("soft_free_blocks = 2\nhard_free_blocks = 3", "hard <= soft < 8"),
            ("soft_free_blocks = 8\nhard_free_blocks = 2", "hard <= soft < 8"),
        ] {
            let error = blocks(text).unwrap_err();
            assert!(error.to_string().contains(named), "{error}");
        }
    }

    #[test]
    fn a_die_wants_gc_by_the_mean_of_its_planes_and_a_plane_without_room_by_itself() {
        let mut device = tiny_device();
        device.geometry.planes_per_die = 2;
        let tables = crate::ftl::Tables::new(&device.geometry, device.logical_pages(), 1, 1, false);
        let mut state = crate::testkit::Parts::new(&device, tables);
        let mut trigger = Watermark::new(75.0, 25.0).of(Of::Die);
        trigger.prepare(&device).unwrap();
        let mut take = |state: &mut crate::testkit::Parts, pages: u32| {
            for _ in 0..pages {
                state.ftl.tables.take(0, 0, Claimant::Gc).unwrap();
            }
            [0, 1].map(|plane| trigger.want(state.view(), Pool(plane)))
        };
        // Two planes of 32 pages: 48 erased ones are three quarters of the die's.
        assert_eq!(take(&mut state, 16), [Want::No, Want::No]);
        assert_eq!(take(&mut state, 1), [Want::Soft, Want::Soft]);
        let kept = state.ftl.tables.pages_kept();
        assert_eq!(take(&mut state, 15 - kept - 1), [Want::Soft, Want::Soft]);
        assert_eq!(take(&mut state, 1), [Want::Hard, Want::Soft], "the other plane has all its pages");
    }

    #[test]
    fn watermarks_out_of_order_are_refused() {
        let error = Watermark::new(10.0, 30.0).prepare(&tiny_device()).unwrap_err();
        assert!(error.to_string().contains("hard <= soft"), "{error}");
    }
}
