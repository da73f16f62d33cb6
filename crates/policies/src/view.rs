//! The drive as C has it: the structure that compiled policies get a pointer to.
//!
//! It holds the numbers of the question and pointers to copies of arrays that the drive keeps. A policy may look at more, at each
//! [`Quantity`], by asking for its number. All of it is read-only, and good until the policy answers: the structure and the arrays are in
//! pages that can't be written at these addresses.

use crate::pages::{ALIGNMENT, Pages, Plain};
use crate::question::{Asked, Question};
use std::ffi::c_void;
use std::io;
use std::marker::PhantomData;
use std::slice;
use tinytail_core::flash::ask::Candidate;
use tinytail_core::flash::op::OpKind;
use tinytail_core::ftl::tracked::Tracked;
use tinytail_core::ids::{BlockGroup, PlaneIx};
use tinytail_core::policy::view::View as DriveView;

/// Raised with every change of what stands here.
pub const ABI: u32 = 1;

/// What an array or a structure is made of, for those who read it from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its bytes from the structure's beginning.
    pub offset: usize,
    /// Its type, as C has it; an array's has a star.
    pub ctype: &'static str,
    /// Of an array, the field that has its length.
    pub length: Option<&'static str>,
    /// What it is.
    pub doc: &'static str,
}

/// A structure as C has it, with a list of its fields.
macro_rules! structure {
    ($( #[doc = $about:literal] )+ $name:ident $(<$life:lifetime>)? { $( $(#[doc = $doc:literal])+ $field:ident: $type:ty = $ctype:literal $([$length:ident])?, )+ }) => {
        $( #[doc = $about] )+
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name $(<$life>)? {
            $( $(#[doc = $doc])+ pub $field: $type, )+
            $( borrowed: PhantomData<&$life ()>, )?
        }

        impl $(<$life>)? $name $(<$life>)? {
            /// Its fields.
            pub const FIELDS: &'static [Field] = &[ $( Field {
                name: stringify!($field),
                offset: std::mem::offset_of!($name, $field),
                ctype: $ctype,
                length: [$(Some(stringify!($length)),)? None][0],
                doc: concat!($($doc),+),
            }, )+ ];
        }
    };
}

structure! {
    /// What a policy is asked, and the drive that it is asked about. Fields of another question are 0.
    View<'a> {
        /// The version of this structure.
        abi: u32 = "uint32_t",
        /// What is asked: 0 victim, 1 gc_trigger, 2 gc_gate, 3 order at a die, 4 order at a channel, 5 suspend, 6 read_plan.
        question: u32 = "uint32_t",
        /// The simulated time, in nanoseconds.
        now_ns: u64 = "uint64_t",
        /// Channels of the drive.
        channels: u32 = "uint32_t",
        /// Dies of the drive. Those of a channel have numbers in a row.
        dies: u32 = "uint32_t",
        /// Planes of the drive. Those of a die have numbers in a row.
        planes: u32 = "uint32_t",
        /// Planes of a die.
        planes_per_die: u32 = "uint32_t",
        /// Blocks of a plane, which have numbers in a row.
        blocks_per_plane: u32 = "uint32_t",
        /// Pages of a block.
        pages_per_block: u32 = "uint32_t",
        /// Bytes of a page.
        page_bytes: u32 = "uint32_t",
        /// Blocks of the drive.
        blocks: u32 = "uint32_t",
        /// The plane that is asked about: victim, gc_trigger, gc_gate.
        plane: u32 = "uint32_t",
        /// The die that is asked about: suspend.
        die: u32 = "uint32_t",
        /// How much the plane wants the GC: gc_gate. 1 soft, 2 hard.
        want: u32 = "uint32_t",
        /// How many candidates there are: victim, order.
        candidate_count: u32 = "uint32_t",
        /// Of each block of the drive, its valid pages; 16,384 more while it may not be collected.
        valid_pages: *const i16 = "const int16_t *" [blocks],
        /// Of each block of the drive, its erases since the run began.
        erases: *const u32 = "const uint32_t *" [blocks],
        /// Of each block of the drive, its plane's `clock` when its last page was programmed.
        closed_at: *const u64 = "const uint64_t *" [blocks],
        /// The blocks that may be collected, in order: victim.
        candidates: *const BlockGroup = "const uint32_t *" [candidate_count],
        /// The operations of which one starts: order.
        waiting: *const Waiting = "const tinytail_waiting *" [candidate_count],
        /// The read that is asked about: read_plan.
        read: *const Read = "const tinytail_read *",
        /// What the design gives the policy.
        parameters: *const f64 = "const double *" [parameter_count],
        /// How many parameters there are.
        parameter_count: u32 = "uint32_t",
        /// Nothing.
        reserved: u32 = "uint32_t",
        /// A quantity of a plane or a die, by its number; of the whole drive, of 0. UINT64_MAX if there is no such thing.
        ask: extern "C" fn(view: *const c_void, quantity: u32, of: u32) -> u64 = "uint64_t (*",
        /// What `ask` looks at.
        drive: *const c_void = "const void *",
    }
}

