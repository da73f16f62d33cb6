"""What copybacks without ECC do to a worn drive, and what scrubbing does about it.

Writes a Markdown table: bit errors by the wear of the drive, with and without scrubbing, and what
scrubbing costs. TTFLASH (section 7) proposes it and measures nothing.
Run: .venv/bin/python experiments/scrubbing.py
"""

from __future__ import annotations

import sys

import tinytail
from tinytail.inputs.tables import DesignNamed

# The ECC, the rated cycles and the rate at the end of them are those of a 3x nm MLC part as Hetzler
# gives them (The error rate surface for MLC NAND flash, 2012), the age of a year included; the rate
# of a new block is his factor of 20,000 below. The exponent is an estimate.
ERRORS = {
    "errors.fresh_rber": 1.7e-8,
    "errors.rated_rber": 3.4e-4,
    "errors.rated_erases": 3000,
    "errors.exponent": 2,
    "errors.codeword_bytes": 512,
    "errors.correctable_bits": 15,
}

# Half reads, half writes, 90 % of them to 10 % of the live data: cold pages are copied again and
# again.
WORKLOAD = {
    "summary": "reads and writes of hot and cold data",
    "synthetic": {
        "rate_per_s": 6_000,
        "block_bytes": 4096,
        "read_share": 0.5,
        "addresses": "hot-cold",
        "hot_space_share": 0.1,
        "hot_access_share": 0.9,
        "requests": 2_000_000,
    },
}

# Longer pauses scrub less; a rewrite threshold of 0 rewrites every page that is scrubbed.
VARIANTS = {
    "scrub": {},
    "scrub-slow": {"pause_us": 50_000},
    "scrub-all": {"rewrite_percent": 0},
}


def out(line: str) -> None:
    """Writes a line of a table."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def count(result: tinytail.DesignResult, end: str) -> int:
    """The counter whose name ends so."""
    return next(value for name, value in result.techniques.items() if name.endswith(end))


def row(label: str, result: tinytail.DesignResult) -> str:
    """A line of the table."""
    pages = result.read.count
    beyond = count(result, "host's pages beyond it")
    lost = count(result, "host's pages beyond it and lost")
    cells = [
        f"{count(result, 'most copybacks of a page in a row')}",
        f"{beyond:,} ({beyond * 1e6 / pages:,.1f} ppm)",
        f"{lost:,}",
        f"{count(result, 'that met a page beyond it'):,}",
        f"{count(result, 'pages beyond the ECC'):,}",
        f"{count(result, ': pages read'):,}",
        f"{count(result, 'pages written anew'):,}",
        f"{result.write_amplification:.3f}",
        f"{result.read.p99_us:,.0f}",
        f"{result.read.p999_us:,.0f}",
        f"{result.read.p9999_us:,.0f}",
    ]
    return f"| {label} | {result.gc_count:,} | " + " | ".join(cells) + " |"


def main() -> None:
    """Runs every variant and writes the table."""
    out(
        "| erases before, design | GCs | most copybacks | reads beyond ECC | of these lost | "
        "reconstructions spoilt | scrubs beyond ECC | scrubbed | rewritten | WA | p99 us | "
        "p99.9 us | p99.99 us |"
    )
    out("|---" + "|--:" * 12 + "|")
    designs: dict[str, DesignNamed] = {
        "base+plane-blocking": "base+plane-blocking",
        "ttflash": "ttflash",
    }
    for name, values in VARIANTS.items():
        overlay = {"name": name, "scrub": {"policy": "idle", **values}}
        designs[f"ttflash+{name}"] = ["ttflash", overlay]
    designs["ttflash+through-controller"] = "ttflash+through-controller"
    for erases in (500, 1500, 3000):
        device = {"base": "ttflash-small", "set": {**ERRORS, "errors.erases_before": erases}}
        comparison = tinytail.compare(list(designs.values()), device=device, workload=WORKLOAD)
        for label, result in zip(designs, comparison.results, strict=True):
            out(row(f"{erases}: {label}", result))


if __name__ == "__main__":
    main()
