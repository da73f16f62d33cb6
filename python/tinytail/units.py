"""Numbers as people read them: three significant digits and a unit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

MISSING = "–"
# Of a longer list, only the first are shown.
LIST_ITEMS_MAX = 16


def number(value: float) -> str:
    """A number with three significant digits, never in exponent form; a whole one is not rounded.

    >>> number(3.14159), number(27.18), number(1234.5), number(0.000123), number(1024.0)
    ('3.14', '27.2', '1230', '0.00012', '1024')
    """
    rounded = float(f"{value:.3g}")
    magnitude = abs(rounded)
    if magnitude >= 100:
        return f"{value if value == int(value) else rounded:.0f}"
    if magnitude >= 10:
        return f"{rounded:.1f}"
    if magnitude >= 0.01 or magnitude == 0:
        return f"{rounded:.2f}"
    return f"{rounded:.5f}"


def exact_number(value: float) -> str:
    """As `number`, with three significant digits of small numbers, too.

    >>> exact_number(27.18), exact_number(0.018), exact_number(0.00015), exact_number(0.0)
    ('27.2', '0.018', '0.00015', '0.00')
    """
    if not 0 < abs(value) < 0.1:
        return number(value)
    decimals = 2 - math.floor(math.log10(abs(value)))
    return f"{value:.{decimals}f}".rstrip("0")


def _scaled(value: float, units: list[str], step: float) -> str:
    """`value` in the first of `units` that keeps it under `step`, each being `step` of the last."""
    for unit in units[:-1]:
        if abs(float(f"{value:.3g}")) < step:
            return f"{number(value)} {unit}".rstrip()
        value /= step
    return f"{number(value)} {units[-1]}"


def latency(us: float | None) -> str:
    """A latency in microseconds.

    >>> latency(140.0), latency(53760), latency(2.5e6), latency(999.9), latency(None)
    ('140 µs', '53.8 ms', '2.50 s', '1.00 ms', '–')
    """
    return MISSING if us is None else _scaled(us, ["µs", "ms", "s"], 1000.0)


def count(value: int | None) -> str:
    """A count of things: exact up to ten million.

    >>> count(127043), count(61_865_984)
    ('127,043', '61.9 M')
    """
    if value is None:
        return MISSING
    if abs(value) < 10_000_000:
        return f"{value:,}"
    return _scaled(value / 1e6, ["M", "G", "T"], 1000.0)


def counted(number: int, one: str) -> str:
    """How many things there are; the last word of the thing is put into the plural.

    >>> counted(1, "request"), counted(2000, "request"), counted(0, "entry"), counted(3, "GC")
    ('1 request', '2,000 requests', '0 entries', '3 GCs')
    """
    if number == 1:
        return f"1 {one}"
    if one.endswith("y") and one[-2] not in "aeo":
        return f"{count(number)} {one[:-1]}ies"
    return f"{count(number)} {one}{'es' if one.endswith(('s', 'x', 'sh', 'ch')) else 's'}"


def counts(values: Iterable[int]) -> str:
    """Counts of several things: one, or from the least to the most.

    >>> counts([140, 140]), counts([14, 15, 12])
    ('140', '12 to 15')
    """
    known = list(values)
    least, most = count(min(known)), count(max(known))
    return least if least == most else f"{least} to {most}"


def rate(per_second: float | None) -> str:
    """A rate, without the "per second".

    >>> rate(4_123_456.0), rate(412_345.0), rate(12.0)
    ('4.12 M', '412 K', '12.0')
    """
    return MISSING if per_second is None else _scaled(per_second, ["", "K", "M", "G"], 1000.0)


def percent(value: float | None) -> str:
    """A percentage; one too small to show is not shown as zero.

    >>> percent(12.345), percent(0.0), percent(0.001), percent(100.0)
    ('12.3 %', '0 %', '<0.01 %', '100 %')
    """
    if value is None:
        return MISSING
    if value == 0:
        return "0 %"
    if 0 < value < 0.01:
        return "<0.01 %"
    return f"{number(value)} %"


def signed(value: float | None, show: Callable[[Any], str]) -> str:
    """A number with its sign, as `show` shows it without.

    >>> signed(-12.345, percent), signed(30, count), signed(0, count), signed(None, count)
    ('-12.3 %', '+30', '0', '–')
    """
    if value is None or value == 0:
        return show(value)
    return f"{'-' if value < 0 else '+'}{show(abs(value))}"


def ratio(value: float | None, reference: float | None) -> str:
    """How many times the reference a value is.

    >>> ratio(300.0, 200.0), ratio(5000.0, 2.0), ratio(2.0, 476.0), ratio(1.0, 36_100.0)
    ('1.50×', '2500×', '0.0042×', '0.000028×')
    >>> ratio(1.0, 0.0)
    '–'
    """
    if value is None or not reference:
        return MISSING
    quotient = value / reference
    if 0 < quotient < 0.1:
        decimals = 1 - math.floor(math.log10(quotient))
        return f"{quotient:.{decimals}f}×"
    return f"{quotient:.1e}×" if quotient >= 10_000 else f"{number(quotient)}×"


def memory(size_bytes: int | None) -> str:
    """An amount of memory in powers of 1024.

    >>> memory(805_306_368)
    '768 MiB'
    """
    if size_bytes is None:
        return MISSING
    return _scaled(float(size_bytes), ["B", "KiB", "MiB", "GiB"], 1024.0)


def duration(seconds: float) -> str:
    """A duration to wait for, roughly.

    >>> duration(0.2), duration(3.4), duration(95.0), duration(7260.0)
    ('1 s', '3 s', '1 min 35 s', '2 h 1 min')
    """
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def words(key: str) -> str:
    """A key of a document as words.

    >>> words("free_pages_min")
    'free pages min'
    """
    return key.replace("_", " ")


def value(found: Any) -> str:
    """A value of a document, whatever its type.

    >>> value(891288), value(0.018), value(True), value([1, 2]), value({"a_b": None})
    ('891,288', '0.018', 'yes', '1; 2', 'a b –')
    """
    match found:
        case None:
            return MISSING
        case bool():
            return "yes" if found else "no"
        case int():
            return f"{found:,}"
        case float():
            return exact_number(found)
        case Mapping():
            return ", ".join(f"{words(key)} {value(each)}" for key, each in found.items())
        case list():
            shown = "; ".join(map(value, found[:LIST_ITEMS_MAX]))
            more = len(found) - LIST_ITEMS_MAX
            return f"{shown}; and {more:,} more" if more > 0 else shown
        case _:
            return str(found)


def seeds(first: int, number: int) -> str:
    """Seeds by their numbers.

    >>> seeds(7, 1), seeds(7, 5)
    ('7', '7 to 11')
    """
    return f"{first}" if number == 1 else f"{first} to {first + number - 1}"
