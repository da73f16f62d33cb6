"""What a user says about a trace that the trace does not say itself."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from tinytail import arguments

TimeUnit = Literal["ns", "us", "ms", "s", "100ns"]
AddressUnit = Literal["sectors", "bytes"]
Event = Literal["Q", "I", "D"]

U32_MAX = 2**32 - 1


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """How a trace is read and paced; what is not given comes from the trace's format and files.

    Parameters
    ----------
    format
        Name of a trace's format; found from its content if not given.
    time_unit
        Unit of a trace's time column, for formats that do not fix it.
    ops
        Meaning of a trace's operation codes, such as write=0,read=1, for formats that do not fix
        it.
    unit
        Unit of a trace's addresses and sizes, for formats that do not fix it.
    trace_device
        Number or name of the only device of a trace that is played; all of them if not given.
    event
        Event that counts as a request of a trace, for formats that record several: queued,
        inserted or issued (D).
    reorder_ms
        How late a line of a trace may be, in ms; later ones are errors.
    queue_depth
        Play a trace or a stand-in in closed loop, with so many requests always outstanding.
    columns
        What the columns of a delimited text are, with the units of time, lba and len, such as
        time:us,op,lba:sectors,len:bytes; _ skips one. By names: time=TIME:us,op=TYPE, and so on.
    """

    format: str | None = None
    time_unit: TimeUnit | None = None
    ops: str | None = None
    unit: AddressUnit | None = None
    trace_device: str | None = None
    event: Event | None = None
    reorder_ms: int | None = None
    queue_depth: int | None = None
    columns: str | None = None

    def check(self) -> None:
        """Refuses values of the wrong type or out of range.

        Raises:
            UsageError: the value of the option that it names.
        """
        for name, kind in (("time_unit", TimeUnit), ("unit", AddressUnit), ("event", Event)):
            if getattr(self, name) is not None:
                arguments.choice(name, getattr(self, name), get_args(kind))
        for name in ("ops", "format", "trace_device", "columns"):
            if getattr(self, name) is not None:
                arguments.text(name, getattr(self, name))
        if self.reorder_ms is not None:
            arguments.whole_number("reorder_ms", self.reorder_ms, 0, arguments.U64_MAX)
        if self.queue_depth is not None:
            arguments.whole_number("queue_depth", self.queue_depth, 1, U32_MAX)

    def to_document(self) -> dict[str, Any]:
        """The options under the names by which the native module knows them."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def words(self) -> list[str]:
        """The options as words of a command line."""
        words = []
        for name, value in self.to_document().items():
            if value is not None:
                words += [f"--{name.replace('_', '-')}", str(value)]
        return words


NOTHING_SAID = TraceOptions()
