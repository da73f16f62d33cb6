"""The drives of The Harey Tortoise (Table 1, section 2.2) and its equations (section 4.3.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tinytail.analysis.rate_match import analyze_rate_matching
from tinytail.engine import catalog, native
from tinytail.errors import ConfigError, TinytailError
from tinytail.reproduction.lab import Lab
from tinytail.reproduction.measures import Values
from tinytail.reproduction.prepare import Unavailable
from tinytail.reproduction.records import Measure

# --- Table 1 and section 2.2 ----------------------------------------------------------------------


def drive_facts(lab: Lab, *, facts: Mapping[str, Sequence[str]], per: float = 1) -> Values:  # noqa: ARG001
    """Values of devices: a device and its keys, which are multiplied, by the row's names.

    A key is `section.key`, with the place in a list behind it where the value is one.
    """
    found: Values = {}
    for name, (device, *keys) in facts.items():
        document = catalog.device_document(device)
        product = 1.0
        for key in keys:
            section, value_name, *place = key.split(".")
            try:
                value = document[section][value_name]
                product *= value[int(place[0])] if place else value
            except (KeyError, IndexError):
                raise ConfigError(f'{device} has no "{key}"') from None
        found[name] = product / per
    return found


def drive_facts_ratio(lab: Lab, *, above: Sequence[str], below: Sequence[str]) -> Values:
    """One value of a device over another, each as in `drive_facts`."""
    found = drive_facts(lab, facts={"above": above, "below": below})
    parts: Any = (found["above"], found["below"])
    return {"value": parts[0] / parts[1]}


def bus(lab: Lab, *, devices: Sequence[str]) -> Values:  # noqa: ARG001
    """Megabytes a second on the channel of each device, and the time of a page in microseconds."""
    values: Values = {"mb_s": [], "page_us": []}
    for device in devices:
        document = catalog.device_document(device)
        page_us = document["timing"]["transfer_page_ns"] / 1000
        for name, value in (
            ("mb_s", document["geometry"]["page_bytes"] / page_us),
            ("page_us", page_us),
        ):
            column: Any = values[name]
            column.append(value)
    return values


def spare(lab: Lab, *, devices: Sequence[str]) -> Values:  # noqa: ARG001
    """What of the physical pages is not logical, in percent."""
    return {"percent": [100 * _spare_share(catalog.device_document(each)) for each in devices]}


def _spare_share(document: Mapping[str, Any]) -> float:
    derived = document["derived"]
    # A capacity of whole pages is a share to a few digits.
    return round(1 - float(derived["logical_pages"]) / float(derived["physical_pages"]), 4)


def layout(
    lab: Lab,  # noqa: ARG001
    *,
    pattern: Sequence[tuple[str, int]],
    times: Mapping[str, float],
    device: str | None = None,
) -> Values:
    """What the detection of section 2.2 calls a pattern of pages, and how many it has of each kind.

    The pattern is of letters, each part as often as its number says, and each letter has a time.
    `misfits` are pages of which the layout of that name has another kind. `doubled` is the layout
    of the pattern with each page twice. `device_rule` is the layout of a device.
    """
    letters = "".join(part * repeats for part, repeats in pattern)
    found: Values = {"pages": len(letters)}
    named = _named(letters, times)
    found |= {"name": named["name"], "rule": named["layout"]}
    found |= {"misfits": named["outliers"]}
    try:
        found["doubled"] = _named("".join(letter * 2 for letter in letters), times)["name"]
    except TinytailError:
        found["doubled"] = None
    found |= {f"pages_{letter}": letters.count(letter) for letter in times}
    if device is not None:
        found["device_rule"] = catalog.device_document(device)["timing"]["page_class_layout"]
    return found


def _named(letters: str, times: Mapping[str, float]) -> dict[str, Any]:
    samples = [(page, float(times[letter])) for page, letter in enumerate(letters)]
    return native.page_layout(len(letters), samples)


# --- Section 4.3.1, Figure 6 ----------------------------------------------------------------------


def crossover(lab: Lab, *, device: str) -> Values:  # noqa: ARG001
    """Where FGC and SGC meet in the printed form: locality, pages moved, and MB/s there."""
    printed = analyze_rate_matching(device=device).printed
    point = printed.crossover
    if point is None:
        raise Unavailable(f"all pages of {device} are alike")
    return {
        "locality": point.locality_percent,
        "moved": point.moved,
        "matched": printed.matched_reads_crossover_percent,
        "rates": [getattr(point, name).mb_s for name in ("baseline", "fgc", "sgc")],
    }


def model_order(lab: Lab, *, device: str, from_percent: int, to_percent: int) -> Values:  # noqa: ARG001
    """At how many whole percents of locality the printed form has FGC above the baseline above SGC.

    `reverse` is the number of those with the opposite order.
    """
    printed = analyze_rate_matching(device=device).printed
    order = reverse = 0
    for percent in range(from_percent, to_percent + 1):
        point = printed.at(percent)
        rates = [point.fgc.mb_s, point.baseline.mb_s, point.sgc.mb_s]
        order += int(rates[0] > rates[1] > rates[2])
        reverse += int(rates[0] < rates[1] < rates[2])
    return {"order": order, "reverse": reverse, "points": to_percent - from_percent + 1}


def model_gains(lab: Lab, *, device: str, locality: int) -> Values:  # noqa: ARG001
    """FGC and SGC over the baseline in the printed form."""
    point = analyze_rate_matching(device=device).printed.at(locality)
    return {name: point.gain(name) for name in ("fgc", "sgc")}


def model_crossovers(lab: Lab, *, device: str, spare_percents: Sequence[float]) -> Values:  # noqa: ARG001
    """Where the printed form crosses with so much over-provisioning."""
    return {
        f"at_{percent:g}": analyze_rate_matching(
            device=device, spare_percent=percent
        ).printed.crossover_locality_percent
        for percent in spare_percents
    }


def equation_errors(lab: Lab, *, device: str, equation: int) -> Values:  # noqa: ARG001
    """The largest relative difference from an equation, over all localities and placements."""
    found = analyze_rate_matching(device=device)
    document = catalog.device_document(device)
    geometry, timing = document["geometry"], document["timing"]
    page, pages = geometry["page_bytes"], geometry["pages_per_block"]
    fast, slow = (ns / 1000 for ns in timing["program_ns"])
    read_us = sum(timing["read_ns"]) / 2000
    share = _spare_share(document)
    mean = (fast + slow) / 2
    errors = []
    for percent in range(1, 100):
        moved = pages * (100 - percent) / 100
        for name, host_us, gc_us in (
            ("baseline", mean, mean),
            ("fgc", slow, fast),
            ("sgc", fast, slow),
        ):
            rates = getattr(found.printed.at(percent), name)
            if equation == 1:
                wanted, got = page / host_us, rates.external_mb_s
            else:
                busy_us = moved * (read_us + gc_us) + timing["erase_step_ns"] / 1000
                wanted, got = share * pages * page / busy_us, rates.gc_mb_s
            errors.append(abs(got / wanted - 1))
    return {"error": max(errors), "cases": len(errors)}


DRIVES: dict[str, Measure] = {
    measure.__name__: measure
    for measure in (
        bus,
        crossover,
        drive_facts,
        drive_facts_ratio,
        equation_errors,
        layout,
        model_crossovers,
        model_gains,
        model_order,
        spare,
    )
}
