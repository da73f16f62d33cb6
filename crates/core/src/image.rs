//! What an image of an aged drive holds, as a stream of bytes: the tables, and what policies remember.
//!
//! There is no I/O here: whoever keeps images gives a [`Sink`] and a [`Source`]. Numbers are little-endian; their order is
//! that of the functions below. What follows from other parts is not held but made anew and checked: the map and the valid
//! pages of each block follow from the reverse map and the validity of pages, the oracle's tokens from the map. So whatever
//! the bytes are, either the tables are in order or the image is refused.
//!
//! A snapshot is an image and what follows from it, for bytes that nobody else has had: it is not checked, so that a drive takes
//! it over as fast as memory is copied. Its [`Recipe`] is what two drives must agree in for the one to be the other's copy.

use crate::context::Context;
use crate::design::Design;
use crate::design::StartLevel;
use crate::device::{Device, Geometry, StartingState};
use crate::flash::Engine;
use crate::ftl::above::WithFtl;
use crate::ids::{Lpn, NONE};
use crate::precondition::{Aged, levels_at_start};
use crate::raid::front::{Front, WithRaid};
use crate::stream::take_one;
pub use crate::stream::{Exhausted, LoadError, Sink, Source};
use crate::techniques::PlacePolicy;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What device and design must agree in with an image: everything that decides where data may lie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Geometry of the flash.
    pub geometry: Geometry,
    /// Pages that the host can address.
    pub logical_pages: u64,
    /// The section `[place]` of the design: keys and values.
    pub place: BTreeMap<String, String>,
    /// Open blocks of each plane.
    pub write_points: u32,
    /// Erased blocks of each plane that only GC may open.
    pub reserve_blocks: u32,
    /// Whether every page has a sequence number.
    pub page_sequence: bool,
}

impl Layout {
    /// The layout of a design on a device.
    pub fn of(device: &Device, design: &Design) -> Self {
        let rows = design.rows.iter().filter(|row| row.section == "place");
        let mut place: BTreeMap<String, String> = rows.map(|row| (row.key.clone(), row.value.to_string())).collect();
        // Where data lie does not depend on the order in which blocks are opened.
        let policy = if matches!(design.place, PlacePolicy::Static(_)) { "static" } else { design.place.name() };
        place.insert("policy".into(), format!("{policy:?}"));
        Self {
            geometry: device.geometry.clone(),
            logical_pages: device.logical_pages(),
            place,
            write_points: design.gc.write_points,
            reserve_blocks: design.gc.reserve_blocks,
            page_sequence: design.gc.page_sequence,
        }
    }

    /// Each value in which `other` differs: its section and key, the value here, the value there.
    pub fn differences(&self, other: &Self) -> Vec<(String, String, String)> {
        let values = |layout: &Self| {
            let g = &layout.geometry;
            let mut values: Vec<(String, String)> = [
                ("channels", g.channels),
                ("chips_per_channel", g.chips_per_channel),
                ("dies_per_chip", g.dies_per_chip),
                ("planes_per_die", g.planes_per_die),
                ("blocks_per_plane", g.blocks_per_plane),
                ("pages_per_block", g.pages_per_block),
                ("page_bytes", g.page_bytes),
            ]
            .map(|(key, value)| (format!("[geometry] `{key}`"), value.to_string()))
            .into();
            values
                .push(("logical pages, by [host] `capacity_gb` or `over_provisioning_percent`,".into(), layout.logical_pages.to_string()));
            values.push(("[gc] `write_points`".into(), layout.write_points.to_string()));
            values.push(("[gc] `reserve_blocks`".into(), layout.reserve_blocks.to_string()));
            values.push(("[gc] `page_sequence`".into(), layout.page_sequence.to_string()));
            let place: Vec<String> = layout.place.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            values.push(("[place]".into(), place.join(", ")));
            values
        };
        let both = values(self).into_iter().zip(values(other));
        both.filter(|(here, there)| here.1 != there.1).map(|((key, here), (_, there))| (key, here, there)).collect()
    }
}

