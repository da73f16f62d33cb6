"""tinytail, a laboratory for the tail latency of solid-state drives.

Designs are compared on the same workload, on drives aged alike:

    import tinytail

    comparison = tinytail.compare(["base", "base+no-gc"], device="ttflash-256g", workload="dtrs")
    print(comparison.table())
    print(comparison.result("base").read.p99_us)

What results are made of is in `tinytail.types`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tinytail.analysis.page_layout import (
        PageLayout as PageLayout,
        analyze_page_layout as analyze_page_layout,
        read_page_times as read_page_times,
    )
    from tinytail.analysis.rate_match import (
        RateMatching as RateMatching,
        analyze_rate_matching as analyze_rate_matching,
    )
    from tinytail.analysis.rotation import (
        Rotation as Rotation,
        analyze_rotation as analyze_rotation,
    )
    from tinytail.certification import (
        Certification as Certification,
        certify_act as certify_act,
    )
    from tinytail.comparison.plan import (
        ComparisonOptions as ComparisonOptions,
        compare as compare,
    )
    from tinytail.comparison.read_json import (
        read_results as read_results,
    )
    from tinytail.comparison.result import (
        Comparison as Comparison,
        DesignResult as DesignResult,
        ResultsFolder as ResultsFolder,
    )
    from tinytail.engine import results as types
    from tinytail.engine.answers import (
        ConvertedTrace as ConvertedTrace,
        ImageCache as ImageCache,
        ImageInfo as ImageInfo,
        Served as Served,
        TraceDescription as TraceDescription,
    )
    from tinytail.engine.cache import (
        clear_image_cache as clear_image_cache,
    )
    from tinytail.engine.catalog import (
        CheckedFile as CheckedFile,
        Claim as Claim,
        Description as Description,
        Entry as Entry,
        check_claims as check_claims,
        check_config as check_config,
        describe_design as describe_design,
        describe_device as describe_device,
        describe_workload as describe_workload,
        list_designs as list_designs,
        list_devices as list_devices,
        list_workloads as list_workloads,
    )
    from tinytail.engine.jobs import (
        DesignProgress as DesignProgress,
    )
    from tinytail.engine.options import (
        RunOptions as RunOptions,
        TraceOptions as TraceOptions,
        Transform as Transform,
    )
    from tinytail.errors import (
        ConfigError as ConfigError,
        Interrupted as Interrupted,
        NoResultError as NoResultError,
        OutputError as OutputError,
        ResultsError as ResultsError,
        RunError as RunError,
        TinytailError as TinytailError,
        UsageError as UsageError,
        WorkloadError as WorkloadError,
    )
    from tinytail.explanation import (
        Counterfactual as Counterfactual,
        Explanation as Explanation,
        RequestTimeline as RequestTimeline,
        explain as explain,
        explain_without as explain_without,
    )
    from tinytail.files.schema import (
        read_schema as read_schema,
    )
    from tinytail.images import (
        create_image as create_image,
        describe_image as describe_image,
        describe_image_cache as describe_image_cache,
    )
    from tinytail.inputs.tables import (
        read_table_text as read_table_text,
    )
    from tinytail.policies.policy import (
        Policy as Policy,
        policy as policy,
    )
    from tinytail.power import (
        PowerCuts as PowerCuts,
        verify_power_cut as verify_power_cut,
    )
    from tinytail.reproduction.reproduce import (
        Reproduction as Reproduction,
        reproduce as reproduce,
    )
    from tinytail.searches import (
        search as search,
    )
    from tinytail.searches.result import (
        Candidate as Candidate,
        LeftOut as LeftOut,
        Search as Search,
    )
    from tinytail.server import (
        serve as serve,
    )
    from tinytail.sweeps import (
        read_sweep as read_sweep,
        sweep as sweep,
    )
    from tinytail.sweeps.result import (
        Sweep as Sweep,
    )
    from tinytail.traces.trace import (
        convert_trace as convert_trace,
        describe_trace as describe_trace,
    )
    from tinytail.verdict.noise import (
        compare_within_noise as compare_within_noise,
    )

    __version__: str

# Where each public name is. A name is imported when it is first used: a command must be able to
# answer Ctrl-C before, and an error must not cost what a comparison does.
_NAMES = {
    "tinytail.analysis.page_layout": "PageLayout analyze_page_layout read_page_times",
    "tinytail.analysis.rate_match": "RateMatching analyze_rate_matching",
    "tinytail.analysis.rotation": "Rotation analyze_rotation",
    "tinytail.certification": "Certification certify_act",
    "tinytail.comparison.plan": "ComparisonOptions compare",
    "tinytail.comparison.read_json": "read_results",
    "tinytail.comparison.result": "Comparison DesignResult ResultsFolder",
    "tinytail.engine.answers": "ConvertedTrace ImageCache ImageInfo Served TraceDescription",
    "tinytail.engine.cache": "clear_image_cache",
    "tinytail.engine.catalog": (
        "CheckedFile Claim Description Entry check_claims check_config describe_design "
        "describe_device describe_workload list_designs list_devices list_workloads"
    ),
    "tinytail.engine.jobs": "DesignProgress",
    "tinytail.engine.options": "RunOptions TraceOptions Transform",
    "tinytail.errors": (
        "ConfigError Interrupted NoResultError OutputError ResultsError RunError "
        "TinytailError UsageError WorkloadError"
    ),
    "tinytail.explanation": "Counterfactual Explanation RequestTimeline explain explain_without",
    "tinytail.files.schema": "read_schema",
    "tinytail.images": "create_image describe_image describe_image_cache",
    "tinytail.inputs.tables": "read_table_text",
    "tinytail.policies.policy": "Policy policy",
    "tinytail.power": "PowerCuts verify_power_cut",
    "tinytail.reproduction.reproduce": "Reproduction reproduce",
    "tinytail.searches": "search",
    "tinytail.searches.result": "Candidate LeftOut Search",
    "tinytail.server": "serve",
    "tinytail.sweeps": "read_sweep sweep",
    "tinytail.sweeps.result": "Sweep",
    "tinytail.traces.trace": "convert_trace describe_trace",
    "tinytail.verdict.noise": "compare_within_noise",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = ["__version__", "types", *_MODULES]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from tinytail._native import version

        value: Any = version()
    elif name == "types":
        value = import_module("tinytail.engine.results")
    elif name in _MODULES:
        value = getattr(import_module(_MODULES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