structure! {
    /// An operation that could start.
    Waiting {
        /// Its rank by arrival: lower waited longer.
        arrival: u64 = "uint64_t",
        /// The plane that it is for.
        plane: u32 = "uint32_t",
        /// Its class: 0 read for the host, 1 read on the way to something else, 2 program that a host write waits for, 3 program from
        /// the buffer, 4 step of a GC, 5 program of a page that GC has read, 6 work that can always wait, 7 lock request of a GC.
        work: u8 = "uint8_t",
        /// 1 for a GC that the plane needs urgently.
        urgent: u8 = "uint8_t",
        /// 1 if its die has begun with it and needs the channel again; otherwise it would start.
        continues: u8 = "uint8_t",
        /// 1 if data cross the channel now.
        data: u8 = "uint8_t",
    }
}

structure! {
    /// A read of a page that waits for what a GC locks, while the rest of its stripe can be read.
    Read {
        /// The time for which the GC will go on at least, in nanoseconds.
        gc_left_ns: u64 = "uint64_t",
        /// The logical page.
        lpn: u32 = "uint32_t",
        /// Its plane.
        plane: u32 = "uint32_t",
        /// The planes that must be read in addition to reconstruct it.
        extra: *const PlaneIx = "const uint32_t *" [extra_count],
        /// How many these are.
        extra_count: u32 = "uint32_t",
        /// 1 if the request reads every page of the stripe.
        full_stripe: u32 = "uint32_t",
    }
}

/// What a quantity is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The drive.
    Drive,
    /// A plane.
    Plane,
    /// A die.
    Die,
}

