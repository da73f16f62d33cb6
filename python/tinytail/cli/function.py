"""Commands made from public functions: parameters become options, and docstrings their help."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import docstring_parser

from tinytail.cli.flags import (
    DESIGNS,
    NO_TRACE_FLAGS,
    NO_TRANSFORM_FLAGS,
    WHOLE,
    DesignName,
    DeviceName,
    PositiveOrNone,
    Seed,
    SetWords,
    TraceFlags,
    TransformFlags,
    WorkloadName,
    whole,
)
from tinytail.engine.arguments import state_from_words
from tinytail.engine.declared import Whole, values
from tinytail.engine.options import TraceOptions

Given = dict[str, Any]

# What a terminal has in place of a function.
_LEFT_OUT = frozenset({"progress", "stop", "watch"})
# Parameters that many functions have: how a command line says them, and what they are.
_KINDS: dict[str, Any] = {
    "designs": Annotated[list[str] | None, DESIGNS],
    "device": DeviceName,
    "design": DesignName,
    "workload": WorkloadName,
    "state": list[str] | None,
    "settings": SetWords,
    "seed": Seed,
    "jobs": PositiveOrNone,
    "transform": TransformFlags,
}
_COMMANDS = {"compare": "tinytail compare", "create_image": "tinytail image create"}
_HELP = {
    "device": "Name of a drive (see `tinytail devices`) or path of its file.",
    "state": "A value of the starting state that replaces the device's, as KEY=VALUE, such as "
    "live_percent=80; may be given several times.",
    "settings": "A value that replaces one of the files that are named, as SECTION.KEY=VALUE, such "
    "as gc.write_points=4; may be given several times.",
    "seed": "Seed of whatever is random; the same seed gives the same results.",
    "json": "File for the same as JSON; - is standard output, and everything else then goes to "
    "standard error.",
}


def command_of(
    function: Callable[..., Any], **kinds: Any
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Makes a command of a function.

    What is decorated gets the function's arguments by name as a dictionary, and options of its own
    by keyword. Its docstring says what its own options are, and may say the rest in other words.

    Args:
        function: the public function.
        kinds: parameters of it that a command line has in another form, by name.
    """

    def make(act: Callable[..., int]) -> Callable[..., int]:
        taken = _parameters(function, kinds)
        own = list(inspect.signature(act, eval_str=True).parameters.values())[1:]

        def command(*words: Any, **options: Any) -> int:
            bound = signature.bind(*words, **options)
            bound.apply_defaults()
            given = bound.arguments
            mine = {each.name: given.pop(each.name) for each in own}
            return act(_given(given, function), **mine)

        signature = inspect.Signature([*taken, *own], return_annotation=int)
        command.__signature__ = signature  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in (*taken, *own)}
        command.__name__ = act.__name__
        command.__module__ = act.__module__
        command.__doc__ = _help(function, act, [*taken, *own])
        return command

    return make


def _parameters(function: Callable[..., Any], kinds: Given) -> list[inspect.Parameter]:
    hints = get_type_hints(function, include_extras=True)
    found = []
    for each in inspect.signature(function).parameters.values():
        if each.name in _LEFT_OUT:
            continue
        if each.kind is inspect.Parameter.VAR_KEYWORD:
            # The options of a trace, each an option of the command.
            options = each.replace(kind=each.KEYWORD_ONLY, annotation=TraceFlags)
            found.append(options.replace(default=NO_TRACE_FLAGS))
            continue
        kind = kinds.get(each.name) or _kind(each.name, hints[each.name])
        default = NO_TRANSFORM_FLAGS if kind is TransformFlags else each.default
        if each.name == "designs":
            default = None
        made = each.replace(annotation=kind, default=default)
        is_first = made.kind is made.POSITIONAL_OR_KEYWORD
        found.append(made.replace(kind=made.POSITIONAL_ONLY) if is_first else made)
    return found


def _kind(name: str, hint: Any) -> Any:
    """The type of an option from that of a parameter."""
    if name in _KINDS:
        is_optional = NoneType in get_args(hint) and NoneType not in get_args(_KINDS[name])
        return _KINDS[name] | None if is_optional else _KINDS[name]
    parts = get_args(hint)
    if get_origin(hint) is Annotated:
        bounds = next((each for each in parts if isinstance(each, Whole)), None)
        return hint if bounds is None else Annotated[parts[0], whole(bounds.least, bounds.most)]
    if any(get_origin(each) is os.PathLike for each in parts) or str in parts:
        return str | None if NoneType in parts else str
    return Annotated[hint, WHOLE] if int in (hint, *parts) else hint


def _given(options: Given, function: Callable[..., Any]) -> Given:
    """Arguments of the function from what stood on the command line."""
    given = dict(options)
    if "state" in given:
        given["state"] = state_from_words(given["state"] or [])
    if given.get("designs", ...) is None:
        given["designs"] = inspect.signature(function).parameters["designs"].default
    for name, value in options.items():
        if isinstance(value, TraceOptions):
            del given[name]
            given |= values(value, TraceOptions)
    return given


def _help(
    function: Callable[..., Any], act: Callable[..., int], parameters: list[inspect.Parameter]
) -> str:
    of_function, of_act = (docstring_parser.parse(each.__doc__ or "") for each in (function, act))
    said = {each.arg_name: each.description or "" for each in of_function.params}
    said |= _HELP | {each.arg_name: each.description or "" for each in of_act.params}
    short = of_act.short_description or of_function.short_description or ""
    long = of_act.long_description or of_function.long_description or ""
    lines = [short, "", long, "", "Parameters", "----------"]
    names = {each.name for each in parameters if each.kind is each.KEYWORD_ONLY}
    for each in parameters:
        text = _in_words_of_commands(" ".join(said.get(each.name, "").split()), names)
        if text:
            lines += [each.name, f"    {text[0].upper()}{text[1:]}"]
    return "\n".join(lines)


def _in_words_of_commands(text: str, names: set[str]) -> str:
    """Help in which options and commands have the names that they have on a terminal."""

    def command(found: re.Match[str]) -> str:
        name = found[1]
        if name in names:
            return f"--{name.replace('_', '-')}"
        return f"`{_COMMANDS[name]}`" if name in _COMMANDS else name.strip('"')

    return re.sub(r"`([^` ]+)`", command, text)
