"""tinytail, a laboratory for the tail latency of solid-state drives.

Designs are compared on the same workload, on drives aged alike:

    import tinytail

    comparison = tinytail.compare(["base", "base+no-gc"], device="ttflash-256g", workload="dtrs")
    print(comparison.table())
    print(comparison.result("base").read.p99_us)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tinytail.analysis.page_layout import PageLayout, analyze_page_layout, read_page_times
    from tinytail.analysis.rate_matching import RateMatching, analyze_rate_matching
    from tinytail.analysis.rotation import Rotation, analyze_rotation
    from tinytail.certification import (
        Certification,
        DesignRatings,
        Rating,
        Step,
        certification_schema,
        certify_act,
    )
    from tinytail.comparison.plan import ComparisonOptions, compare
    from tinytail.comparison.read import read_results
    from tinytail.comparison.result import Comparison, DesignResult, Out, results_schema
    from tinytail.engine.cache import clear_image_cache, image_cache
    from tinytail.engine.catalog import (
        Claim,
        Description,
        Entry,
        config_check,
        config_schema,
        design,
        designs,
        device,
        devices,
        workload,
        workload_claims,
        workloads,
    )
    from tinytail.engine.jobs import DesignProgress
    from tinytail.engine.methods import AttributionGroup, CauseShare
    from tinytail.engine.native import image_info, version
    from tinytail.engine.options import RunOptions, TraceOptions, Transform
    from tinytail.engine.results import (
        Attribution,
        BlockErases,
        Bursts,
        Configured,
        DesignError,
        Distribution,
        GcAffected,
        GcTimes,
        Interval,
        Latency,
        Log,
        Replicate,
        RequestTimelines,
        Series,
        Setting,
        Timeline,
        Violation,
        Wear,
        Workload,
    )
    from tinytail.errors import (
        ConfigError,
        Interrupted,
        NoResultError,
        OutputError,
        ResultsError,
        RunError,
        TinytailError,
        UsageError,
        WorkloadError,
    )
    from tinytail.explanation import (
        CauseRank,
        Change,
        Counterfactual,
        Explanation,
        Paired,
        Ranking,
        RequestTimeline,
        TimelineGc,
        TimelineSegment,
        counterfactual,
        explain,
    )
    from tinytail.images import create_image
    from tinytail.power import PowerCutResult, PowerCuts, RecoveryTimes, verify_power_cut
    from tinytail.server import serve
    from tinytail.traces.trace import trace_convert, trace_info
    from tinytail.verdict.noise import compare_within_noise

    __version__: str

__all__ = [
    "Attribution",
    "AttributionGroup",
    "BlockErases",
    "Bursts",
    "CauseRank",
    "CauseShare",
    "Certification",
    "Change",
    "Claim",
    "Comparison",
    "ComparisonOptions",
    "ConfigError",
    "Configured",
    "Counterfactual",
    "Description",
    "DesignError",
    "DesignProgress",
    "DesignRatings",
    "DesignResult",
    "Distribution",
    "Entry",
    "Explanation",
    "GcAffected",
    "GcTimes",
    "Interrupted",
    "Interval",
    "Latency",
    "Log",
    "NoResultError",
    "Out",
    "OutputError",
    "PageLayout",
    "Paired",
    "PowerCutResult",
    "PowerCuts",
    "Ranking",
    "RateMatching",
    "Rating",
    "RecoveryTimes",
    "Replicate",
    "RequestTimeline",
    "RequestTimelines",
    "ResultsError",
    "Rotation",
    "RunError",
    "RunOptions",
    "Series",
    "Setting",
    "Step",
    "Timeline",
    "TimelineGc",
    "TimelineSegment",
    "TinytailError",
    "TraceOptions",
    "Transform",
    "UsageError",
    "Violation",
    "Wear",
    "Workload",
    "WorkloadError",
    "__version__",
    "analyze_page_layout",
    "analyze_rate_matching",
    "analyze_rotation",
    "certification_schema",
    "certify_act",
    "clear_image_cache",
    "compare",
    "compare_within_noise",
    "config_check",
    "config_schema",
    "counterfactual",
    "create_image",
    "design",
    "designs",
    "device",
    "devices",
    "explain",
    "image_cache",
    "image_info",
    "read_page_times",
    "read_results",
    "results_schema",
    "serve",
    "trace_convert",
    "trace_info",
    "verify_power_cut",
    "version",
    "workload",
    "workload_claims",
    "workloads",
]

_MODULES = (
    "engine.cache",
    "comparison.plan",
    "engine.native",
    "engine.catalog",
    "errors",
    "images",
    "verdict.noise",
    "analysis.page_layout",
    "analysis.rate_matching",
    "comparison.read",
    "comparison.result",
    "analysis.rotation",
    "engine.jobs",
    "traces.trace",
    "explanation",
    "certification",
    "server",
    "power",
    "engine.methods",
    "engine.results",
    "engine.options",
)


def __getattr__(name: str) -> Any:
    """Imports a name when it is first used: a command must be able to answer Ctrl-C before."""
    if name in __all__:
        wanted = "version" if name == "__version__" else name
        for module in _MODULES:
            found = vars(import_module(f"tinytail.{module}"))
            if wanted in found:
                value = found[wanted]
                globals()[name] = value() if name == "__version__" else value
                return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
