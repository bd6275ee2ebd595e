"""The kinds of experiments: a module each, named as the kind of its plans, which has it as ``KIND``.

No other module names a kind. A kind of another package is an entry point of the group ``hdbkit.kinds``, named as the
kind of its plans, or is registered by the process that uses it.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from hdbkit.errors import DamagedResult, InputError
from hdbkit.experiment.kind import Kind
from hdbkit.experiment.plan import ExperimentPlan
from hdbkit.results.experiment_folder import ExperimentFolder

GROUP = "hdbkit.kinds"
_known: dict[str, Kind[Any]] = {}


def register(kind: Kind[Any]) -> None:
    """Make a kind known in this process. Raises ``InputError`` if there is another of this name."""
    if _found(kind.name) not in (None, kind):
        raise InputError(f"there is a kind of experiment '{kind.name}' already; give this one another name")
    _known[kind.name] = kind


def kind_of(plan: ExperimentPlan) -> Kind[Any]:
    """The kind of a plan."""
    return kind_named(plan.kind)


def kind_named(name: str) -> Kind[Any]:
    """The kind of this name. Raises ``InputError`` if there is none, or its package cannot be used."""
    if (kind := _found(name)) is None:
        raise InputError(f"there is no kind of experiment '{name}' here; install the package that has it")
    return kind


def read_plan(folder: ExperimentFolder) -> ExperimentPlan:
    """The plan of an experiment of any kind. Raises ``DamagedResult``."""
    try:
        kind = kind_named(folder.kind)
    except InputError as error:
        raise DamagedResult(f"{folder.path} cannot be read: {error}") from error
    plan: ExperimentPlan = folder.read_plan(kind.plan)
    return plan


@cache
def built_in() -> dict[str, str]:
    """The modules of hdbkit's own kinds, by the name of the kind."""
    return {one.name.replace("_", "-"): f"{__name__}.{one.name}" for one in pkgutil.iter_modules(__path__)}


def _found(name: str) -> Kind[Any] | None:
    """A kind that is registered, of hdbkit itself, or of another package. Raises ``InputError``."""
    if name not in _known and name in built_in():
        _known[name] = importlib.import_module(built_in()[name]).KIND
    elif name not in _known:
        for entry in entry_points(group=GROUP, name=name):
            try:
                _known[name] = _checked(entry.load(), name)
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
                advice = f"correct {entry.module}, or remove it"
                raise InputError(f"the kind of experiment '{name}' cannot be used ({reason}); {advice}") from error
    return _known.get(name)


def _checked(kind: object, name: str) -> Kind[Any]:
    if not isinstance(kind, Kind) or kind.name != name:
        raise TypeError(f"it is no Kind whose plans have the kind '{name}'")
    return kind
