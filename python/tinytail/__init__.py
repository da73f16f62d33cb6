"""tinytail, a laboratory for the tail latency of solid-state drives.

Designs are compared on the same workload from the same state:

    import tinytail

    comparison = tinytail.compare(["base", "base+no-gc"], device="ttflash-256g", workload="dtrs")
    print(comparison.table())
    print(comparison.result("base").read.p99_us)
"""

from tinytail.compare import DesignProgress, compare
from tinytail.engine import (
    Description,
    Entry,
    Setting,
    config_check,
    config_schema,
    design,
    designs,
    device,
    devices,
    trace_info,
    version,
    workload,
    workloads,
)
from tinytail.errors import (
    ConfigError,
    Interrupted,
    OutputError,
    RunError,
    TinytailError,
    UsageError,
    WorkloadError,
)
from tinytail.results import (
    Blame,
    BlameGroup,
    CauseShare,
    Comparison,
    DesignError,
    DesignResult,
    Latency,
    Workload,
    results_schema,
)

__version__ = version()

__all__ = [
    "Blame",
    "BlameGroup",
    "CauseShare",
    "Comparison",
    "ConfigError",
    "Description",
    "DesignError",
    "DesignProgress",
    "DesignResult",
    "Entry",
    "Interrupted",
    "Latency",
    "OutputError",
    "RunError",
    "Setting",
    "TinytailError",
    "UsageError",
    "Workload",
    "WorkloadError",
    "__version__",
    "compare",
    "config_check",
    "config_schema",
    "design",
    "designs",
    "device",
    "devices",
    "results_schema",
    "trace_info",
    "version",
    "workload",
    "workloads",
]
