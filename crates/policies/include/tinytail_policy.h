/* What tinytail asks policies in libraries: docs/guides/python-policies.md. Made by a test of crates/policies. */

#ifndef TINYTAIL_POLICY_H
#define TINYTAIL_POLICY_H

#include <stddef.h>
#include <stdint.h>

#define TINYTAIL_ABI 1

/* An operation that could start. */
typedef struct tinytail_waiting {
    /* Its rank by arrival: lower waited longer. */
    uint64_t arrival;
    /* The plane that it is for. */
    uint32_t plane;
    /* Its class: 0 read for the host, 1 read on the way to something else, 2 program that a host write waits for, 3 program from the buffer, 4 step of a GC, 5 program of a page that GC has read, 6 work that can always wait, 7 lock request of a GC. */
    uint8_t work;
    /* 1 for a GC that the plane needs urgently. */
    uint8_t urgent;
    /* 1 if its die has begun with it and needs the channel again; otherwise it would start. */
    uint8_t continues;
    /* 1 if data cross the channel now. */
    uint8_t data;
} tinytail_waiting;

/* A read of a page behind a GC. */
typedef struct tinytail_read {
    /* The time for which the GC will go on at least, in nanoseconds. */
    uint64_t gc_left_ns;
    /* The logical page. */
    uint32_t lpn;
    /* Its plane. */
    uint32_t plane;
    /* The planes that must be read in addition to reconstruct it. */
    const uint32_t *extra;
    /* How many these are. */
    uint32_t extra_count;
    /* 1 if the request reads every page of the stripe. */
    uint32_t full_stripe;
} tinytail_read;

/* What a policy is asked, and the drive that it is asked about. */
typedef struct tinytail_view {
    /* The version of this structure. */
    uint32_t abi;
    /* What is asked: 0 victim, 1 gc_trigger, 2 gc_gate, 3 order at a die, 4 order at a channel, 5 suspend, 6 read_plan. */
    uint32_t question;
    /* The simulated time, in nanoseconds. */
    uint64_t now_ns;
    /* Channels of the drive. */
    uint32_t channels;
    /* Dies of the drive. Those of a channel have numbers in a row. */
    uint32_t dies;
    /* Planes of the drive. Those of a die have numbers in a row. */
    uint32_t planes;
    /* Planes of a die. */
    uint32_t planes_per_die;
    /* Blocks of a plane, which have numbers in a row. */
    uint32_t blocks_per_plane;
    /* Pages of a block. */
    uint32_t pages_per_block;
    /* Bytes of a page. */
    uint32_t page_bytes;
    /* Blocks of the drive. */
    uint32_t blocks;
    /* The plane that is asked about: victim, gc_trigger, gc_gate. */
    uint32_t plane;
    /* The die that is asked about: suspend. */
    uint32_t die;
    /* How much the plane wants the GC: gc_gate. 1 soft, 2 hard. */
    uint32_t want;
    /* How many candidates there are: victim, order. */
    uint32_t candidate_count;
    /* Of each block of the drive, its valid pages; 16,384 more while it may not be collected. */
    const int16_t *valid_pages;
    /* Of each block of the drive, its erases since the run began. */
    const uint32_t *erases;
    /* Of each block of the drive, its plane's `clock` when its last page was programmed. */
    const uint64_t *closed_at;
    /* The blocks that may be collected, in order: victim. */
    const uint32_t *candidates;
    /* The operations of which one starts: order. */
    const tinytail_waiting *waiting;
    /* The read that is asked about: read_plan. */
    const tinytail_read *read;
    /* What the design gives the policy. */
    const double *parameters;
    /* How many parameters there are. */
    uint32_t parameter_count;
    /* Nothing. */
    uint32_t reserved;
    /* A quantity of a plane or a die, by its number; of the whole drive, of 0. UINT64_MAX if there is no such thing. */
    uint64_t (*ask)(const void *view, uint32_t quantity, uint32_t of);
    /* What `ask` looks at. */
    const void *drive;
} tinytail_view;