/// Everything that decides what ageing makes of a drive, but its seed and its footprint: what holds here decides, whatever it was
/// made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Everything that decides where data may lie; its logical pages are those of the tables, with parity.
    pub layout: Layout,
    /// Pages that the starting state maps.
    pub mapped_pages: u32,
    /// Blocks of each plane that are bad from the factory.
    pub bad_blocks_per_plane: u32,
    /// The starting state.
    pub state: StartingState,
    /// The erased space below which ageing collects.
    pub level: StartLevel,
    /// The erased space at which it stops, if that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StartLevel>,
    /// The design's section `[victim]`, if its head is not greedy.
    pub victims: Vec<String>,
    /// The planes of a die are programmed together.
    pub assembles: bool,
    /// GC may move pages to other planes.
    pub gc_leaves_its_plane: bool,
    /// Open blocks are brought to one offset.
    pub aligns: bool,
}

/// The longest memory of a policy, in bytes.
const MEMORY_MAX: u32 = 1 << 20;
/// The longest name of a policy, in bytes.
const NAME_MAX: u32 = 256;

impl<U> Engine<WithFtl<WithRaid<U>>>
where
    Self: Front,
{
    /// Gives everything that a drive which has aged, and done nothing else, has in memory.
    ///
    /// # Errors
    /// Those of the sink.
    ///
    /// # Panics
    /// The drive has served requests: what they left in the buffer and under way is not part of an image.
    pub fn save<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        assert!(self.flash.now == 0 && self.submitted_so_far() == 0, "an image is made of a drive that has served no request");
        self.up.ftl.tables.save(sink)?;
        self.save_memories(sink)
    }

    /// As `save`, with what follows from other parts too.
    ///
    /// # Errors
    /// Those of the sink.
    ///
    /// # Panics
    /// As for `save`.
    pub fn snapshot<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        self.save(sink)?;
        self.save_derived(sink)
    }

    /// Gives what follows from other parts. Behind the bytes that the drive was loaded from it makes a snapshot.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn save_derived<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        self.up.ftl.tables.save_derived(sink)
    }

    /// Bytes that a snapshot has, but for what policies remember.
    pub fn snapshot_bytes(&self) -> u64 {
        let tables = &self.up.ftl.tables;
        let of_planes = u64::from(self.flash.device.geometry.planes()) * u64::from(16 + 4 * tables.write_points(0) as u32);
        // Each erased block is in its plane's queue.
        tables.bytes() as u64 + of_planes + 4 * u64::from(self.flash.device.geometry.planes() * self.flash.device.geometry.blocks_per_plane)
    }

    fn save_memories<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        let memories = self.policies().memories();
        sink.put(&(memories.len() as u32).to_le_bytes())?;
        for (name, memory) in memories {
            for bytes in [name.as_bytes(), &memory] {
                sink.put(&(bytes.len() as u32).to_le_bytes())?;
                sink.put(bytes)?;
            }
        }
        Ok(())
    }

    /// Takes everything that `save` gave, into a drive just made, of the same layout. Policies of the image that the design
    /// lacks are passed over; those that the image lacks take the seed, as they do before ageing. `aged` is what ageing did.
    ///
    /// # Errors
    /// Those of the source; bytes that are those of no drive of this layout. The drive is of no use then.
    pub fn load<S: Source>(&mut self, seed: u64, aged: &Aged, source: &mut S) -> Result<(), LoadError<S::Error>> {
        self.seed(seed);
        self.up.ftl.gc.expect_victims(aged.victim_valid_permille);
        self.up.ftl.tables.load(self.flash.device.bad_blocks_per_plane(), source)?;
        self.take_memories(source)?;
        let WithFtl { ftl, up: WithRaid { raid, .. }, .. } = &self.up;
        if let Some(rain) = &raid.rain {
            let checked = (0..rain.stripes().count()).try_for_each(|stripe| rain.check_stripe(&ftl.tables, stripe));
            checked.map_err(LoadError::Faulty)?;
        }
        self.inform_oracle_of_all();
        Ok(())
    }

    /// Takes everything that `snapshot` gave, into a drive just made, of the same recipe. The bytes must be those that were
    /// given; they are not checked as those of an image are.
    ///
    /// # Errors
    /// Those of the source; bytes that can't be those of a snapshot of such a drive. The drive is of no use then.
    pub fn restore<S: Source>(&mut self, seed: u64, aged: &Aged, source: &mut S) -> Result<(), LoadError<S::Error>> {
        self.seed(seed);
        self.up.ftl.gc.expect_victims(aged.victim_valid_permille);
        self.up.ftl.tables.take_saved(source)?;
        self.take_memories(source)?;
        self.up.ftl.tables.take_derived(source)?;
        self.inform_oracle_of_all();
        Ok(())
    }

    /// Tells everything that is random of the run's seed.
    pub(crate) fn seed(&mut self, seed: u64) {
        self.ask(|policies, _| policies.seed(seed));
        let WithFtl { ftl, up: WithRaid { raid, .. }, .. } = &mut self.up;
        if let Some(late_bound) = &mut ftl.late_bound {
            late_bound.seed(seed);
        }
        if let Some(errors) = &mut raid.errors {
            errors.seed(seed);
        }
    }

    fn take_memories<S: Source>(&mut self, source: &mut S) -> Result<(), LoadError<S::Error>> {
        for _ in 0..take_one(source, u32::from_le_bytes)? {
            let name = take_bytes(source, NAME_MAX)?;
            let memory = take_bytes(source, MEMORY_MAX)?;
            let name = String::from_utf8(name).map_err(|_| LoadError::Faulty("the name of a policy is not text".into()))?;
            self.ask(|policies, _| policies.remember(&name, &memory)).map_err(LoadError::Faulty)?;
        }
        Ok(())
    }

    fn inform_oracle_of_all(&mut self) {
        let tables = &self.up.ftl.tables;
        let live: Vec<Lpn> = if self.up.oracle.is_some() {
            (0..tables.logical_pages()).filter(|&lpn| tables.lookup(lpn) != NONE).collect()
        } else {
            Vec::new()
        };
        self.inform_oracle(live.into_iter());
    }

    /// Everything that decides what ageing makes of the drive, but its seed and its footprint.
    pub fn recipe(&self) -> Recipe {
        let device = &self.flash.device;
        let design = self.policies();
        let (greedy, levels) = (design.collects_greedily(), levels_at_start(design));
        let rows = design.rows.iter().filter(|row| !greedy && row.section == "victim");
        Recipe {
            layout: Layout { logical_pages: self.up.ftl.tables.logical_pages().into(), ..Layout::of(device, self.policies()) },
            mapped_pages: self.seen().mapped_pages(),
            bad_blocks_per_plane: device.bad_blocks_per_plane(),
            // Where it holds the drive is the level.
            state: StartingState { free_percent: None, ..device.state.clone() },
            level: levels.start,
            stop: Some(levels.stop).filter(|_| !levels.is_one_block()),
            victims: rows.map(|row| format!("{} = {}", row.key, row.value)).collect(),
            assembles: self.flash.traits.assembles,
            gc_leaves_its_plane: self.up.ftl.traits.gc_across,
            aligns: self.up.ftl.traits.aligns,
        }
    }
}

