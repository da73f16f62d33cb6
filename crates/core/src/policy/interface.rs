//! The policy interfaces: each is a question as a trait. The techniques that answer it stand in the lists of `techniques/mod.rs`.

use crate::device::Device;
use crate::flash::ask::{Candidate, Suspension, Waiting};
use crate::ids::{BlockGroup, BlockIx, DieIx, Lpn, PlaneIx, Pool};
use crate::policy::answers::{
    Aligned, AskedAgain, Gate, LockPlan, Opens, PairingTraits, Parking, Preference, Reach, ReadAnswer, Scope, Want, Writer,
};
use crate::policy::combination::Combination;
use crate::policy::thresholds::CycleLevels;
use crate::policy::view::{BlockedRead, Unplaced, View, WrittenStripe};
use crate::stripes::{Place as StripePlace, Stripes};
use crate::units::Ns;
use tinytail_config::{ConfigError, Faults};

/// A method of an interface, with what most techniques answer if the interface says so.
macro_rules! question {
    ([$($signature:tt)*]) => { $($signature)*; };
    ([$($signature:tt)*] $usual:expr) => { $($signature)* { $usual } };
}

/// Declares an interface, and a macro that puts its questions to the techniques of an enum. What most techniques answer stands
/// behind a question as `[else ...]`, and only the others say something else. Where a technique may do nothing, its answers stand
/// there.
macro_rules! interface {
    (
        $(#[$trait_doc:meta])*
        trait $trait:ident, $dispatch:ident {
            $( $(#[$method_doc:meta])* fn $method:ident(&mut self $(, $arg:ident: $type:ty)* $(,)?) $(-> $answer:ty)? $([else $usual:expr])?; )+
        }
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
            /// Adds what it needs of the rest of its design and lacks, and what it contradicts. Asked when every technique is prepared.
            fn check(&mut self, _with: &Combination<'_>, _faults: &mut Faults) {}
            /// Takes the run's seed, before ageing. For techniques that draw random numbers.
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

        interface! { @dispatch ($) $dispatch $( $(#[$method_doc])* fn $method(&mut self $(, $arg: $type)*) $(-> $answer)?; )+ }
    };
    (
        @dispatch ($d:tt) $dispatch:ident
        $( $(#[$method_doc:meta])* fn $method:ident(&mut self $(, $arg:ident: $type:ty)*) $(-> $answer:ty)?; )+
    ) => {
        macro_rules! $dispatch {
            ($d name:ident: $d($d variant:ident)+) => {
                impl $d name {
                    $( $(#[$method_doc])* #[inline] pub fn $method(&mut self $(, $arg: $type)*) $(-> $answer)? {
                        match self { $d( Self::$d variant(it) => it.$method($($arg),*), )+ Self::Custom(it) => it.$method($($arg),*) }
                    } )+
                }
            };
        }
        pub(crate) use $dispatch;
    };
}

interface! {
    /// Where does a page go?
    trait Place, dispatch_place {
        /// The plane of a logical page that is written. Asked when its program is enqueued.
        fn plane(&mut self, view: View<'_>, lpn: Lpn) -> PlaneIx;
        /// The plane of a page that the GC of `from` has read. Asked only where GC may move pages to other planes.
        fn gc_plane(&mut self, _view: View<'_>, from: PlaneIx) -> PlaneIx [else from];
        /// Among which planes it chooses for a logical page, and for one that a GC has read.
        fn reach(&mut self) -> Reach [else Reach::Plane];
        /// The stripes that pages form with parity; nothing where pages stand alone. Asked once it is prepared.
        fn stripes(&mut self) -> Option<Stripes> [else None];
        /// Which of a plane's erased blocks is opened first. Asked when the drive starts to work.
        fn opens(&mut self) -> Opens [else Opens::ErasedFirst];
        /// Whether a page has no place until a die could begin to program it. Then `choose` says where it goes, and `plane` and
        /// `gc_plane` are for ageing alone.
        fn late_bound(&mut self) -> bool [else false];
        /// The plane of a page that waits for a place, among those that can take it now; nothing if it waits on. Asked when it begins
        /// to wait, and whenever a die could begin with it.
        fn choose(&mut self, _view: View<'_>, _page: &Unplaced) -> Option<PlaneIx> [else None];
    }
}

interface! {
    /// Does a pool want a GC? Asked after every program and every erase in its planes.
    trait GcTrigger, dispatch_gc_trigger {
        /// How much. In a cycle of GC, which the view tells, it wants more until the space at which it stops is erased.
        fn want(&mut self, view: View<'_>, pool: Pool) -> Want;
        /// Whether the planes of a die want a GC together.
        fn by_die(&mut self) -> bool [else false];
        /// The key and the number of erased pages below which a plane is urgent; nothing if GC never starts.
        fn urgent_below(&mut self) -> Option<(&'static str, u32)>;
        /// The erased space below which it wants a GC at all, and that at which it wants no more once it had one; nothing if GC never
        /// starts. Asked once it is prepared.
        fn levels(&mut self) -> Option<CycleLevels> [else None];
        /// The erased blocks of a plane below which it wants a GC, and those below which it is urgent, if that is how it decides.
        fn thresholds(&mut self) -> Option<(u32, u32)> [else None];
    }
}

interface! {
    /// May a pool's GC start now? Urgent GCs pass every gate that is not strict.
    trait GcGate, dispatch_gc_gate {
        /// The answer for a pool that wants a GC as much as `want` says.
        fn may_start(&mut self, view: View<'_>, pool: Pool, want: Want) -> Gate;
        /// Whether even an urgent GC must wait; writes then stall.
        fn strict(&mut self, _view: View<'_>, _pool: Pool) -> bool [else false];
        /// Whether it lets only one pool of a die collect at a time.
        fn alone_in_die(&mut self) -> bool [else false];
        /// Whether it goes by what the host does on other channels than its own, so that it is asked again when any falls quiet.
        fn asks_of_group(&mut self) -> bool [else false];
        /// Whether GCs take turns, so that planes that wait run lower on erased pages than ageing leaves them.
        fn takes_turns(&mut self) -> bool [else false];
        /// Whether a GC that has moved its pages gives its lock up, and its erase waits for those of its die's other planes.
        fn joins_erases(&mut self) -> bool [else false];
    }
}

interface! {
    /// What does a GC lock, and when does it yield? Asked at its start and after each page.
    trait GcLock, dispatch_gc_lock {
        /// The answer for a pool that is `urgent`, below the hard watermark, or is not.
        fn lock(&mut self, view: View<'_>, pool: Pool, urgent: bool) -> LockPlan;
        /// The widest scope that it ever locks.
        fn widest(&mut self) -> Scope;
        /// Whether GC locks nothing and is one flash operation at a time.
        fn nothing(&mut self) -> bool [else false];
    }
}

interface! {
    /// Which block group is collected? Policies of the chain narrow the candidates one after another; the lowest number of what
    /// is left wins.
    trait Victim, dispatch_victim {
        /// Removes all but the best candidates. `candidates` is never empty and must not become so.
        fn narrow(&mut self, view: View<'_>, pool: Pool, candidates: &mut Vec<BlockGroup>);
        /// Finds the best candidates of a whole pool, for the head of the chain; leaves `found` empty when there are none.
        /// `first_only`: nobody narrows them, and the one with the lowest number is enough.
        fn search(&mut self, view: View<'_>, pool: Pool, first_only: bool, found: &mut Vec<BlockGroup>);
    }
}

interface! {
    /// Which waiting operation starts next? Asked only when there is a choice.
    trait Order, dispatch_order {
        /// The index of the operation that a free die starts.
        fn at_die(&mut self, view: View<'_>, candidates: &[Candidate]) -> usize;
        /// The index of the operation that a free channel serves. Candidates stand in the order in which they began to wait.
        fn at_channel(&mut self, view: View<'_>, candidates: &[Candidate]) -> usize;
        /// The time from a request's arrival to its deadline, if it has one. Those that take longer are counted.
        fn deadline_ns(&mut self) -> Option<Ns> [else None];
        /// Whether it needs to know what dies did for the host and for GC.
        fn measures(&mut self) -> bool [else false];
        /// Whether it ever holds GC back.
        fn may_hold_gc(&mut self) -> bool [else false];
        /// Whether GC that is not urgent begins nothing now, even at an idle die. Asked before each operation of a GC that locks
        /// nothing, and again whenever one of the host's has ended.
        fn holds_gc(&mut self, _view: View<'_>) -> bool [else false];
        /// Whether operations of the host begin in the order in which they came, so that one whose die is busy keeps those behind it
        /// from dies that are idle. Asked once; of designs whose pages have no place until a die could begin with them.
        fn host_in_order(&mut self) -> bool [else false];
    }
}

interface! {
    /// Which pages of the write points do writes get, and where are write points parked? Asked where pages have no place until
    /// they are programmed, and else of the write points of each page's plane.
    trait PageChoice, dispatch_page_choice {
        /// What a write prefers, asked whenever it might get its place. `urgent`: the write is of a GC that its plane needs
        /// urgently. Where planes are fixed, so is that of a GC whose die writes wait for, and a write to a plane in GC.
        /// Host writes that the host has marked as critical get a fast page without being asked about.
        fn preference(&mut self, _view: View<'_>, _writer: Writer, _urgent: bool) -> Preference [else Preference::Any];
        /// Where idle time leaves the write points, by moving pages beyond what GC needs; nothing if it does no such thing.
        fn parking(&mut self) -> Option<Parking> [else None];
        /// Whether it is worth asking at all; then allocation is late-bound, or planes have several write points.
        fn active(&mut self) -> bool [else true];
        /// Whether it needs to know what dies did for the host and for GC.
        fn measures(&mut self) -> bool [else false];
    }
}

interface! {
    /// Which waiting operations join one that starts, in one multi-plane command?
    trait Pairing, dispatch_pairing {
        /// Marks partners of `lead` among `waiting`, at most one for each plane, none of the lead's own plane.
        fn partners(&mut self, _view: View<'_>, _lead: &Waiting, _waiting: &[Waiting], _paired: &mut [bool]) [else {}];
        /// What it makes programs do.
        fn traits(&mut self) -> PairingTraits [else PairingTraits::default()];
        /// The write point of a plane that takes a page; nothing if a program should not join another. Only where it aligns.
        fn point(&mut self, _view: View<'_>, _plane: PlaneIx, _page: Aligned) -> Option<usize> [else None];
    }
}

interface! {
    /// Does the running erase or program of a die make way for a host read that waits for it?
    trait Suspend, dispatch_suspend {
        /// The answer for a die.
        fn suspend(&mut self, _view: View<'_>, _die: DieIx) -> Suspension [else Suspension::No];
        /// Whether it is worth asking at all.
        fn active(&mut self) -> bool [else true];
        /// Whether programs, and the GCs of other planes, go on beside a suspended erase as reads do.
        fn serves_programs(&mut self) -> bool [else false];
        /// Whether it is asked about programs of several planes, too.
        fn cuts_multi_plane_programs(&mut self) -> bool [else false];
    }
}

interface! {
    /// How is a read served that would wait for a GC, when the rest of its stripe can be read? Asked when the read arrives,
    /// and again while it waits if the policy says so.
    trait ReadPlan, dispatch_read_plan {
        /// The answer for a read.
        fn plan(&mut self, _view: View<'_>, _read: &BlockedRead<'_>) -> ReadAnswer [else ReadAnswer::Direct];
        /// Whether it is worth asking at all; then pages must form stripes.
        fn active(&mut self) -> bool [else true];
        /// When it is asked again about a read that waits.
        fn asked_again(&mut self) -> AskedAgain [else AskedAgain::Starts];
    }
}

interface! {
    /// Which stripe is destaged next? Asked where pages form stripes, whenever something must leave.
    trait Destage, dispatch_destage {
        /// A stripe with dirty pages of which none is on its way; nothing if none should leave now.
        fn next(&mut self, view: View<'_>) -> Option<u32>;
        /// Whether old pages are read around a GC, and new ones wait in RAM until the GC of their plane has ended.
        fn around_gc(&mut self) -> bool [else false];
        /// Whether new ones that have waited leave beside the next stripe of their group, instead of when the GC ends.
        fn deferred_join_stripes(&mut self) -> bool [else false];
        /// Whether new ones are programmed when their own old copies have been read, and parity alone waits for all.
        fn data_before_parity(&mut self) -> bool [else false];
    }
}

interface! {
    /// Which pages does an idle die read, so that the ECC checks them, and which of them are written anew? Asked for blocks into
    /// which pages were copied back since they were last scrubbed.
    trait Scrub, dispatch_scrub {
        /// Time from one page of a die to the next attempt; nothing if there is no scrubbing.
        fn pause_ns(&mut self) -> Option<Ns> [else None];
        /// Consecutive copybacks from which on a page is read.
        fn least_copybacks(&mut self) -> u8 [else 1];
        /// The index of the block of a die that is scrubbed next; never asked about none.
        fn next_block(&mut self, _view: View<'_>, _suspects: &[BlockIx]) -> usize [else 0];
        /// Whether a page is written anew whose worst codeword has so many wrong bits, all of which could be corrected.
        fn rewrite(&mut self, _view: View<'_>, _wrong_bits: u32, _correctable: u32) -> bool [else false];
    }
}

interface! {
    /// Does a stripe move to other planes, so that they wear more evenly? Asked where pages form stripes, for a stripe that has
    /// just been written, while no other moves and the pause since the last move began is over.
    trait WearLevel, dispatch_wear_level {
        /// Adds the places that it may move to, the best first; none if it stays. It moves to the first that has room.
        fn destinations(&mut self, _view: View<'_>, _written: &WrittenStripe, _places: &mut Vec<StripePlace>) [else {}];
        /// Time from the beginning of one move to that of the next.
        fn pause_ns(&mut self) -> Ns [else Ns::MAX];
        /// Time from the beginning of a move after which what is left of it does not come behind everything else any more.
        fn patience_ns(&mut self) -> Ns [else Ns::MAX];
        /// Whether it is worth asking at all; then pages must form stripes.
        fn active(&mut self) -> bool [else true];
    }
}
