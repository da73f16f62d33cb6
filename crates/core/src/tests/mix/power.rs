//! Random designs whose power fails again and again.

use super::*;
use crate::crash::power::Recovery;
use proptest::strategy::ValueTree;

/// What random losses of power have met.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Cuts {
    recoveries: Vec<Recovery>,
    /// Losses while a stripe moved, while stripes had their parity in RAM, and while something was suspended.
    moving: usize,
    on_their_way: usize,
    suspended: usize,
}

impl Mix {
    /// Its design, half of the time with watermarks as low as they may be, so that GC opens reserves.
    fn tight_design(&self) -> Design {
        use crate::techniques::gc_trigger::watermark::Watermark;
        let mut design = self.design();
        if (self.seed >> 20).is_multiple_of(2) && design.gc_trigger.name() == "watermark" && self.late_bound().is_none() && !self.in_die() {
            let least =
                f64::from(design.gc.reserve_blocks + design.gc.write_points) * 100.0 / f64::from(self.device().geometry.blocks_per_plane);
            design.gc_trigger = GcTriggerPolicy::Watermark(Watermark::new(least + 1.0, least));
        }
        design
    }

    /// Runs a random open-loop mix in which the power fails after random events. After each recovery every page is read back from
    /// flash and RAM, and at the end by requests. Returns the event hash and the recoveries.
    pub(super) fn run_with_cuts(&self, requests: u32) -> (u64, Cuts) {
        let device = self.device();
        // A stripe whose data go before its parity does not survive.
        let design = Self { joined: self.joined & !64, ..self.clone() }.tight_design();
        let mut drive: TestDrive = Drive::new(&device, design, true, Recorder::of(&device)).unwrap();
        let mut random = rand_pcg::Pcg64Mcg::new(u128::from(self.seed) | 1 << 81);
        drive.flash.free_for_test(self.free);
        drive.age(self.seed, &[], |_, _| true);
        drive.prepare_for_power_cuts();
        drive.wake();
        let mut cuts = Cuts::default();
        let mut now = 0;
        for _ in 0..requests {
            now += if random.next_u32().is_multiple_of(2) { 0 } else { u64::from(random.next_u32() % 2400) };
            let command = self.command(&device, &mut random);
            drive.advance(now);
            drive.submit_to(random.next_u32() % 5, now, command).unwrap();
            if random.next_u32().is_multiple_of(12) {
                for _ in 0..random.next_u32() % 40 {
                    drive.step();
                }
                let outstanding = drive.outstanding() as u64;
                let state = &drive.up.up;
                cuts.moving += usize::from(state.raid.levelling.is_moving());
                cuts.on_their_way += usize::from(state.raid.rain.as_ref().is_some_and(|rain| rain.any_computed_for_test()));
                cuts.suspended += usize::from((0..drive.flash.device.geometry.dies()).any(|die| drive.flash.die(die).is_suspended()));
                let recovery = drive.cut_power().unwrap();
                assert_eq!(drive.mismatch(), None, "{recovery:?}");
                let read_back = recovery.read_back.clone().expect("there is an oracle");
                assert_eq!((read_back.lost, read_back.stale, read_back.pages), (0, 0, device.logical_pages()));
                assert_eq!((recovery.requests_lost, drive.outstanding()), (outstanding, 0));
                assert_eq!(drive.now(), recovery.at + recovery.total_ns());
                drive.audit().unwrap();
                cuts.recoveries.push(recovery);
                now = now.max(drive.now());
            }
        }
        let mut left = 300_000;
        while drive.step() {
            left -= 1;
            assert!(left > 0, "a drive without requests becomes idle: {}", drive.explain_standstill());
        }
        assert_eq!(drive.outstanding(), 0, "{}", drive.explain_standstill());
        let before = drive.observer().completed.len();
        for lpn in 0..device.logical_pages() as Lpn {
            drive.submit(now, read(lpn)).unwrap();
        }
        while drive.outstanding() > 0 {
            assert!(drive.step(), "{}", drive.explain_standstill());
        }
        assert_eq!(drive.observer().completed.len() - before, device.logical_pages() as usize);
        assert_eq!(drive.mismatch(), None);
        drive.audit().unwrap();
        (drive.event_hash(), cuts)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4 * ProptestConfig::default().cases))]
    #[test]
    fn any_mix_survives_losses_of_power(mix in mix()) {
        let (hash, cuts) = mix.run_with_cuts(150);
        let (again, as_well) = mix.run_with_cuts(150);
        prop_assert_eq!((hash, cuts), (again, as_well), "a seed repeats a run");
    }

    #[test]
    fn any_mix_with_stripes_survives_losses_of_power(mut mix in mix(), stripes in stripes()) {
        mix.rain = Some(stripes);
        mix.run_with_cuts(150);
    }

    #[test]
    fn any_mix_whose_gc_fills_programs_of_its_die_survives_losses_of_power(mut mix in mix()) {
        mix.fill_programs_of_die();
        mix.run_with_cuts(150);
    }
}

/// The random losses of power meet everything that recovery has to deal with.
#[test]
fn random_losses_of_power_meet_every_kind_of_work() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut draw = |stripes: bool| {
        let mut mix = mix().new_tree(&mut runner).unwrap().current();
        if stripes {
            (mix.rain, mix.levels_wear) = (Some(super::stripes().new_tree(&mut runner).unwrap().current()), true);
        }
        mix.run_with_cuts(150).1
    };
    let all: Vec<Cuts> = (0..120).map(|index| draw(index % 2 == 0)).collect();
    let sum = |of: fn(&Cuts) -> usize| all.iter().map(of).sum::<usize>();
    let of_recoveries = |of: fn(&Recovery) -> u64| all.iter().flat_map(|cuts| &cuts.recoveries).map(of).sum::<u64>();
    assert!(sum(|cuts| cuts.moving) > 0, "a stripe moved");
    assert!(sum(|cuts| cuts.on_their_way) > 0, "stripes were on their way");
    assert!(sum(|cuts| cuts.suspended) > 0, "something was suspended");
    let (torn_pages, torn_blocks) = (of_recoveries(|of| of.torn_pages), of_recoveries(|of| of.torn_blocks));
    assert!(torn_pages > 0 && torn_blocks > 0, "programs and erases were cut off");
    assert!(of_recoveries(|of| of.ram_pages) > 0 && of_recoveries(|of| of.requests_lost) > 0);
}
