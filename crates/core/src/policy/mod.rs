//! Decisions. A policy is asked about the drive's state, answers, and never touches it.
//!
//! Each seam is one `seam!` list below: the question as a trait, and one row for each technique. The row gives the enum
//! variant, its name in design files and its entry in the documentation. To add a technique, write its file, add its row,
//! and write a design file that uses it; ARCHITECTURE.md walks through an example.

use crate::config::{ConfigError, Values, values};
use crate::device::Device;
use crate::ftl::rain::{Place as StripePlace, Stripes};
pub use crate::ftl::write_points::Rest;
use crate::ids::{BlockIx, DieIx, Lpn, PlaneIx};
use crate::units::Ns;
use crate::view::{BlockedRead, Candidate, Spot, Unplaced, View, Waiting, WrittenStripe};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

pub mod align;
pub mod flush_plan;
pub mod gc_gate;
pub mod gc_hold;
pub mod gc_trigger;
pub mod join;
pub mod order;
pub mod page_choice;
pub mod place;
pub mod read_plan;
pub mod scrub;
pub mod suspend;
pub mod victim;
pub mod wear_level;

/// A method of a seam's trait, with what most techniques answer if the seam says so.
macro_rules! question {
    ([$($signature:tt)*]) => { $($signature)*; };
    ([$($signature:tt)*] $usual:expr) => { $($signature)* { $usual } };
}

