"""Whether reads in bursts explain how little fast pages gain in Figure 9 of The Harey Tortoise.

Section 5.2 speaks of reads that block and stall bursts, and the traces' shares of reads are not
published. Bursts of 3,560 requests to pages at random, with more and more reads, are played on the
larger drive with one and 32 write points and on the all-fast array, where what can't start is
passed over, and where the host is served in order.

Writes a Markdown table: by the share of reads and the order, the bandwidth of what bursts write,
over the baseline's, and the baseline's mean burst.
Run: .venv/bin/python experiments/burst_reads.py
"""

from __future__ import annotations

import sys

import tinytail

SHARES = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98)
EXTERNALS = ("passed_over", "in_order")
DESIGNS = ("harey-baseline", "rtf-weak", "rtf-weak+write-points-32")
STATE: dict[str, float | str] = {"free_percent": 3, "ageing": "random"}
BURST = 3560


def bursts(read_share: float) -> dict[str, object]:
    """Sixty bursts, and between two of them as long as between two of Build."""
    synthetic = {
        "burst_requests": BURST,
        "burst_idle_us": 1_740_000,
        "start_ms": 2000,
        "block_bytes": 4096,
        "read_share": read_share,
        "addresses": "uniform",
        "requests": 60 * BURST,
    }
    return {"summary": "bursts of reads and writes", "synthetic": synthetic}


def main() -> None:
    """Plays each share of reads in each order."""
    write = sys.stdout.write
    heads = "reads, % | order | weak RTF | weak RTF, 32 write points | all-fast | mean burst, us"
    write(f"| {heads} |\n|--:|---|" + "--:|" * 4 + "\n")
    for share in SHARES:
        for external in EXTERNALS:
            found = []
            for designs, device in ((DESIGNS, "harey-128g"), (DESIGNS[:1], "harey-128g-all-fast")):
                comparison = tinytail.compare(
                    designs,
                    device=device,
                    workload=bursts(share),
                    state=STATE,
                    settings=[f"order.external={external}"],
                )
                if comparison.errors:
                    raise RuntimeError(comparison.errors)
                found += [result.bursts for result in comparison.results]
            rates = [each.write_mb_per_second or 0.0 for each in found if each is not None]
            assert found[0] is not None
            gains = " | ".join(f"{rate / rates[0]:.2f}" for rate in rates[1:])
            write(f"| {100 * share:.0f} | `{external}` | {gains} | {found[0].mean_us:,.0f} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
