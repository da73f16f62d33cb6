"""Victims in Python: greedy and cost-benefit, each at both speeds.

A design names one as { policy = "custom", file = "victims.py", name = "greedy" }; see
docs/guides/python-policies.md.
"""

from collections.abc import Sequence

import tinytail
from tinytail.policies import View


@tinytail.policy("victim")
def greedy(view: View, plane: int, candidates: Sequence[int]) -> int:
    """The fewest valid pages."""
    return min(candidates, key=view.valid_pages.__getitem__)


@tinytail.policy("victim", compiled=True)
def greedy_compiled(view: View, plane: int, candidates: Sequence[int]) -> int:
    """The same, compiled by Numba."""
    best = candidates[0]
    for block in candidates:
        if view.valid_pages[block] < view.valid_pages[best]:
            best = block
    return best


def _cost_benefit(view: View, plane: int, candidates: Sequence[int]) -> int:
    """The greatest age x (1 - u) / 2u, u being the valid share of a block's pages."""
    clock, best, most, least = view.clock[plane], -1, 0, 1
    for block in candidates:
        cost = view.valid_pages[block]
        age = clock - view.closed_at[block] + 1
        benefit = age * (view.pages_per_block - cost)
        # Fractions are compared exactly: benefit / cost against most / least.
        if best < 0 or benefit * least > most * cost:
            best, most, least = block, benefit, cost
    return best


cost_benefit = tinytail.policy("victim")(_cost_benefit)
cost_benefit_compiled = tinytail.policy("victim", compiled=True)(_cost_benefit)
