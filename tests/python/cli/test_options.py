"""Options: what the engine declares is an option of the command line and a keyword argument."""

from __future__ import annotations

import shlex
from dataclasses import fields
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import pytest

import tinytail
from commands import RunCommand
from fake_native import FakeNative
from tinytail.comparison.plan import ComparisonKeywords, ComparisonOptions
from tinytail.engine import options
from tinytail.engine.declared import Options, Whole
from tinytail.engine.options import RunOptions, RunSpec, TraceOptions, Transform

DRIVE: dict[str, Any] = {"device": "ttflash-256g", "workload": "dtrs"}
KINDS = (RunOptions, TraceOptions, Transform)


def example(hint: Any) -> Any:
    """A value of a type that is no option's default."""
    kind, parts = get_origin(hint), get_args(hint)
    if kind is Annotated:
        bounds: Whole = parts[1]
        return bounds.least + 3
    if kind is Literal:
        return parts[-1]
    if kind is tuple:
        return tuple(0.5 + position for position, _ in enumerate(parts))
    if parts:
        return example(next(each for each in parts if each is not NoneType))
    return {bool: True, float: 0.25, str: "x=1,y"}[hint]


def examples(kind: type[Options]) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {each.name: example(hints[each.name]) for each in fields(kind)}


def test_every_option_is_a_keyword_argument_and_one_of_the_command_line(
    command: RunCommand, native: FakeNative
) -> None:
    run, trace = examples(RunOptions), examples(TraceOptions)
    transform = Transform(**examples(Transform))
    comparison = tinytail.compare(["base"], **DRIVE, **run, **trace, transform=transform)
    (spec,) = native.specs
    assert {name: spec[name] for name in run} == run
    assert spec["trace"] == trace
    assert list(spec["transform"]) == [each.name for each in fields(Transform)]
    words = shlex.split(comparison.command)[1:]
    for kind in KINDS:
        assert set(kind(**examples(kind)).words()) <= set(words)
    outcome = command(*words)
    assert outcome.code == 0, outcome.err
    assert native.specs[1] == spec


def test_keyword_arguments_are_the_options() -> None:
    named = {each.name for kind in (ComparisonOptions, TraceOptions) for each in fields(kind)}
    assert set(get_type_hints(ComparisonKeywords)) == named


@pytest.mark.parametrize("command_words", [("compare",), ("trace", "info"), ("trace", "convert")])
def test_the_help_is_what_the_engine_says(
    command: RunCommand, command_words: tuple[str, ...]
) -> None:
    said = " ".join(command(*command_words, "--help").out.replace("│", " ").split())
    for kind in KINDS[command_words != ("compare",) :]:
        for each in fields(kind):
            assert f"--{each.name.replace('_', '-')} " in said
    assert "Multiply sizes by this, to the nearest sector; addresses stay." in said


def test_only_what_differs_from_its_default_is_handed_on() -> None:
    named: dict[str, Any] = {"device": "d", "design": "b", "workload": "w"}
    assert RunSpec(**named).given() == named
    assert RunSpec(**named, seed=1, windows=200, trace=TraceOptions()).given() == named
    spec = RunSpec(**named, seed=2, trace=TraceOptions(queue_depth=4), without=("gc",))
    assert spec.given() == named | {"seed": 2, "trace": {"queue_depth": 4}, "without": ["gc"]}


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (RunOptions, {"write_stall_s": 10**7}, "write_stall_s must be .* from 1 to 1000000, not"),
        (RunOptions, {"verify": 1}, "verify must be True or False, not 1"),
        (RunOptions, {"windows": None}, "windows must be a whole number .*, not None"),
        (TraceOptions, {"queue_depth": 2**32}, "queue_depth must be .* to 4294967295, not"),
        (Transform, {"window_s": (1,)}, r"window_s must be a list of 2, not \(1,\)"),
        (Transform, {"window_s": (1, "2")}, "window_s must be a number, not '2'"),
        (Transform, {"burst_gap_s": "median"}, "burst_gap_s must be one of mean, not 'median'"),
        (Transform, {"burst_gap_s": True}, "burst_gap_s must be a number, not True"),
        (Transform, {"scale_time": float("inf")}, "scale_time must be a number, not inf"),
        (Transform, {"fit": "flod"}, 'fit must be one of fold, clip, .*did you mean "fold"'),
        (options.LogSpec, {"path": 3, "command": ""}, "path must be text, not 3"),
    ],
)
def test_a_value_that_an_option_cannot_have_is_refused_when_it_is_made(
    kind: type[Options], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(tinytail.UsageError, match=message):
        kind(**given)