fn take_bytes<S: Source>(source: &mut S, most: u32) -> Result<Vec<u8>, LoadError<S::Error>> {
    let length = take_one(source, u32::from_le_bytes)?;
    if length > most {
        return Err(LoadError::Faulty(format!("a policy has {length} bytes, more than {most}")));
    }
    let mut bytes = vec![0; length as usize];
    source.take(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::answers::Scope;
    use crate::recorder::{TestDrive, untraced};
    use crate::techniques::GcTriggerPolicy;
    use crate::techniques::gc_trigger::watermark::Watermark;
    use crate::testkit::{plain_design, tiny_device, with_victims};
    use proptest::prelude::*;
    use tinytail_config::Row;

    fn design() -> Design {
        let mut design = with_victims(plain_design(Scope::Plane), "{ policy = \"greedy\" }, { policy = \"d_choices\", d = 2 }");
        design.gc.page_sequence = true;
        design
    }

    fn device() -> Device {
        let mut device = tiny_device();
        device.state.overwrite_percent = 150;
        device.geometry.blocks_per_plane = 11;
        device
    }

    fn drive(verify: bool) -> TestDrive {
        untraced(&device(), design(), verify)
    }

    fn image() -> Vec<u8> {
        let mut aged = drive(false);
        aged.age(7, &[20, 21, 40], |_, _| true);
        let mut bytes = Vec::new();
        aged.save(&mut bytes).unwrap();
        bytes
    }

    /// A drive that is kept is found again by its recipe.
    #[test]
    fn drives_that_age_otherwise_have_other_recipes() {
        let recipe = |stop: Option<u32>| {
            let watermark = Watermark::new(40.0, 25.0);
            let mut design = design();
            design.gc_trigger = GcTriggerPolicy::Watermark(match stop {
                None => watermark,
                Some(pages) => watermark.stop_above(pages),
            });
            let mut device = device();
            (device.state.live_percent, device.state.free_percent) = (30, None);
            untraced(&device, design, false).recipe()
        };
        let recipes = [recipe(None), recipe(Some(2)), recipe(Some(3))];
        for (index, one) in recipes.iter().enumerate() {
            for (other_index, other) in recipes.iter().enumerate() {
                assert_eq!(one == other, index == other_index, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn a_recipe_names_the_victims_of_a_design_that_does_not_collect_greedily() {
        let recipe = |chain: &str| {
            let mut design = with_victims(plain_design(Scope::Plane), chain);
            let row = |section: &str| Row { section: section.into(), key: "d".into(), value: 2.into(), source: String::new() };
            design.rows = vec![row("victim"), row("order")];
            untraced(&device(), design, false).recipe().victims
        };
        assert_eq!(recipe("{ policy = \"greedy\" }"), Vec::<String>::new());
        assert_eq!(recipe("{ policy = \"d_choices\", d = 2 }"), ["d = 2"]);
    }

    #[test]
    fn a_policy_s_memory_may_be_as_long_as_is_allowed_and_no_longer() {
        let bytes = [3, 0, 0, 0, 7, 8, 9];
        assert_eq!(take_bytes(&mut &bytes[..], 3).ok(), Some(vec![7, 8, 9]));
        assert!(matches!(take_bytes(&mut &bytes[..], 2), Err(LoadError::Faulty(found)) if found.contains("3 bytes, more than 2")));
    }

    #[test]
    fn drives_that_aged_alike_have_one_digest_and_others_another() {
        let digest = |seed: u64| drive(false).age(seed, &[], |_, _| true).digest;
        assert_eq!(digest(7), digest(7));
        assert_ne!(digest(7), digest(8));
    }

    #[test]
    fn the_size_of_a_snapshot_is_known_before_it_is_made() {
        // Of a drive whose blocks are all erased, and so queued; its policies remember nothing, which takes 4 bytes.
        let drive = untraced(&device(), plain_design(Scope::Plane), false);
        let mut bytes = Vec::new();
        drive.snapshot(&mut bytes).unwrap();
        assert_eq!(bytes.len() as u64, drive.snapshot_bytes() + 4);
    }

    #[test]
    fn a_loaded_drive_is_the_one_that_was_saved() {
        let bytes = image();
        let mut source = &bytes[..];
        let mut loaded = drive(true);
        loaded.load(1, &Aged::default(), &mut source).unwrap();
        goes_on_like_an_aged_one(loaded, source);
    }

    #[test]
    fn a_restored_drive_is_the_one_that_the_snapshot_is_of() {
        let mut aged = drive(false);
        aged.age(7, &[20, 21, 40], |_, _| true);
        let mut bytes = Vec::new();
        aged.snapshot(&mut bytes).unwrap();
        let mut source = &bytes[..];
        let mut restored = drive(true);
        assert_eq!(restored.recipe(), aged.recipe());
        restored.restore(1, &Aged::default(), &mut source).unwrap();
        goes_on_like_an_aged_one(restored, source);
        assert!(drive(false).restore(1, &Aged::default(), &mut &bytes[..bytes.len() - 1]).is_err(), "bytes that are cut off");
    }

    fn goes_on_like_an_aged_one(mut loaded: TestDrive, source: &[u8]) {
        let mut aged = drive(true);
        aged.age(7, &[20, 21, 40], |_, _| true);
        assert!(source.is_empty());
        assert!(loaded.up.ftl.tables == aged.up.ftl.tables, "the tables differ");
        assert_eq!(
            loaded.up.up.up.up.policies.memories(),
            aged.up.up.up.up.policies.memories(),
            "what d_choices remembers is the image's, not the seed's"
        );
        // Both go on alike, and reads return what the oracle expects.
        let mut hashes = [&mut aged, &mut loaded].map(|drive| {
            drive.wake();
            for turn in 0..400u64 {
                let kind = if turn % 3 == 0 { crate::commands::CommandKind::Read } else { crate::commands::CommandKind::Write };
                let command = crate::commands::Command { kind, sector: turn * 37 % 150, sectors: 8, critical: false };
                drive.submit(turn * 3000, command).unwrap();
            }
            drive.advance(10_000_000);
            assert_eq!((drive.outstanding(), drive.mismatch(), drive.audit()), (0, None, Ok(())));
            drive.event_hash()
        });
        hashes.sort_unstable();
        assert_eq!(hashes[0], hashes[1]);
    }

    #[test]
    fn a_design_without_the_image_s_policies_starts_from_it_too() {
        let mut other = untraced(&device(), Design { victim: plain_design(Scope::Plane).victim, ..design() }, false);
        other.load(1, &Aged::default(), &mut &image()[..]).unwrap();
        other.audit().unwrap();
    }

    #[test]
    fn layouts_that_differ_say_in_what() {
        let here = Layout::of(&device(), &design());
        let mut device = device();
        device.geometry.blocks_per_plane = 12;
        let mut design = design();
        design.gc.reserve_blocks = 2;
        let differences = here.differences(&Layout::of(&device, &design));
        let keys: Vec<&str> = differences.iter().map(|(key, ..)| key.as_str()).collect();
        assert_eq!(
            keys,
            [
                "[geometry] `blocks_per_plane`",
                "logical pages, by [host] `capacity_gb` or `over_provisioning_percent`,",
                "[gc] `reserve_blocks`"
            ]
        );
        assert_eq!((differences[0].1.as_str(), differences[0].2.as_str()), ("11", "12"));
        assert!(here.differences(&here).is_empty());
    }

    /// A small number in the place of each four bytes: what refers to a block or a page then refers to another.
    #[test]
    fn another_block_or_page_anywhere_is_refused_or_leaves_the_tables_in_order() {
        let image = image();
        for at in 0..image.len() - 3 {
            for number in (0..12u32).chain([NONE]) {
                let mut bytes = image.clone();
                bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
                let mut drive = drive(true);
                if drive.load(1, &Aged::default(), &mut &bytes[..]).is_ok() {
                    goes_on_in_order(drive);
                }
            }
        }
    }

    fn goes_on_in_order(mut drive: TestDrive) {
        assert_eq!(drive.audit(), Ok(()));
        drive.wake();
        for turn in 0..60u64 {
            let command = crate::commands::Command {
                kind: crate::commands::CommandKind::Write,
                sector: turn * 40 % 150,
                sectors: 8,
                critical: false,
            };
            drive.submit(turn * 3000, command).unwrap();
        }
        drive.advance(10_000_000);
        assert_eq!(drive.audit(), Ok(()));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2 * ProptestConfig::default().cases) })]

        /// Bytes that no checksum guards: whatever they are, they are refused, or the tables are in order.
        #[test]
        fn changed_bytes_are_refused_or_leave_the_tables_in_order(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), cut in prop::option::of(any::<prop::sample::Index>())
        ) {
            let mut bytes = image();
            for (index, byte) in changes {
                *index.get_mut(&mut bytes) = byte;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            let mut drive = drive(true);
            if drive.load(1, &Aged::default(), &mut &bytes[..]).is_ok() {
                goes_on_in_order(drive);
            } else if cut.is_none() {
                // Whole images are refused with a reason.
                let refusal = drive_refusal(&bytes);
                prop_assert!(matches!(&refusal, LoadError::Faulty(what) if what.len() > 10) || refusal == LoadError::Source(Exhausted), "{refusal:?}");
            }
        }
    }

    fn drive_refusal(bytes: &[u8]) -> LoadError<Exhausted> {
        drive(false).load(1, &Aged::default(), &mut &bytes[..]).unwrap_err()
    }
}
