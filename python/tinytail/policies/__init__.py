"""Policies in Python: functions and classes that answer a design's questions.

A policy is decorated with `tinytail.policy` and stands in a design where its own techniques do.
What it is asked, `View` and its neighbours say; what it may answer, the names below.
"""

from __future__ import annotations

from tinytail.policies.answers import (
    AT_CHANNEL,
    AT_DIE,
    CLOSED,
    DIRECT,
    HARD,
    NO,
    OPEN,
    RECONSTRUCT,
    SOFT,
    WAIT,
    Work,
    ask_at,
    suspend_at_boundary,
    suspend_now,
)
from tinytail.policies.policy import Policy, policy
from tinytail.policies.views import Column, Read, View, Waiting

__all__ = [
    "AT_CHANNEL",
    "AT_DIE",
    "CLOSED",
    "DIRECT",
    "HARD",
    "NO",
    "OPEN",
    "RECONSTRUCT",
    "SOFT",
    "WAIT",
    "Column",
    "Policy",
    "Read",
    "View",
    "Waiting",
    "Work",
    "ask_at",
    "policy",
    "suspend_at_boundary",
    "suspend_now",
]