/* What `ask` knows. */
enum {
    /* Erased pages of a plane, in erased and in open blocks. */
    TINYTAIL_FREE_PAGES = 0,
    /* Erased blocks of a plane. */
    TINYTAIL_ERASED_BLOCKS = 1,
    /* Pages programmed in a plane, by host and GC: the clock by which its blocks age. */
    TINYTAIL_CLOCK = 2,
    /* 1 while a plane's GC is under way. */
    TINYTAIL_IN_GC = 3,
    /* 1 while a plane is in a cycle of GC, be it between two blocks. */
    TINYTAIL_IN_GC_CYCLE = 4,
    /* 1 while a plane's GC waits at the gate. */
    TINYTAIL_WAITS_AT_GATE = 5,
    /* 1 while a plane's GC erases, its pages moved. */
    TINYTAIL_GC_ERASES = 6,
    /* Host operations that wait for or use the channel of a plane. */
    TINYTAIL_HOST_OPERATIONS_ON_CHANNEL = 7,
    /* GCs under way in the planes of the channel of a plane. */
    TINYTAIL_GCS_ON_CHANNEL = 8,
    /* Programs of host and GC that are bound for a plane; counted only where the layout is not static. */
    TINYTAIL_PROGRAMS_FOR = 9,
    /* 1 if a read of a plane would wait: its channel carries something or is awaited, or its die runs something. */
    TINYTAIL_READ_WOULD_WAIT = 10,
    /* Erases of a plane since the drive began to run. */
    TINYTAIL_PLANE_ERASES = 11,
    /* 1 while a die runs nothing and nothing waits for it. */
    TINYTAIL_DIE_IS_IDLE = 12,
    /* What of the work of a die can be suspended: 0 nothing, 1 a program, 2 an erase. */
    TINYTAIL_SUSPENDABLE_WORK = 13,
    /* Array time that is done of that work, in nanoseconds. */
    TINYTAIL_WORK_DONE_NS = 14,
    /* Array time of that work in all, in nanoseconds. */
    TINYTAIL_WORK_TOTAL_NS = 15,
    /* When that work first started, in nanoseconds. */
    TINYTAIL_WORK_STARTED_NS = 16,
    /* Erased pages of a plane that no page of the host may take. */
    TINYTAIL_PAGES_KEPT = 17,
    /* 1 while a write waits for room in the buffer. */
    TINYTAIL_WRITES_WAIT_FOR_ROOM = 18,
    /* Array time and transfer of a read of a whole page, by the mean of the page classes, in nanoseconds. */
    TINYTAIL_PAGE_READ_NS = 19,
};

_Static_assert(offsetof(tinytail_waiting, arrival) == 0, "another layout");
_Static_assert(offsetof(tinytail_waiting, plane) == 8, "another layout");
_Static_assert(offsetof(tinytail_waiting, work) == 12, "another layout");
_Static_assert(offsetof(tinytail_waiting, urgent) == 13, "another layout");
_Static_assert(offsetof(tinytail_waiting, continues) == 14, "another layout");
_Static_assert(offsetof(tinytail_waiting, data) == 15, "another layout");

_Static_assert(offsetof(tinytail_read, gc_left_ns) == 0, "another layout");
_Static_assert(offsetof(tinytail_read, lpn) == 8, "another layout");
_Static_assert(offsetof(tinytail_read, plane) == 12, "another layout");
_Static_assert(offsetof(tinytail_read, extra) == 16, "another layout");
_Static_assert(offsetof(tinytail_read, extra_count) == 24, "another layout");
_Static_assert(offsetof(tinytail_read, full_stripe) == 28, "another layout");

_Static_assert(offsetof(tinytail_view, abi) == 0, "another layout");
_Static_assert(offsetof(tinytail_view, question) == 4, "another layout");
_Static_assert(offsetof(tinytail_view, now_ns) == 8, "another layout");
_Static_assert(offsetof(tinytail_view, channels) == 16, "another layout");
_Static_assert(offsetof(tinytail_view, dies) == 20, "another layout");
_Static_assert(offsetof(tinytail_view, planes) == 24, "another layout");
_Static_assert(offsetof(tinytail_view, planes_per_die) == 28, "another layout");
_Static_assert(offsetof(tinytail_view, blocks_per_plane) == 32, "another layout");
_Static_assert(offsetof(tinytail_view, pages_per_block) == 36, "another layout");
_Static_assert(offsetof(tinytail_view, page_bytes) == 40, "another layout");
_Static_assert(offsetof(tinytail_view, blocks) == 44, "another layout");
_Static_assert(offsetof(tinytail_view, plane) == 48, "another layout");
_Static_assert(offsetof(tinytail_view, die) == 52, "another layout");
_Static_assert(offsetof(tinytail_view, want) == 56, "another layout");
_Static_assert(offsetof(tinytail_view, candidate_count) == 60, "another layout");
_Static_assert(offsetof(tinytail_view, valid_pages) == 64, "another layout");
_Static_assert(offsetof(tinytail_view, erases) == 72, "another layout");
_Static_assert(offsetof(tinytail_view, closed_at) == 80, "another layout");
_Static_assert(offsetof(tinytail_view, candidates) == 88, "another layout");
_Static_assert(offsetof(tinytail_view, waiting) == 96, "another layout");
_Static_assert(offsetof(tinytail_view, read) == 104, "another layout");
_Static_assert(offsetof(tinytail_view, parameters) == 112, "another layout");
_Static_assert(offsetof(tinytail_view, parameter_count) == 120, "another layout");
_Static_assert(offsetof(tinytail_view, reserved) == 124, "another layout");
_Static_assert(offsetof(tinytail_view, ask) == 128, "another layout");
_Static_assert(offsetof(tinytail_view, drive) == 136, "another layout");

#endif