/// Declares a seam: its question, and the techniques that answer it. What most techniques of a seam answer stands behind a
/// question as `[else ...]`, and only the others say something else.
macro_rules! seam {
    (
        $(#[$trait_doc:meta])*
        trait $trait:ident {
            $( $(#[$method_doc:meta])* fn $method:ident(&mut self $(, $arg:ident: $type:ty)* $(,)?) $(-> $answer:ty)? $([else $usual:expr])?; )+
        }
        $(#[$enum_doc:meta])*
        enum $enum:ident in $section:literal $techniques:tt
    ) => {
        $(#[$trait_doc])*
        pub trait $trait: Send {
            /// Checks the parameters against the device and prepares tables.
            ///
            /// # Errors
            /// Parameters that contradict each other or the device.
            fn prepare(&mut self, _device: &Device) -> Result<(), ConfigError> {
                Ok(())
            }
            /// Hears the run's seed, before ageing. For techniques that draw random numbers.
            fn seed(&mut self, _seed: u64) {}
            /// What the technique remembers and an image must hold; nothing for most.
            fn save(&self) -> Vec<u8> {
                Vec::new()
            }
            /// Takes back what `save` gave.
            ///
            /// # Errors
            /// Bytes that it never gave.
            fn restore(&mut self, _state: &[u8]) -> Result<(), String> {
                Err("this technique remembers nothing".into())
            }
            $( question! { [$(#[$method_doc])* fn $method(&mut self $(, $arg: $type)*) $(-> $answer)?] $($usual)? } )+
        }

        techniques! { $(#[$enum_doc])* $trait $enum $section $techniques }

        impl $trait for $enum {
            fn prepare(&mut self, device: &Device) -> Result<(), ConfigError> {
                ask!(self, $techniques, prepare(device))
            }
            fn seed(&mut self, seed: u64) {
                ask!(self, $techniques, seed(seed))
            }
            fn save(&self) -> Vec<u8> {
                ask!(self, $techniques, save())
            }
            fn restore(&mut self, state: &[u8]) -> Result<(), String> {
                ask!(self, $techniques, restore(state))
            }
            $( #[inline] fn $method(&mut self $(, $arg: $type)*) $(-> $answer)? {
                ask!(self, $techniques, $method($($arg),*))
            } )+
        }
    };
}

/// The name of a technique that a table chooses, and its parameters.
fn chosen<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(String, Values), D::Error> {
    let mut table = match toml::Value::deserialize(deserializer)? {
        toml::Value::Table(table) => table,
        other => return Err(D::Error::custom(format!("invalid type: {}, expected a tagged enum", other.type_str()))),
    };
    match table.remove("policy") {
        Some(toml::Value::String(name)) => Ok((name, values(table))),
        Some(other) => Err(D::Error::custom(format!("invalid type: {}, expected the name of a policy", other.type_str()))),
        None => Err(D::Error::missing_field("policy")),
    }
}

/// The enum of a seam's techniques, and the list of their names and descriptions.
macro_rules! techniques {
    (
        $(#[$enum_doc:meta])* $trait:ident $enum:ident $section:literal
        { $( $(#[doc = $doc:literal])+ $tag:literal => $variant:ident($technique:ty), )+ }
    ) => {
        $(#[$enum_doc])*
        #[cfg_attr(test, derive(schemars::JsonSchema), schemars(tag = "policy"))]
        pub enum $enum {
            $( $(#[doc = $doc])+ #[cfg_attr(test, schemars(rename = $tag))] $variant($technique), )+
            /// A policy from outside this crate.
            #[cfg_attr(test, schemars(skip))]
            Custom(Box<dyn $trait>),
        }

        // As serde's tagged enums, at a fraction of their code: every technique reads the same kind of table.
        impl<'de> Deserialize<'de> for $enum {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let (name, parameters) = chosen(deserializer)?;
                let technique = match name.as_str() {
                    $( $tag => Deserialize::deserialize(parameters).map(Self::$variant), )+
                    _ => return Err(D::Error::unknown_variant(&name, &[ $($tag),+ ])),
                };
                technique.map_err(|error: toml::de::Error| D::Error::custom(error.message()))
            }
        }

        impl $enum {
            /// The section of a design file that chooses the technique.
            pub const SECTION: &'static str = $section;
            /// Name and description of every technique of this seam.
            pub const TECHNIQUES: &'static [(&'static str, &'static str)] = &[ $( ($tag, concat!($($doc),+)), )+ ];

            /// The technique's name in design files.
            pub fn name(&self) -> &'static str {
                match self { $( Self::$variant(_) => $tag, )+ Self::Custom(_) => "custom" }
            }
        }
    };
}

/// Puts a question to whichever technique a seam's enum holds.
macro_rules! ask {
    ($self:ident, { $( $(#[$doc:meta])+ $tag:literal => $variant:ident($technique:ty), )+ }, $method:ident $arguments:tt) => {
        match $self { $( Self::$variant(technique) => ask!(@ technique $method $arguments), )+ Self::Custom(technique) => ask!(@ technique $method $arguments) }
    };
    (@ $technique:ident $method:ident ($($argument:ident),*)) => { $technique.$method($($argument),*) };
}

/// Among which planes the place of a page is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// None: a logical page always goes to the same plane.
    Plane,
    /// The planes of a die, which is always the same.
    Die,
    /// All planes of the drive.
    Drive,
}

/// Which of a plane's erased blocks is opened first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opens {
    /// The one that was erased first.
    ErasedFirst,
    /// The one that was erased least often; among equals, the one that was erased first.
    LeastWorn,
}

seam! {
    /// Where does a page go?
    trait Place {
        /// The plane of a logical page that is written. Asked when its program lines up.
        fn plane(&mut self, view: View<'_>, lpn: Lpn) -> PlaneIx;
        /// The plane of a page that the GC of `from` has read. Asked only where GC may move pages to other planes.
        fn gc_plane(&mut self, view: View<'_>, from: PlaneIx) -> PlaneIx;
        /// Among which planes it chooses for a logical page, and for one that a GC has read.
        fn reach(&mut self) -> Reach;
        /// The stripes that pages form with parity; nothing where pages stand alone. Asked once it is prepared.
        fn stripes(&mut self) -> Option<Stripes>;
        /// Which of the plane's write points takes a page now. Asked when the program is issued.
        fn write_point(&mut self, view: View<'_>, plane: PlaneIx, for_gc: bool) -> usize;
        /// Which of a plane's erased blocks is opened first. Asked when the drive starts to work.
        fn opens(&mut self) -> Opens;
        /// Whether a page has no place until a die could begin to program it. Then `choose` says where it goes, and `plane`,
        /// `gc_plane` and `write_point` are for ageing alone.
        fn late(&mut self) -> bool [else false];
        /// The place of a page that waits for one, among those that can take it now; nothing if it waits on. Asked when it begins
        /// to wait, and whenever a die could begin with it.
        fn choose(&mut self, _view: View<'_>, _page: &Unplaced) -> Option<Spot> [else None];
    }
    /// Techniques that answer `place`.
    enum PlacePolicy in "place" {
        /// Static: logical pages go round channels, chips, dies and planes in a given order.
        "static" => Static(place::static_order::StaticOrder),
        /// Static dies: a page goes to the plane of its die that has the fewest to program.
        "super_page" => SuperPage(place::super_page::SuperPage),
        /// Dynamic: a page goes to an idle die without GC, or to the one with the shortest queue.
        "idle_die" => IdleDie(place::idle_die::IdleDie),
        /// Late: a page waits until a die could program it; idle dies take turns.
        "next_idle" => NextIdle(place::next_idle::NextIdle),
        /// As `static`, and the erased block that was erased least often is opened first.
        "least_worn" => LeastWorn(place::least_worn::LeastWorn),
        /// Static: stripes of consecutive logical pages and a rotated parity, each in one plane group.
        "rain" => Rain(place::rain::Rain),
    }
}

/// How much a plane wants a GC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Want {
    /// Not at all.
    No,
    /// When it disturbs nobody.
    Soft,
    /// Urgently: the plane runs out of space.
    Hard,
}

seam! {
    /// Does a plane want a GC? Asked after every program and every erase in the plane.
    trait GcTrigger {
        /// How much.
        fn want(&mut self, view: View<'_>, plane: PlaneIx) -> Want;
        /// Whether the planes of a die want a GC together.
        fn by_die(&mut self) -> bool;
        /// The key and the number of erased pages below which a plane is urgent; nothing if GC never starts.
        fn urgent_below(&mut self) -> Option<(&'static str, u32)>;
        /// The erased blocks of a plane below which it wants a GC, and those below which it is urgent, if that is how it decides.
        fn thresholds(&mut self) -> Option<(u32, u32)> [else None];
    }
    /// Techniques that answer `gc_trigger`.
    enum GcTriggerPolicy in "gc_trigger" {
        /// Soft and hard watermark of erased pages in each plane.
        "watermark" => Watermark(gc_trigger::watermark::Watermark),
        /// Background and emergency threshold of erased blocks in each chip.
        "background_emergency" => BackgroundEmergency(gc_trigger::background_emergency::BackgroundEmergency),
        /// GC never starts; running out of space is an error.
        "never" => Never(gc_trigger::never::Never),
    }
}

/// Whether a GC that is wanted may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It may.
    Open,
    /// Not now; ask again when the channel falls quiet or a GC ends.
    Shut,
    /// Not now; ask again at this time as well.
    ShutUntil(Ns),
}

seam! {
    /// May a plane's GC start now? Urgent GCs pass every gate that is not strict.
    trait GcGate {
        /// The answer for a plane that wants a GC as much as `want` says.
        fn may_start(&mut self, view: View<'_>, plane: PlaneIx, want: Want) -> Gate;
        /// Whether even an urgent GC must wait; writes then stall.
        fn strict(&mut self) -> bool;
        /// Whether it lets only one plane of a die collect at a time.
        fn alone_in_die(&mut self) -> bool;
        /// Whether it has a meaning only where pages form stripes.
        fn needs_stripes(&mut self) -> bool;
    }
    /// Techniques that answer `gc_gate`.
    enum GcGatePolicy in "gc_gate" {
        /// Always.
        "free" => Free(gc_gate::free::Free),
        /// Only while no host operation waits for or uses the channel.
        "quiet_channel" => QuietChannel(gc_gate::quiet_channel::QuietChannel),
        /// At most one GC in each die, that of the plane with the fewest erased pages.
        "one_per_die" => OnePerDie(gc_gate::one_per_die::OnePerDie),
        /// At most one GC in each plane group; strictly, or until a plane is urgent.
        "rotating" => Rotating(gc_gate::rotating::Rotating),
    }
}

/// What a GC blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The plane.
    Plane,
    /// The die: the plane and its siblings.
    Die,
    /// The die and its channel.
    Channel,
    /// The whole drive.
    Controller,
}

/// What a GC holds, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldPlan {
    /// What is held while pages are moved. During the erase only die or plane stay held.
    pub scope: Scope,
    /// Give everything up after each page and compete for it again.
    pub release_each_page: bool,
}

seam! {
    /// What does a GC hold, and when does it yield? Asked at its start and after each page.
    trait GcHold {
        /// The answer for a plane; `urgent` below the hard watermark.
        fn hold(&mut self, view: View<'_>, plane: PlaneIx, urgent: bool) -> HoldPlan;
        /// The widest scope that it ever holds.
        fn widest(&mut self) -> Scope;
        /// Whether GC is no job that holds anything, but one flash operation at a time.
        fn nothing(&mut self) -> bool [else false];
    }
    /// Techniques that answer `gc_hold`.
    enum GcHoldPolicy in "gc_hold" {
        /// Controller, channel, die or plane, from the first page to the last.
        "blocking" => Blocking(gc_hold::blocking::Blocking),
        /// As blocking, but given up after every page until the plane is urgent.
        "preemptible" => Preemptible(gc_hold::preemptible::Preemptible),
        /// Nothing: one flash operation at a time, each chosen when it starts.
        "nothing" => Nothing(gc_hold::nothing::Nothing),
    }
}

seam! {
    /// Which block is collected? Policies of the chain narrow the candidates one after another; the lowest index of what
    /// is left wins.
    trait Victim {
        /// Removes all but the best candidates. `candidates` is never empty and must not become so.
        fn narrow(&mut self, view: View<'_>, plane: PlaneIx, candidates: &mut Vec<BlockIx>);
        /// Finds the best candidates of a whole plane, for the head of the chain; leaves `found` empty when there are none.
        /// `first_only`: nobody narrows them, and the one with the lowest index is enough.
        fn search(&mut self, view: View<'_>, plane: PlaneIx, first_only: bool, found: &mut Vec<BlockIx>);
        /// Whether it has a meaning only where the host's operations join those of GCs.
        fn needs_partners(&mut self) -> bool [else false];
    }
    /// Techniques that answer `victim`.
    enum VictimPolicy in "victim" {
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

seam! {
    /// Which waiting operation starts next? Asked only when there is a choice.
    trait Order {
        /// The index of the operation that a free die starts.
        fn at_die(&mut self, view: View<'_>, candidates: &[Candidate]) -> usize;
        /// The index of the operation that a free channel serves. Candidates stand in the order in which they began to wait.
        fn at_channel(&mut self, view: View<'_>, candidates: &[Candidate]) -> usize;
        /// The time from a request's arrival to its deadline, if it has one. Those that take longer are counted.
        fn deadline_ns(&mut self) -> Option<Ns> [else None];
        /// Whether it needs to know what dies did for the host and for GC.
        fn measures(&mut self) -> bool [else false];
        /// Whether it looks at the pool of erased blocks, which is known only where pages are placed late.
        fn looks_at_pool(&mut self) -> bool [else false];
    }
    /// Techniques that answer `order`.
    enum OrderPolicy in "order" {
        /// The one that has waited longest.
        "fifo" => Fifo(order::fifo::Fifo),
        /// Reads before everything else at a die; the channel serves in order of arrival.
        "read_first" => ReadFirst(order::read_first::ReadFirst),
        /// Reads of the host first, at dies and channels; otherwise as `read_first`.
        "user_reads_first" => UserReadsFirst(order::user_reads_first::UserReadsFirst),
        /// GC before everything else at a die; then reads, then programs.
        "gc_first" => GcFirst(order::gc_first::GcFirst),
        /// Commands before data at a channel; otherwise as `read_first`.
        "commands_first" => CommandsFirst(order::commands_first::CommandsFirst),
        /// Urgent GC, then the host, then GC and flushes in the background.
        "emergency_external_background" => EmergencyExternalBackground(order::emergency_external_background::EmergencyExternalBackground),
        /// GC while it does not make a request miss its deadline, otherwise reads first.
        "deadline_slack" => DeadlineSlack(order::deadline_slack::DeadlineSlack),
        /// As `emergency_external_background`, and under load GC gets the share of time in which it frees what the host writes.
        "rate_match" => RateMatch(order::rate_match::RateMatch),
    }
}

/// Who writes a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The host, directly or from the buffer.
    Host,
    /// GC.
    Gc,
}

/// Which page a write would like best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Any.
    Any,
    /// One of the fastest class that a write point offers; rather another than to wait.
    Fast,
    /// One of the slowest class that a write point offers; rather another than to wait.
    Slow,
    /// One that brings a write point nearer to its rest. It waits for such a page while there is one, be it on a busy die.
    Restless(Rest),
}

seam! {
    /// Which pages of the write points do writes get, and where are write points at rest? Asked where pages have no place until
    /// they are programmed, and else of the write points of each page's plane.
    trait PageChoice {
        /// What a write would like best, asked whenever it might get its place. `urgent`: of a GC that its plane needs urgently; where
        /// planes are fixed, also of one whose die writes wait for, and of a write to a plane that a GC works in.
        /// Writes of the host that are critical have a fast page without being asked about.
        fn wish(&mut self, view: View<'_>, writer: Writer, urgent: bool) -> Wish;
        /// Where idle time leaves the write points, by moving pages beyond what GC needs; nothing if it does no such thing.
        fn rest(&mut self) -> Option<Rest> [else None];
        /// Whether it is worth asking at all; then pages are placed late, or their planes have several write points.
        fn active(&mut self) -> bool [else true];
        /// Whether it needs to know what dies did for the host and for GC.
        fn measures(&mut self) -> bool [else false];
        /// Whether it looks at the pool of erased blocks, which is known only where pages are placed late.
        fn looks_at_pool(&mut self) -> bool [else false];
    }
    /// Techniques that answer `page_choice`.
    enum PageChoicePolicy in "page_choice" {
        /// Any page, in turns.
        "any" => Any(page_choice::any::Any),
        /// Fast pages for the host, and write points that idle time returns to fast pages.
        "return_to_fast" => ReturnToFast(page_choice::return_to_fast::ReturnToFast),
        /// Fast pages for GC, slow ones for the host.
        "fast_gc" => FastGc(page_choice::fast_gc::FastGc),
        /// Slow pages for GC, fast ones for the host.
        "slow_gc" => SlowGc(page_choice::slow_gc::SlowGc),
        /// As `fast_gc` or `slow_gc`, whichever suits the locality of what was written lately.
        "by_locality" => ByLocality(page_choice::by_locality::ByLocality),
        /// As `return_to_fast` in idle time and when a burst begins, and step by step as `by_locality` when it goes on.
        "dynamic" => Dynamic(page_choice::dynamic::Dynamic),
    }
}

seam! {
    /// Which waiting operations join one that starts, in one multi-plane command?
    trait Join {
        /// Marks partners of `lead` among `waiting`, at most one for each plane, none of the lead's own plane.
        fn partners(&mut self, view: View<'_>, lead: &Waiting, waiting: &[Waiting], join: &mut [bool]);
        /// Whether it is worth asking at all.
        fn active(&mut self) -> bool;
        /// For how long a program of the host's waits until every plane of its die has one; nothing if it starts alone.
        fn gather_ns(&mut self) -> Option<Ns>;
        /// For how long a program of GC's waits likewise.
        fn gc_gather_ns(&mut self) -> Ns [else 0];
        /// Whether the programs of GCs wait for each other as well.
        fn gathers_gc(&mut self) -> bool;
        /// Whether operations of the host may join those of GCs. Then it is asked about reads of GCs too.
        fn joins_gc(&mut self) -> bool [else false];
    }
    /// Techniques that answer `join`.
    enum JoinPolicy in "join" {
        /// Nothing joins.
        "none" => Nothing(join::none::Nothing),
        /// Operations of the same kind and cause at the same page offset of sibling planes.
        "same_offset" => SameOffset(join::same_offset::SameOffset),
        /// As `same_offset`, and programs start on all planes of a die or not at all.
        "strict_all_planes" => StrictAllPlanes(join::strict_all_planes::StrictAllPlanes),
        /// As `same_offset`, and the host's operations join those of GCs in sibling planes.
        "gc_par" => GcPar(join::gc_par::GcPar),
    }
}

seam! {
    /// At which of their open blocks do the planes of a die program, so that their programs come to one page offset?
    trait Align {
        /// The write point that takes the pages which GC moves into a plane. Asked when a GC begins, for all its pages, and for
        /// each page that the GC of another plane sends.
        fn gc_point(&mut self, view: View<'_>, plane: PlaneIx) -> usize;
        /// The write point of a program of the host's that starts in a plane.
        fn host_point(&mut self, view: View<'_>, plane: PlaneIx) -> usize;
        /// The write point at which a program of the host's joins one that starts at `offset` in another plane, of GC if
        /// `for_gc`. If it is not there yet, the pages up to `offset` are skipped. Nothing if it should not join.
        fn partner_point(&mut self, view: View<'_>, plane: PlaneIx, offset: u32, for_gc: bool) -> Option<usize>;
        /// Whether it is worth asking at all; otherwise `place` chooses the write points.
        fn active(&mut self) -> bool;
    }
    /// Techniques that answer `align`.
    enum AlignPolicy in "align" {
        /// `place` chooses the write points.
        "never" => Never(align::never::Never),
        /// Two open blocks for each plane, of which GC takes the one that is level with its siblings.
        "active_blocks" => ActiveBlocks(align::active_blocks::ActiveBlocks),
    }
}

/// What becomes of a pulse that is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// It goes on later from exactly where it was cut.
    Progress,
    /// Only completed steps are kept; the current one starts anew.
    Steps,
    /// As `Progress`, and neither cutting nor going on takes any time.
    ProgressForFree,
}

/// Which reads are served before the suspended work goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serve {
    /// All, until none waits.
    UntilNoneWaits,
    /// Those that had arrived when the work was cut.
    Arrived,
    /// All that arrive up to a time, until none of them waits.
    ArrivedBy(Ns),
}

/// Whether, when and how a running erase or program makes way for a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspension {
    /// It does not.
    No,
    /// At once, after the device's suspend time.
    Now(Keep, Serve),
    /// At the end of the current step.
    AtBoundary(Serve),
    /// Not yet; ask again at this time if the read still waits.
    AskAt(Ns),
}

seam! {
    /// Does the running erase or program of a die make way for a host read that waits for it?
    trait Suspend {
        /// The answer for a die.
        fn suspend(&mut self, view: View<'_>, die: DieIx) -> Suspension;
        /// Whether it is worth asking at all.
        fn active(&mut self) -> bool;
    }
    /// Techniques that answer `suspend`.
    enum SuspendPolicy in "suspend" {
        /// Erases and programs run to their end.
        "never" => Never(suspend::never::Never),
        /// Erases are cut at once and go on from there.
        "es" => Es(suspend::es::Es),
        /// Erases are cut at once; the step that was cut starts anew.
        "i_es" => IEs(suspend::i_es::IEs),
        /// Erases are cut at the end of the current step.
        "d_es" => DEs(suspend::d_es::DEs),
        /// At once, until erases have been delayed for long enough; then at the end of the current step.
        "t_es" => TEs(suspend::t_es::TEs),
        /// As `es`, and it takes no time.
        "ideal" => Ideal(suspend::ideal::Ideal),
    }
}

/// How a read whose plane or channel a GC holds is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAnswer {
    /// Like any other: it waits, and nobody has decided so.
    Direct,
    /// It waits for the GC, by decision.
    Wait,
    /// From the other pages of its stripe.
    Reconstruct,
}

seam! {
    /// How is a read served that would wait for a GC, when the rest of its stripe can be read? Asked when the read arrives,
    /// and again for reads that wait when a GC begins to hold what they wait for.
    trait ReadPlan {
        /// The answer for a read.
        fn plan(&mut self, view: View<'_>, read: &BlockedRead<'_>) -> ReadAnswer;
        /// Whether it is worth asking at all; then pages must form stripes.
        fn active(&mut self) -> bool;
    }
    /// Techniques that answer `read_plan`.
    enum ReadPlanPolicy in "read_plan" {
        /// Every read waits for its page.
        "direct" => Direct(read_plan::direct::Direct),
        /// A read behind a GC is reconstructed from its stripe, if that is faster by the paper's or another rule.
        "gc_tolerant" => GcTolerant(read_plan::gc_tolerant::GcTolerant),
    }
}

seam! {
    /// Which stripe leaves the buffer next? Asked where pages form stripes, whenever something must leave.
    trait FlushPlan {
        /// A stripe with dirty pages of which none is on its way; nothing if none should leave now.
        fn next(&mut self, view: View<'_>) -> Option<u32>;
        /// Whether old pages are read around a GC, and new ones wait in RAM until the GC of their plane has ended.
        fn around_gc(&mut self) -> bool;
        /// Whether it has a meaning only where pages form stripes.
        fn needs_stripes(&mut self) -> bool;
    }
    /// Techniques that answer `flush_plan`.
    enum FlushPlanPolicy in "flush_plan" {
        /// What was written longest ago.
        "lru" => Lru(flush_plan::lru::Lru),
        /// Full stripes before partial ones, stripes away from GCs before those that meet one.
        "gc_tolerant" => GcTolerant(flush_plan::gc_tolerant::GcTolerant),
    }
}

seam! {
    /// Which pages does an idle die read, so that they pass the ECC, and which of them are written anew? Asked for blocks into
    /// which pages were copied back since they were last looked through.
    trait Scrub {
        /// Time from one page of a die to the next attempt; nothing if there is no scrubbing.
        fn pause_ns(&mut self) -> Option<Ns>;
        /// Consecutive copybacks from which on a page is read.
        fn least_copybacks(&mut self) -> u8;
        /// The index of the block of a die that is looked through next; never asked about none.
        fn next_block(&mut self, view: View<'_>, suspects: &[BlockIx]) -> usize;
        /// Whether a page is written anew whose worst codeword has so many wrong bits, all of which could be corrected.
        fn rewrite(&mut self, view: View<'_>, wrong_bits: u32, correctable: u32) -> bool;
    }
    /// Techniques that answer `scrub`.
    enum ScrubPolicy in "scrub" {
        /// Nothing is scrubbed.
        "never" => Never(scrub::never::Never),
        /// Copied pages are read while their die is idle; those with many errors are written anew.
        "idle" => Idle(scrub::idle::Idle),
    }
}

seam! {
    /// Does a stripe move to other planes, so that they wear more evenly? Asked where pages form stripes, for a stripe that has
    /// just been written, while no other moves and the pause since the last move began is over.
    trait WearLevel {
        /// Adds the places that it may move to, the best first; none if it stays. It moves to the first that has room.
        fn destinations(&mut self, view: View<'_>, written: &WrittenStripe, places: &mut Vec<StripePlace>);
        /// Time from the beginning of one move to that of the next.
        fn pause_ns(&mut self) -> Ns;
        /// Time from the beginning of a move after which what is left of it does not come behind everything else any more.
        fn patience_ns(&mut self) -> Ns;
        /// Whether it is worth asking at all; then pages must form stripes.
        fn active(&mut self) -> bool;
    }
    /// Techniques that answer `wear_level`.
    enum WearLevelPolicy in "wear_level" {
        /// Every stripe stays where it is.
        "never" => Never(wear_level::never::Never),
        /// Written stripes move to less worn planes: to another group, or round the channels of theirs.
        "imbalance" => Imbalance(wear_level::imbalance::Imbalance),
    }
}