macro_rules! quantities {
    ($( $(#[doc = $doc:literal])+ $variant:ident $name:ident $of:ident => |$view:pat_param, $index:pat_param| $value:expr; )+) => {
        /// What a policy may look at beside the fields of a view.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum Quantity {
            $( $(#[doc = $doc])+ $variant, )+
        }

        impl Quantity {
            /// All of them, by their numbers.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )+ ];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $( Self::$variant => stringify!($name), )+ }
            }

            /// What it is of.
            pub fn of(self) -> Of {
                match self { $( Self::$variant => Of::$of, )+ }
            }

            /// What it is.
            pub fn doc(self) -> &'static str {
                match self { $( Self::$variant => concat!($($doc),+), )+ }
            }

            fn value(self, view: DriveView<'_>, index: u32) -> u64 {
                match self { $( Self::$variant => { let ($view, $index) = (view, index); u64::from($value) } )+ }
            }
        }
    };
}

quantities! {
    /// Erased pages of a plane, in erased and in open blocks.
    FreePages free_pages Plane => |view, plane| view.tables().free_pages(plane);
    /// Erased blocks of a plane.
    ErasedBlocks erased_blocks Plane => |view, plane| view.tables().erased_groups(view.tables().pool_of(plane));
    /// Pages programmed in a plane, by host and GC: the clock by which its blocks age.
    Clock clock Plane => |view, plane| view.tables().clock(view.tables().pool_of(plane));
    /// 1 while a plane's GC is under way.
    InGc in_gc Plane => |view, plane| view.in_gc(plane);
    /// 1 while a plane is in a cycle of GC, be it between two blocks.
    InGcCycle in_gc_cycle Plane => |view, plane| view.in_gc_cycle(view.tables().pool_of(plane));
    /// 1 while a plane's GC waits at the gate.
    WaitsAtGate waits_at_gate Plane => |view, plane| view.waits_at_gate(plane);
    /// 1 while a plane's GC erases, its pages moved.
    GcErases gc_erases Plane => |view, plane| view.gc_erases(plane);
    /// Host operations that wait for or use the channel of a plane.
    HostOperationsOnChannel host_operations_on_channel Plane => |view, plane| view.host_operations_on_channel_of(plane);
    /// GCs under way in the planes of the channel of a plane.
    GcsOnChannel gcs_on_channel Plane => |view, plane| view.gcs_on_channel_of(plane);
    /// Programs of host and GC that are bound for a plane; counted only where the layout is not static.
    ProgramsFor programs_for Plane => |view, plane| view.programs_for(plane);
    /// 1 if a read of a plane would wait: its channel carries something or is awaited, or its die runs something.
    ReadWouldWait read_would_wait Plane => |view, plane| view.read_would_wait(plane);
    /// Erases of a plane since the drive began to run.
    PlaneErases plane_erases Plane => |view, plane| view.erases_of(plane);
    /// 1 while a die runs nothing and nothing waits for it.
    DieIsIdle die_is_idle Die => |view, die| view.die_is_idle(die);
    /// What of the work of a die can be suspended: 0 nothing, 1 a program, 2 an erase.
    SuspendableWork suspendable_work Die => |view, die| view.progress(die).map_or(0u32, |it| if it.kind == OpKind::Erase { 2 } else { 1 });
    /// Array time that is done of that work, in nanoseconds.
    WorkDoneNs work_done_ns Die => |view, die| view.progress(die).map_or(0, |it| it.done);
    /// Array time of that work in all, in nanoseconds.
    WorkTotalNs work_total_ns Die => |view, die| view.progress(die).map_or(0, |it| it.total);
    /// When that work first started, in nanoseconds.
    WorkStartedNs work_started_ns Die => |view, die| view.progress(die).map_or(0, |it| it.first_started);
    /// Erased pages of a plane that no page of the host may take.
    PagesKept pages_kept Drive => |view, _| view.tables().pages_kept();
    /// 1 while a write waits for room in the buffer.
    WritesWaitForRoom writes_wait_for_room Drive => |view, _| view.writes_wait_for_room();
    /// Array time and transfer of a read of a whole page, by the mean of the page classes, in nanoseconds.
    PageReadNs page_read_ns Drive => |view, _| view.page_read_ns();
}

impl Quantity {
    /// How many of the things that it is of a drive has.
    pub fn count(self, view: DriveView<'_>) -> u32 {
        match self.of() {
            Of::Drive => 1,
            Of::Plane => view.geometry().planes(),
            Of::Die => view.geometry().dies(),
        }
    }

    /// Its value of a plane or a die, by its number; nothing if there is no such thing.
    pub fn of_index(self, view: DriveView<'_>, index: u32) -> Option<u64> {
        (index < self.count(view)).then(|| self.value(view, index))
    }
}

/// What a view's `ask` points to.
pub extern "C" fn ask(view: *const c_void, quantity: u32, of: u32) -> u64 {
    // SAFETY: whoever asks has been given a `View`, and hands it back while it is good; its `drive` points to the drive's view.
    #[allow(unsafe_code)]
    let drive = unsafe { *(*view.cast::<View<'_>>()).drive.cast::<DriveView<'_>>() };
    let quantity = Quantity::ALL.get(quantity as usize);
    quantity.and_then(|quantity| quantity.of_index(drive, of)).unwrap_or(u64::MAX)
}

// SAFETY: numbers and addresses, with an alignment of 8.
#[allow(unsafe_code)]
unsafe impl Plain for View<'_> {}
// SAFETY: numbers and an address, with an alignment of 8.
#[allow(unsafe_code)]
unsafe impl Plain for Read {}
// SAFETY: numbers, with an alignment of 8.
#[allow(unsafe_code)]
unsafe impl Plain for Waiting {}

/// What a compiled policy is shown: copies that it can only read. They follow the drive from question to question.
#[derive(Debug)]
pub struct Shown {
    counts: Copied<i16>,
    erases: Copied<u32>,
    closed_at: Copied<u64>,
    /// The view, and the arrays of one question.
    asked: Pages,
}

/// The copy of a table, and how many changes it has followed.
#[derive(Debug)]
struct Copied<T> {
    pages: Pages,
    seen: u64,
    of: PhantomData<T>,
}

impl<T: Plain> Copied<T> {
    fn new(table: &Tracked<T>) -> io::Result<Self> {
        let mut pages = Pages::new(size_of_val::<[T]>(table))?;
        pages.write(0, table.len()).copy_from_slice(table);
        Ok(Self { pages, seen: table.changes(), of: PhantomData })
    }

    /// Copies what has changed. Returns where policies read the copy.
    #[inline]
    fn follow(&mut self, table: &Tracked<T>) -> *const T {
        if self.seen != table.changes() {
            let copy = self.pages.write(0, table.len());
            match table.changed_since(self.seen) {
                Some(changed) => changed.for_each(|index| copy[index] = table[index]),
                None => copy.copy_from_slice(table),
            }
            self.seen = table.changes();
        }
        self.pages.address(0)
    }
}

/// Puts values into pages, behind those that are there.
struct Pen<'a> {
    pages: &'a mut Pages,
    used: usize,
}

impl Pen<'_> {
    /// Writes values. Returns where policies read them.
    fn put<T: Plain>(&mut self, values: impl ExactSizeIterator<Item = T>) -> *const T {
        let (at, count) = (self.used, values.len());
        self.used += (count * size_of::<T>()).next_multiple_of(ALIGNMENT);
        self.pages.write::<T>(at, count).iter_mut().zip(values).for_each(|(place, value)| *place = value);
        self.pages.address(at)
    }
}

