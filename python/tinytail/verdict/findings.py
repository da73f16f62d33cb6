"""What a comparison's figures mean less for than they seem to, beyond what each run says itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tinytail import units
from tinytail.verdict.noise import compare_within_noise
from tinytail.verdict.percentiles import Headline, headline

if TYPE_CHECKING:
    from tinytail.comparison.result import Comparison, DesignResult
    from tinytail.engine.results import ComparedFinding, FindingCode

# Closer than this, latencies are the same: percentiles are within 0.1 % of the truth.
SAME_PERCENT = 2.0
# Rates that differ by more are different loads.
SAME_RATE_PERCENT = 5.0


def usable_reference(comparison: Comparison) -> DesignResult | None:
    """The result that ratios are taken to; None if there is none.

    It is that of the reference. If the reference did not come to its end and several others did,
    the first of them takes its place; one with a GC that ran, if there is one.
    """
    whole = [result for result in comparison.results if not result.partial]
    if len(whole) == 1 and whole[0].design != comparison.reference:
        return None

    def how_unlike(result: DesignResult) -> tuple[bool, bool, bool]:
        return (result.design != comparison.reference, is_bound(result), lacks_gc(result))

    return min(whole, key=how_unlike, default=None)


def is_bound(result: DesignResult) -> bool:
    """Whether its design has no GC, or one that takes no time, so that it bounds the others."""
    return result.gc != "real"


def lacks_gc(result: DesignResult) -> bool:
    """Whether its GC had work and did none, so that it lived on pages that were erased before."""
    return any(found.code == "no_gc" and "host_pages" in found.figures for found in result.findings)


def lacking_gc(result: DesignResult, reference: DesignResult) -> DesignResult | None:
    """Which of two keeps them from being compared, since its GC did none of its work.

    A bound is compared with anything.
    """
    if is_bound(result):
        return None
    return next((each for each in (result, reference) if lacks_gc(each)), None)


def has_ratio(result: DesignResult, reference: DesignResult | None) -> bool:
    """Whether a result's figures are compared with those of the reference."""
    if reference is None or result is reference or result.partial:
        return False
    return lacking_gc(result, reference) is None


def within_noise(result: DesignResult, other: DesignResult, judged_by: Headline) -> bool | None:
    """Whether two results differ by no more than chance; None if that is not known."""
    figure = f"{judged_by.kind}.{judged_by.percentile.key}"
    return compare_within_noise(result, other, figure)


def quotient(value: float | None, reference: float | None) -> float | None:
    """How many times the reference a value is; None where that has no meaning."""
    return value / reference if value is not None and reference else None


def same(ratio: float) -> bool:
    """Whether a ratio is so near to 1 that it says nothing."""
    return abs(ratio - 1) * 100 <= SAME_PERCENT


def compared(comparison: Comparison) -> list[ComparedFinding]:
    """The findings that concern several results together, in the order of their rank."""
    whole = [result for result in comparison.results if not result.partial]
    return [
        *_other_reference(comparison),
        *_no_gc(whole),
        *_closed_loop(whole),
        *_few_gcs(whole),
        *_against_reference(comparison, whole),
    ]


def _finding(
    code: FindingCode,
    message: str,
    figures: dict[str, float],
    designs: Sequence[DesignResult],
) -> ComparedFinding:
    from tinytail.engine.results import ComparedFinding

    return ComparedFinding(code, message, figures, tuple(result.design for result in designs))


def _other_reference(comparison: Comparison) -> Iterator[ComparedFinding]:
    """The reference stopped, and the others are compared with one of them."""
    reference = usable_reference(comparison)
    if reference is None or reference.design == comparison.reference:
        return
    yield _finding(
        "other_reference",
        f"{comparison.reference} did not come to its end: ratios are taken to {reference.design}",
        {},
        [],
    )


def _closed_loop(results: Sequence[DesignResult]) -> Iterator[ComparedFinding]:
    loops = {"closed": "closed loop", "bounded": "with a bound on what is outstanding"}
    pacings = {result.workload.pacing for result in results}
    if len(results) < 2 or len(pacings) > 1 or not pacings <= set(loops):
        return
    served = [result.throughput.served_per_second for result in results]
    rates = [rate for rate in served if rate is not None]
    if not rates or max(rates) <= min(rates) * (1 + SAME_RATE_PERCENT / 100):
        return
    low, high = min(rates), max(rates)
    yield _finding(
        "closed_loop",
        f"{loops[pacings.pop()]}: {units.rate(low)} to {units.rate(high)} requests/s, so "
        "latencies are of different loads",
        {"least_per_second": low, "most_per_second": high},
        results,
    )


def _no_gc(results: Sequence[DesignResult]) -> Iterator[ComparedFinding]:
    without = [each for each in results if any(f.code == "no_gc" for f in each.findings)]
    bounds = [each for each in results if each.gc == "never"]
    if len(results) > 1 and without and len(without) + len(bounds) == len(results):
        yield _finding(
            "no_gc",
            "no GC ran in any design, so what they do about GC made no difference",
            {},
            results,
        )


def _few_gcs(results: Sequence[DesignResult]) -> Iterator[ComparedFinding]:
    """Designs that ran few GCs each: a line for all of them."""
    few = {
        result.design: finding.figures["gcs"]
        for result in results
        for finding in result.findings
        if finding.code == "few_gcs"
    }
    least, most = min(few.values(), default=0.0), max(few.values(), default=0.0)
    if least < most:
        yield _finding(
            "few_gcs",
            f"only {least:.0f} to {most:.0f} GCs ran: write amplification and wear mean little",
            {"least": least, "most": most},
            [result for result in results if result.design in few],
        )


def _against_reference(
    comparison: Comparison, results: Sequence[DesignResult]
) -> Iterator[ComparedFinding]:
    """Designs that make the headline worse, or differ from the reference by chance alone."""
    reference, judged_by = usable_reference(comparison), headline(results)
    if reference is None or judged_by is None:
        return
    was = judged_by.of(reference)
    for result in results:
        value = judged_by.of(result)
        ratio = quotient(value, was)
        if not has_ratio(result, reference) or ratio is None or value is None or was is None:
            continue
        what = f"{judged_by.percentile.name} of {judged_by.kind}s"
        figures = {"latency_us": value, "reference_us": was}
        shown = f"{units.latency(value)}, and that of {reference.design} {units.latency(was)}"
        if within_noise(result, reference, judged_by):
            message = f"{what} of {result.design} differs within noise: {shown}"
            yield _finding("within_noise", message, figures, [result])
        elif ratio > 1 and not same(ratio):
            message = f"{result.design} makes {what} worse: {shown}"
            yield _finding("worse", message, figures, [result])
