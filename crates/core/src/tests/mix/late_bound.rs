//! Random designs with late-bound allocation.

use super::*;
use crate::techniques::page_choice::by_writer::{ByWriter, Mode};

/// What a design does whose allocation is late-bound.
#[derive(Clone, Debug)]
pub(super) struct LateBoundMix {
    pub(super) write_points: u32,
    /// Which pages writes get, and whether write points park strongly.
    pub(super) choice: u8,
    pub(super) strong: bool,
    /// GC's pages stay in their planes.
    pub(super) confined: bool,
    /// Rate matching, with a hand-over or without.
    pub(super) rate_match: Option<bool>,
    pub(super) thresholds: bool,
    /// Critical writes in a hundred requests.
    pub(super) critical: u32,
}

pub(super) fn late_bound() -> impl Strategy<Value = LateBoundMix> {
    let critical = prop_oneof![Just(0u32), Just(30)];
    (1u32..4, 0u8..7, any::<bool>(), any::<bool>(), prop::option::of(any::<bool>()), any::<bool>(), critical).prop_map(
        |(write_points, choice, strong, confined, rate_match, thresholds, critical)| LateBoundMix {
            write_points,
            choice,
            strong,
            confined,
            rate_match,
            thresholds,
            critical,
        },
    )
}

impl LateBoundMix {
    /// Turns a design into one with late-bound allocation.
    pub(super) fn bind_late(&self, design: &mut Design, mix: &Mix) {
        use crate::techniques::gc_trigger::background_emergency::BackgroundEmergency;
        use crate::techniques::page_choice::by_locality::ByLocality;
        use crate::techniques::page_choice::dynamic::Dynamic;
        use crate::techniques::page_choice::return_to_fast::{ReturnToFast, Strength};
        design.place = PlacePolicy::NextIdle(crate::techniques::place::next_idle::NextIdle::default());
        design.gc_lock = GcLockPolicy::Nothing(crate::techniques::gc_lock::nothing::Nothing {});
        design.gc_gate = GcGatePolicy::Free(crate::techniques::gc_gate::free::Free::default());
        design.scrub = crate::techniques::ScrubPolicy::Never(crate::techniques::scrub::never::Never {});
        let destination = if self.confined { "plane" } else { "drive" };
        design.gc = toml::from_str(&format!(
            "destination = \"{destination}\"\ncopy = \"controller\"\nwrite_points = {}\npage_sequence = {}",
            self.write_points, mix.sequence
        ))
        .unwrap();
        if self.thresholds {
            let planes = mix.planes * mix.dies;
            design.gc_trigger =
                GcTriggerPolicy::BackgroundEmergency(BackgroundEmergency::new(5 * planes, 2 * planes).stop_above(mix.stop_above));
        } else {
            use crate::techniques::gc_trigger::watermark::Watermark;
            design.gc_trigger = GcTriggerPolicy::Watermark(Watermark::new(25.0, 12.5).stop_above(mix.stop_above));
        }
        if design.pairing.traits().assembly_ns.is_some() {
            design.pairing = PairingPolicy::SameOffset(SameOffset::default());
        }
        if let Some(hand_over) = self.rate_match {
            let window_ms = 1 + mix.seed % 2 * 499;
            design.order = OrderPolicy::RateMatch(crate::techniques::order::rate_match::RateMatch::new(window_ms, hand_over));
        }
        if self.rate_match.is_none() && mix.seed.is_multiple_of(3) {
            use crate::techniques::order::emergency_external_background::{Background, EmergencyExternalBackground, External};
            let background = if mix.seed.is_multiple_of(2) { Background::IdleDrive } else { Background::Never };
            let external = if (mix.seed / 6).is_multiple_of(2) { External::InOrder } else { External::PassedOver };
            design.order = OrderPolicy::EmergencyExternalBackground(EmergencyExternalBackground::new(background, external));
        }
        let parking = if self.strong { Strength::Strong } else { Strength::Weak };
        design.page_choice = match self.choice {
            0 => return,
            1 | 2 => PageChoicePolicy::ReturnToFast(ReturnToFast::new(parking)),
            3 => PageChoicePolicy::ByWriter(ByWriter::new(Mode::FastGc)),
            4 => PageChoicePolicy::ByWriter(ByWriter::new(Mode::SlowGc)),
            5 => PageChoicePolicy::ByLocality(ByLocality::new(4, 1, 20, 2)),
            6 if self.rate_match.is_some() && mix.wild & 8 == 0 && mix.seed.is_multiple_of(2) => {
                let parking = if self.strong { "strong" } else { "weak" };
                let choice = format!("switches_ms = [{}, 2, 5]\nburst.parking = \"{parking}\"", mix.seed / 2 % 2);
                PageChoicePolicy::ByWorkloadMode(toml::from_str(&choice).unwrap())
            }
            _ => PageChoicePolicy::Dynamic(Dynamic::new(parking, 4)),
        };
    }
}

impl PageChoice for Wild {
    fn preference(&mut self, _: View<'_>, _: Writer, _: bool) -> Preference {
        let preferences = [
            Preference::Any,
            Preference::Fast,
            Preference::Slow,
            Preference::Unparked(Parking::Fast),
            Preference::Unparked(Parking::FastPair),
        ];
        preferences[self.below(5) as usize]
    }

    fn parking(&mut self) -> Option<Parking> {
        // What a technique wants of idle time does not change.
        Some(Parking::FastPair)
    }
}