impl Shown {
    /// Copies of the tables of a drive.
    ///
    /// # Errors
    /// The system has no memory for them.
    pub fn new(drive: DriveView<'_>) -> io::Result<Self> {
        let tables = drive.tables();
        Ok(Self {
            counts: Copied::new(tables.counts())?,
            erases: Copied::new(tables.erase_counts())?,
            closed_at: Copied::new(tables.times_of_closing())?,
            asked: Pages::new(0)?,
        })
    }

    /// Makes sure that a question and what belongs to it have room.
    fn reserve(&mut self, question: &Question<'_>, parameters: &[f64]) -> io::Result<()> {
        let arrays = match question.asked {
            Asked::Victim { candidates, .. } => size_of_val(candidates),
            Asked::AtDie { waiting } | Asked::AtChannel { waiting } => waiting.len() * size_of::<Waiting>(),
            Asked::ReadPlan { read } => size_of::<Read>() + size_of_val(read.extra),
            Asked::GcTrigger { .. } | Asked::GcGate { .. } | Asked::Suspend { .. } => 0,
        };
        let bytes = size_of::<View<'_>>() + size_of_val(parameters) + arrays + 2 * ALIGNMENT;
        if bytes > self.asked.bytes() {
            self.asked = Pages::new(2 * bytes)?;
        }
        Ok(())
    }

    /// Asks with a view as C has it.
    ///
    /// # Errors
    /// The system has no memory for the question.
    pub fn ask<T>(&mut self, question: &Question<'_>, parameters: &[f64], ask_of: impl FnOnce(*const View<'_>) -> T) -> io::Result<T> {
        self.reserve(question, parameters)?;
        let (tables, geometry) = (question.view.tables(), question.view.geometry());
        let mut pen = Pen { pages: &mut self.asked, used: 0 };
        let mut view = View {
            abi: ABI,
            question: question.number(),
            now_ns: question.view.now(),
            channels: geometry.channels,
            dies: geometry.dies(),
            planes: geometry.planes(),
            planes_per_die: geometry.planes_per_die,
            blocks_per_plane: geometry.blocks_per_plane,
            pages_per_block: geometry.pages_per_block,
            page_bytes: geometry.page_bytes,
            blocks: tables.counts().len() as u32,
            plane: 0,
            die: 0,
            want: 0,
            candidate_count: 0,
            valid_pages: self.counts.follow(tables.counts()),
            erases: self.erases.follow(tables.erase_counts()),
            closed_at: self.closed_at.follow(tables.times_of_closing()),
            candidates: [].as_ptr(),
            waiting: [].as_ptr(),
            read: std::ptr::null(),
            parameters: pen.put(parameters.iter().copied()),
            parameter_count: parameters.len() as u32,
            reserved: 0,
            ask,
            drive: (&raw const question.view).cast(),
            borrowed: PhantomData,
        };
        match question.asked {
            Asked::Victim { pool, candidates } => {
                view.plane = pool.0;
                (view.candidates, view.candidate_count) = (pen.put(candidates.iter().copied()), candidates.len() as u32);
            }
            Asked::GcTrigger { pool } => view.plane = pool.0,
            Asked::GcGate { pool, want } => (view.plane, view.want) = (pool.0, want as u32),
            Asked::AtDie { waiting } | Asked::AtChannel { waiting } => {
                (view.waiting, view.candidate_count) = (pen.put(waiting.iter().map(Waiting::of)), waiting.len() as u32);
            }
            Asked::Suspend { die } => view.die = die,
            Asked::ReadPlan { read } => {
                let shown = Read {
                    gc_left_ns: read.gc_left_ns,
                    lpn: read.lpn,
                    plane: read.plane,
                    extra: pen.put(read.extra.iter().copied()),
                    extra_count: read.extra.len() as u32,
                    full_stripe: read.full_stripe.into(),
                };
                (view.plane, view.read) = (read.plane, pen.put(std::iter::once(shown)));
            }
        }
        Ok(ask_of(pen.put(std::iter::once(view))))
    }
}

