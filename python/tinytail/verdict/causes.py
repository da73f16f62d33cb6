"""Human names of the causes that a request's latency is attributed to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Family = Literal["own", "queue", "host", "parity", "gc", "other"]

# Colours that most eyes tell apart (P. Okabe and K. Ito), as in reports.
COLOURS: dict[Family, str] = {
    "gc": "#e69f00",
    "host": "#56b4e9",
    "parity": "#009e73",
    "queue": "#cc79a7",
    "own": "#999999",
    "other": "#f0e442",
}

_WHOLE = {
    "overhead_wait": "waiting for the fixed time of other commands",
    "buffer_wait": "waiting for the write buffer to serve others",
    "buffer_full": "waiting for space in the write buffer",
    "buffer": "write buffer",
    "space": "waiting for a GC to free a page",
    "placement": "waiting for an idle die that could program the page",
    "command": "own commands",
    "array": "own array time",
    "transfer": "own transfers",
    "compute": "own computing",
    "overhead": "fixed time of a command",
    "link_wait": "waiting for the host's link",
    "link": "own data on the host's link",
    "policy": "waiting by choice of a technique",
}

_RESOURCES = ("controller", "channel", "die", "plane", "buffer")

_HOLDERS = {
    "gc_lock": "locked by a GC that waits",
    "gc_suspend": "suspending an erase or program of GC",
    "flush_suspend": "suspending a flush",
    "host_program_suspend": "suspending a host program",
    "suspend": "suspending or resuming",
    "background": "background work",
    "locked_gc_read": "locked by a GC that reads",
    "locked_gc_program": "locked by a GC that programs",
    "locked_gc_other": "locked by a GC that waits",
    "read_modify_write": "read-modify-write",
    "space": "its pages waited for a GC to free one",
    "placement": "its pages waited for an idle die",
    "assembly": "its pages waited for others of their superpage",
    "policy": "its pages waited by choice of a technique",
}


def human_name(cause: str) -> str:
    """What a cause's key means, in words.

    A key that starts with a resource is a wait for it, and the rest says what occupied it; of the
    write buffer, what its pages waited for. A key that is not known is shown as its own words, so
    that no cause is ever lost.

    >>> human_name("die_gc_program")
    'waiting for die: GC program'
    >>> human_name("channel_locked_gc_read")
    'waiting for channel: locked by a GC that reads'
    >>> human_name("buffer_gc_program")
    'waiting for space in the write buffer: GC program'
    >>> human_name("transfer")
    'own transfers'
    >>> human_name("something_new")
    'something new'
    """
    if cause in _WHOLE:
        return _WHOLE[cause]
    resource, _, holder = cause.partition("_")
    if resource in _RESOURCES and holder:
        what = "space in the write buffer" if resource == "buffer" else resource
        return f"waiting for {what}: {_HOLDERS.get(holder, _words(holder))}"
    return _words(cause)


def together(causes: Sequence[str]) -> str:
    """What several causes are called that are shown as one.

    >>> together(["transfer"]), together(["transfer", "array"])
    ('own transfers', '2 smaller causes')
    """
    return f"{len(causes)} smaller causes" if len(causes) > 1 else human_name(causes[0])


_OWN = ("buffer", "command", "array", "transfer", "compute", "overhead", "link")
_QUEUES = (
    *("overhead_wait", "buffer_wait", "link_wait"),
    *("buffer_full", "space", "placement", "assembly", "policy"),
)
_FAMILIES: dict[str, Family] = {
    "host_read": "host",
    "host_program": "host",
    "flush": "host",
    "flush_suspend": "host",
    "host_program_suspend": "host",
    "read_modify_write": "host",
    "parity": "parity",
    "reconstruction": "parity",
}


def holder(cause: str) -> str:
    """What occupied a resource that was waited for; a cause that is no such wait is itself.

    >>> holder("die_gc_program"), holder("channel_host_read"), holder("buffer_wait")
    ('gc_program', 'host_read', 'buffer_wait')
    """
    resource, _, rest = cause.partition("_")
    return rest if resource in _RESOURCES and rest and cause not in _WHOLE else cause


def is_full_buffer(cause: str) -> bool:
    """Whether a cause is a wait for space in the write buffer.

    >>> is_full_buffer("buffer_erase"), is_full_buffer("buffer_full"), is_full_buffer("buffer_wait")
    (True, True, False)
    """
    return cause == "buffer_full" or (cause not in _WHOLE and cause.startswith("buffer_"))


def family(cause: str) -> Family:
    """To which sort a cause belongs.

    >>> family("array"), family("link_wait"), family("die_flush"), family("channel_locked_gc_read")
    ('own', 'queue', 'host', 'gc')
    >>> family("buffer_erase"), family("buffer_space"), family("buffer_flush")
    ('gc', 'queue', 'host')
    >>> family("die_erase"), family("controller_gc"), family("die_suspend"), family("new")
    ('gc', 'gc', 'other', 'other')
    >>> family("die_gc_suspend"), family("die_flush_suspend"), family("buffer_gc_suspend")
    ('gc', 'host', 'gc')
    """
    if cause in _OWN:
        return "own"
    by = holder(cause)
    if by in _QUEUES:
        return "queue"
    if by == "erase" or "gc" in by.split("_"):
        return "gc"
    return _FAMILIES.get(by, "other")


def _words(key: str) -> str:
    return " ".join("GC" if word == "gc" else word for word in key.split("_"))


_GROUPS = {
    "gc_read": "GC reads",
    "gc_program": "GC programs",
    "gc_lock": "GC locks",
    "gc_suspend": "GC suspension",
    "gc": "GC",
    "erase": "erases",
    "locked_gc_read": "GC reads",
    "locked_gc_program": "GC programs",
    "locked_gc_other": "GC locks",
    # A request of several pages waits for its own as well, and its parts do not tell them apart.
    "host_read": "host reads, own pages too",
    "host_program": "host writes, own pages too",
    "host_program_suspend": "host writes, own pages too",
    "flush": "flushes",
    "flush_suspend": "flushes",
    "read_modify_write": "read-modify-writes",
    "parity": "parity",
    "reconstruction": "reconstruction",
    "suspend": "suspension",
    "background": "background work",
    "overhead_wait": "other commands",
    "buffer_wait": "busy write buffer",
    "buffer_full": "full write buffer",
    "space": "no erased page",
    "placement": "no idle die",
    "assembly": "superpage assembly",
    "link_wait": "busy link",
    "policy": "a technique's choice",
}
OWN = "own work"


def group(cause: str) -> str:
    """What a request waited for, whatever resource it waited at; what it did itself is one group.

    The suspension of an operation belongs to whose operation it is.

    >>> group("die_gc_program"), group("channel_host_read"), group("array"), group("die_new")
    ('GC programs', 'host reads, own pages too', 'own work', 'new')
    >>> group("die_gc_suspend"), group("die_flush_suspend"), group("die_suspend")
    ('GC suspension', 'flushes', 'suspension')
    >>> group("buffer_gc_program"), group("buffer_assembly"), group("buffer_wait")
    ('GC programs', 'superpage assembly', 'busy write buffer')
    """
    if cause in _OWN:
        return OWN
    by = holder(cause)
    return _GROUPS.get(by, _words(by))
