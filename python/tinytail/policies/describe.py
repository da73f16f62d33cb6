"""Policies as the text of their file describes them, where nothing runs: no code of the file runs.

The text is parsed. A fault that it shows is refused here. Some files do not make their policies by
a decorator at the top level. Their faults come to light in their runs.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tinytail.errors import ConfigError
from tinytail.policies.given import accepted, check_compiled, check_parameters, levels_of
from tinytail.policies.load import place, without
from tinytail.policies.policy import METHODS

# By these a module may have names that its text does not show.
_DYNAMIC = ("exec", "eval", "globals", "locals", "vars", "setattr", "__import__")

Definition = ast.FunctionDef | ast.ClassDef


def describe(
    section: str, name: str, file: str, text: str, parameters_json: str
) -> tuple[float, float, float] | None:
    """Checks the policy that an entry of a design names against the text of its file.

    Returns:
        Of a trigger, where GC starts, stops and is urgent, in percent; None if the text does not
        show it.

    Raises:
        ConfigError: The text shows that there is no such policy, not for this section, or not with
            these parameters.
    """
    try:
        tree = ast.parse(text, file)
        compile(tree, file, "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ConfigError(f"{place(error, file)}: {type(error).__name__}: {error}") from error
    found = _found(tree, file, name)
    parameters: dict[str, Any] = json.loads(parameters_json)
    if found is None:
        return None
    if found.interface != section:
        raise ConfigError(f"{name} is a policy of [{found.interface}]")
    takes = None
    if found.signature is not None:
        is_class = isinstance(found.definition, ast.ClassDef)
        takes = accepted(name, section, found.signature, is_class=is_class)
    levels = None
    if section == "gc_trigger" and takes is not None and found.levels is not None:
        levels = levels_of(name, found.levels, takes, parameters)
    if takes is not None and (section != "gc_trigger" or levels is not None):
        check_parameters(name, takes, parameters)
    if found.is_compiled:
        check_compiled(name, parameters)
    return levels


@dataclass(frozen=True, slots=True)
class _Found:
    """A policy of a text.

    Attributes:
        definition: Its function or class.
        interface: The section that it is for.
        is_compiled: Whether Numba compiles it.
        levels: What its decorator says of levels; None if that is computed.
        signature: What it takes; None if the text does not show it.
    """

    definition: Definition
    interface: str
    is_compiled: bool
    levels: Mapping[str, Any] | None
    signature: inspect.Signature | None


def _found(tree: ast.Module, file: str, name: str) -> _Found | None:
    """The policy of a name; None if only its code shows whether there is one."""
    nodes = list(ast.walk(tree))
    bindings = [each for node in nodes for each in _bound(node)]
    definitions = {
        each.name: each
        for each in tree.body
        if isinstance(each, Definition) and bindings.count(each.name) == 1
    }
    decorators = _decorators(tree)
    definition = definitions.get(name)
    named = [node.id for node in nodes if isinstance(node, ast.Name)]
    if any(each in _DYNAMIC for each in named):
        return None
    if definition is not None:
        if not definition.decorator_list:
            raise without(file, name, (), is_bound=True)
        return _described(definition, decorators)
    if name in bindings or "*" in bindings:
        return None
    known = [
        each.name
        for each in definitions.values()
        if any(_call_of(decorator, decorators) for decorator in each.decorator_list)
    ]
    # Other policies may be values of assignments.
    others = [] if known else [each for each in bindings if each not in definitions]
    names = [ast.unparse(node) for node in nodes if isinstance(node, ast.Name | ast.Attribute)]
    used = any(each in decorators for each in names)
    raise without(file, name, known or (others if used else ()), is_bound=False)


def _bound(node: ast.AST) -> Iterator[str]:
    """The names that a node binds, wherever it is."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Name(ctx=ast.Store() | ast.Del()):
            yield node.id
        case ast.Import() | ast.ImportFrom():
            yield from ((each.asname or each.name).partition(".")[0] for each in node.names)
        case ast.Global():
            yield from node.names
        case ast.ExceptHandler(name=str(bound)) | ast.MatchAs(name=str(bound)):
            yield bound
        case ast.MatchStar(name=str(bound)) | ast.MatchMapping(rest=str(bound)):
            yield bound


def _decorators(tree: ast.Module) -> set[str]:
    """What a module calls `tinytail.policy`."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.name in ("tinytail", "tinytail.policies") and each.asname:
                    found.add(f"{each.asname}.policy")
                elif each.name.partition(".")[0] == "tinytail":
                    found |= {"tinytail.policy", "tinytail.policies.policy"}
        elif isinstance(node, ast.ImportFrom) and node.module in ("tinytail", "tinytail.policies"):
            for each in node.names:
                if each.name == "policy":
                    found.add(each.asname or each.name)
                elif each.name == "policies":
                    found.add(f"{each.asname or each.name}.policy")
    return found


def _call_of(decorator: ast.expr, decorators: set[str]) -> ast.Call | None:
    is_call = isinstance(decorator, ast.Call) and ast.unparse(decorator.func) in decorators
    return decorator if is_call else None  # type: ignore[return-value]


def _described(definition: Definition, decorators: set[str]) -> _Found | None:
    call = _call_of(definition.decorator_list[0], decorators)
    if call is None or len(call.args) != 1 or any(each.arg is None for each in call.keywords):
        return None
    interface = _literal(call.args[0])
    if not isinstance(interface, str) or interface not in METHODS:
        return None
    given = {str(each.arg): _literal(each.value) for each in call.keywords}
    is_compiled = given.pop("compiled", False)
    if any(value is _Computed for value in given.values()):
        levels = None
    else:
        levels = {key: value for key, value in given.items() if value is not None}
    signature = _signature(definition) if len(definition.decorator_list) == 1 else None
    return _Found(definition, interface, is_compiled is True, levels, signature)


class _Computed:
    """Stands for a value that only the code gives."""


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _Computed


def _signature(definition: Definition) -> inspect.Signature | None:
    """What a function takes, or the `__init__` of a class that inherits nothing."""
    function = definition
    if isinstance(definition, ast.ClassDef):
        if definition.bases or definition.keywords:
            return None
        made = [
            each
            for each in definition.body
            if isinstance(each, ast.FunctionDef) and each.name in ("__init__", "__new__")
        ]
        if not made:
            return inspect.Signature()
        if len(made) > 1 or made[0].decorator_list:
            return None
        function = made[0]
    assert isinstance(function, ast.FunctionDef)
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + [*arguments.defaults]
    kinds = inspect.Parameter
    found = [
        _parameter(each, kinds.POSITIONAL_OR_KEYWORD, default)
        for each, default in zip(positional, defaults, strict=True)
    ]
    if arguments.vararg is not None:
        found.append(_parameter(arguments.vararg, kinds.VAR_POSITIONAL, None))
    found += [
        _parameter(each, kinds.KEYWORD_ONLY, default)
        for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg is not None:
        found.append(_parameter(arguments.kwarg, kinds.VAR_KEYWORD, None))
    return inspect.Signature(found[1:] if isinstance(definition, ast.ClassDef) else found)


def _parameter(
    argument: ast.arg, kind: inspect._ParameterKind, default: ast.expr | None
) -> inspect.Parameter:
    empty = inspect.Parameter.empty
    return inspect.Parameter(argument.arg, kind, default=empty if default is None else default)
