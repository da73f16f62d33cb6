//! The techniques that answer the policy interfaces.
//!
//! Each interface of [`crate::policy::interface`] has a list of techniques below. A technique's row gives the enum variant, its
//! name in design files and its entry in the documentation. To add a technique, write its file, add its row, and write a
//! design file that uses it; ARCHITECTURE.md walks through an example.

use crate::policy::prelude::*;
use crate::stripes::{Place as StripePlace, Stripes};

pub mod destage;
pub mod gc_gate;
pub mod gc_lock;
pub mod gc_trigger;
pub mod order;
pub mod outside;
pub mod page_choice;
pub mod pairing;
pub mod place;
pub mod read_plan;
pub mod scrub;
pub mod suspend;
pub mod victim;
pub mod wear_level;

/// What all techniques answer, whatever their interface asks.
pub trait Technique {
    /// Its name in design files.
    fn name(&self) -> &'static str;
    /// Checks the parameters against the device and prepares tables.
    ///
    /// # Errors
    /// Parameters that contradict each other or the device.
    fn prepare(&mut self, device: &Device) -> Result<(), ConfigError>;
    /// Adds what it needs of the rest of its design and lacks, and what it contradicts.
    fn check(&mut self, with: &Combination<'_>, faults: &mut Faults);
    /// Takes the run's seed.
    fn seed(&mut self, seed: u64);
    /// What it remembers and an image must hold.
    fn save(&self) -> Vec<u8>;
    /// Takes back what `save` gave.
    ///
    /// # Errors
    /// Bytes that it never gave.
    fn restore(&mut self, memory: &[u8]) -> Result<(), String>;
}

/// The enum of an interface's techniques, and the list of their names and descriptions. `in_files` are those of which a design may
/// name one from a file of its own.
macro_rules! techniques {
    ($(#[$enum_doc:meta])* in_files enum $($rest:tt)+) => {
        techniques! { @ [
            serde(rename = "custom", deserialize_with = "outside::from_file"),
            schemars(with = "outside::EntrySchema"),
        ] $(#[$enum_doc])* enum $($rest)+ }
    };
    ($(#[$enum_doc:meta])* enum $($rest:tt)+) => {
        techniques! { @ [serde(skip),] $(#[$enum_doc])* enum $($rest)+ }
    };
    (
        @ [$($custom:meta,)+]
        $(#[$enum_doc:meta])*
        enum $enum:ident for $trait:ident, $dispatch:ident { $( $(#[doc = $doc:literal])+ $tag:literal => $variant:ident($technique:ty), )+ }
    ) => {
        $(#[$enum_doc])*
        #[derive(Deserialize, JsonSchema)]
        #[schemars(tag = "policy")]
        pub enum $enum {
            $( $(#[doc = $doc])+ #[serde(rename = $tag)] $variant($technique), )+
            /// A policy from outside this crate.
            $(#[$custom])+
            Custom(Box<dyn $trait>),
        }

        crate::policy::interface::$dispatch! { $enum: $($variant)+ }

        impl $enum {
            /// Name and description of every technique of this interface.
            pub const TECHNIQUES: &'static [(&'static str, &'static str)] = &[ $( ($tag, concat!($($doc),+)), )+ ];

            /// The technique's name in design files.
            pub fn name(&self) -> &'static str {
                match self { $( Self::$variant(_) => $tag, )+ Self::Custom(_) => "custom" }
            }
        }

        impl Technique for $enum {
            fn name(&self) -> &'static str {
                self.name()
            }
            fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
                match self { $( Self::$variant(it) => it.prepare(device), )+ Self::Custom(it) => it.prepare(device) }
            }
            fn check(&mut self, with: &Combination<'_>, faults: &mut Faults) {
                match self { $( Self::$variant(it) => it.check(with, faults), )+ Self::Custom(it) => it.check(with, faults) }
            }
            fn seed(&mut self, seed: u64) {
                match self { $( Self::$variant(it) => it.seed(seed), )+ Self::Custom(it) => it.seed(seed) }
            }
            fn save(&self) -> Vec<u8> {
                match self { $( Self::$variant(it) => it.save(), )+ Self::Custom(it) => it.save() }
            }
            fn restore(&mut self, memory: &[u8]) -> Result<(), String> {
                match self { $( Self::$variant(it) => it.restore(memory), )+ Self::Custom(it) => it.restore(memory) }
            }
        }
    };
}

techniques! {
    /// Techniques that answer `place`.
    enum PlacePolicy for Place, dispatch_place {
        /// Static: logical pages go round channels, chips, dies and planes in a given order.
        "static" => Static(place::static_order::StaticOrder),
        /// Static dies: a page goes to the plane of its die that has the fewest to program.
        "superpage" => Superpage(place::superpage::Superpage),
        /// Dynamic: a page goes to an idle die without GC, or to the one with the shortest queue.
        "idle_die" => IdleDie(place::idle_die::IdleDie),
        /// Late-bound: a page waits until a die could program it; idle dies take turns.
        "next_idle" => NextIdle(place::next_idle::NextIdle),
        /// Static: stripes of consecutive logical pages and a rotated parity, each in one plane group.
        "rain" => Rain(place::rain::Rain),
    }
}

techniques! {
    /// Techniques that answer `gc_trigger`.
    in_files enum GcTriggerPolicy for GcTrigger, dispatch_gc_trigger {
        /// Soft and hard watermark of erased pages in each plane.
        "watermark" => Watermark(gc_trigger::watermark::Watermark),
        /// Background and emergency threshold of erased blocks in each chip.
        "background_emergency" => BackgroundEmergency(gc_trigger::background_emergency::BackgroundEmergency),
        /// GC never starts; running out of space is an error.
        "never" => Never(gc_trigger::never::Never),
    }
}

techniques! {
    /// Techniques that answer `gc_gate`.
    in_files enum GcGatePolicy for GcGate, dispatch_gc_gate {
        /// Always, or only while no host operation waits for or uses the channel.
        "free" => Free(gc_gate::free::Free),
        /// At most one GC in each die, that of the plane with the fewest erased pages.
        "one_per_die" => OnePerDie(gc_gate::one_per_die::OnePerDie),
        /// At most one GC in each plane group; strictly, or until a plane is urgent.
        "rotating" => Rotating(gc_gate::rotating::Rotating),
    }
}

techniques! {
    /// Techniques that answer `gc_lock`.
    enum GcLockPolicy for GcLock, dispatch_gc_lock {
        /// Controller, channel, die or plane, from the first page to the last.
        "blocking" => Blocking(gc_lock::blocking::Blocking),
        /// As blocking, but given up after every page until the plane is urgent.
        "preemptible" => Preemptible(gc_lock::preemptible::Preemptible),
        /// Nothing: one flash operation at a time, each chosen when it starts.
        "nothing" => Nothing(gc_lock::nothing::Nothing),
    }
}

techniques! {
    /// Techniques that answer `victim`.
    in_files enum VictimPolicy for Victim, dispatch_victim {
        /// The fewest valid pages.
        "greedy" => Greedy(victim::greedy::Greedy),
        /// The block that closed longest ago.
        "fifo" => Fifo(victim::fifo::Fifo),
        /// The fewest valid pages among a few random blocks.
        "d_choices" => DChoices(victim::d_choices::DChoices),
        /// The greatest age x (1 - u) / 2u.
        "cost_benefit" => CostBenefit(victim::cost_benefit::CostBenefit),
        /// The fewest erases.
        "least_worn" => LeastWorn(victim::least_worn::LeastWorn),
        /// The most pages at offsets at which reads wait in sibling planes.
        "queue_match" => QueueMatch(victim::queue_match::QueueMatch),
    }
}

techniques! {
    /// Techniques that answer `order`.
    in_files enum OrderPolicy for Order, dispatch_order {
        /// The one that has waited longest.
        "fifo" => Fifo(order::fifo::Fifo),
        /// Reads before everything else at a die; the channel serves programs last, reads of the host first or commands first.
        "read_first" => ReadFirst(order::read_first::ReadFirst),
        /// GC before everything else at a die; then reads, then programs.
        "gc_first" => GcFirst(order::gc_first::GcFirst),
        /// Urgent GC, then the host, then GC and flushes in the background.
        "emergency_external_background" => EmergencyExternalBackground(order::emergency_external_background::EmergencyExternalBackground),
        /// GC while it does not make a request miss its deadline, otherwise reads first.
        "deadline_slack" => DeadlineSlack(order::deadline_slack::DeadlineSlack),
        /// As `emergency_external_background`, and under load GC gets the share of time in which it frees what the host writes.
        "rate_match" => RateMatch(order::rate_match::RateMatch),
    }
}

techniques! {
    /// Techniques that answer `page_choice`.
    enum PageChoicePolicy for PageChoice, dispatch_page_choice {
        /// Any page, in turns.
        "any" => Any(page_choice::any::Any),
        /// Fast pages for the host, and write points that idle time returns to fast pages.
        "return_to_fast" => ReturnToFast(page_choice::return_to_fast::ReturnToFast),
        /// Fast pages for GC and slow ones for the host, or the other way round.
        "by_writer" => ByWriter(page_choice::by_writer::ByWriter),
        /// As `by_writer`, in the mode that suits the locality of what was written lately.
        "by_locality" => ByLocality(page_choice::by_locality::ByLocality),
        /// As `return_to_fast` in idle time and when a burst begins, and step by step as `by_locality` when it goes on.
        "dynamic" => Dynamic(page_choice::dynamic::Dynamic),
        /// As `return_to_fast` in bursts and as `by_locality` under sustained load, as the operating system signals.
        "by_workload_mode" => ByWorkloadMode(page_choice::by_workload_mode::ByWorkloadMode),
    }
}

techniques! {
    /// Techniques that answer `pairing`.
    enum PairingPolicy for Pairing, dispatch_pairing {
        /// No pairing.
        "none" => Nothing(pairing::none::Nothing),
        /// Operations of the same kind and cause at the same page offset of sibling planes.
        "same_offset" => SameOffset(pairing::same_offset::SameOffset),
        /// As `same_offset`, and programs start on all planes of a die or not at all.
        "superpage" => SuperpagePrograms(pairing::superpage::SuperpagePrograms),
        /// As `same_offset`, and the host's operations are paired with those of GC in sibling planes.
        "gc_par" => GcPar(pairing::gc_par::GcPar),
    }
}

techniques! {
    /// Techniques that answer `suspend`.
    in_files enum SuspendPolicy for Suspend, dispatch_suspend {
        /// Erases and programs run to their end.
        "never" => Never(suspend::never::Never),
        /// Erases make way: at once, at the end of the current step, or one until a timeout and then the other.
        "erase_suspension" => EraseSuspension(suspend::erase_suspension::EraseSuspension),
    }
}

techniques! {
    /// Techniques that answer `read_plan`.
    in_files enum ReadPlanPolicy for ReadPlan, dispatch_read_plan {
        /// Every read waits for its page.
        "direct" => Direct(read_plan::direct::Direct),
        /// A read behind a GC is reconstructed from its stripe, if that is faster by the paper's or another rule.
        "gc_tolerant" => GcTolerant(read_plan::gc_tolerant::GcTolerant),
    }
}

techniques! {
    /// Techniques that answer `destage`.
    enum DestagePolicy for Destage, dispatch_destage {
        /// What was written longest ago.
        "lru" => Lru(destage::lru::Lru),
        /// Full stripes before partial ones, stripes away from GCs before those that meet one.
        "gc_tolerant" => GcTolerant(destage::gc_tolerant::GcTolerant),
    }
}

techniques! {
    /// Techniques that answer `scrub`.
    enum ScrubPolicy for Scrub, dispatch_scrub {
        /// Nothing is scrubbed.
        "never" => Never(scrub::never::Never),
        /// Copied pages are read while their die is idle; those with many errors are written anew.
        "idle" => Idle(scrub::idle::Idle),
    }
}

techniques! {
    /// Techniques that answer `wear_level`.
    enum WearLevelPolicy for WearLevel, dispatch_wear_level {
        /// Every stripe stays where it is.
        "never" => Never(wear_level::never::Never),
        /// Written stripes move to less worn planes: to another group, or round the channels of theirs.
        "imbalance" => Imbalance(wear_level::imbalance::Imbalance),
    }
}