impl Question<'_> {
    /// The number of what is asked, as views have it.
    pub fn number(&self) -> u32 {
        match self.asked {
            Asked::Victim { .. } => 0,
            Asked::GcTrigger { .. } => 1,
            Asked::GcGate { .. } => 2,
            Asked::AtDie { .. } => 3,
            Asked::AtChannel { .. } => 4,
            Asked::Suspend { .. } => 5,
            Asked::ReadPlan { .. } => 6,
        }
    }
}

impl Waiting {
    /// An operation as C has it.
    pub fn of(candidate: &Candidate) -> Self {
        Self {
            arrival: candidate.arrival,
            plane: candidate.plane,
            work: candidate.class as u8,
            urgent: candidate.urgent.into(),
            continues: candidate.continues.into(),
            data: candidate.data.into(),
        }
    }
}

// SAFETY, of all of these: the arrays are as long as the fields beside them say, and as good as the view that is borrowed.
#[allow(unsafe_code)]
impl<'a> View<'a> {
    /// The blocks that may be collected, in order.
    pub fn candidates(&self) -> &'a [BlockGroup] {
        unsafe { slice::from_raw_parts(self.candidates, if self.question == 0 { self.candidate_count as usize } else { 0 }) }
    }

    /// The operations of which one starts.
    pub fn waiting(&self) -> &'a [Waiting] {
        let is_order = matches!(self.question, 3 | 4);
        unsafe { slice::from_raw_parts(self.waiting, if is_order { self.candidate_count as usize } else { 0 }) }
    }

    /// The read that is asked about.
    pub fn read(&self) -> Option<&'a Read> {
        unsafe { self.read.as_ref() }
    }

    /// Of each block, its valid pages; 16,384 more while it may not be collected.
    pub fn valid_pages(&self) -> &'a [i16] {
        unsafe { slice::from_raw_parts(self.valid_pages, self.blocks as usize) }
    }

    /// Of each block, its erases.
    pub fn erases(&self) -> &'a [u32] {
        unsafe { slice::from_raw_parts(self.erases, self.blocks as usize) }
    }

    /// Of each block, its plane's clock when its last page was programmed.
    pub fn closed_at(&self) -> &'a [u64] {
        unsafe { slice::from_raw_parts(self.closed_at, self.blocks as usize) }
    }

    /// What the design gives the policy.
    pub fn parameters(&self) -> &'a [f64] {
        unsafe { slice::from_raw_parts(self.parameters, self.parameter_count as usize) }
    }

    /// A quantity of a plane or a die; of the whole drive, of 0. `u64::MAX` if there is no such thing.
    pub fn quantity(&self, quantity: Quantity, of: u32) -> u64 {
        (self.ask)((&raw const *self).cast(), quantity as u32, of)
    }
}

#[allow(unsafe_code)]
impl Read {
    /// The planes that must be read in addition.
    pub fn extra(&self) -> &[PlaneIx] {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts(self.extra, self.extra_count as usize) }
    }
}
