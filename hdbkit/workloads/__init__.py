"""The workloads, each a package; none knows an engine, and nothing outside a package knows its workload by name.

A package has ``spec.py`` (its models of specification and load, light enough for every process) with ``MODELS``, and
a function ``workload(spec)`` that makes the workload of a specification.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from hdbkit.config import Load, WorkloadSpec
from hdbkit.config.problems import did_you_mean
from hdbkit.contracts import Workload
from hdbkit.errors import InputError


@dataclass(frozen=True)
class Models:
    """What a workload adds to configuration: its models, what people call it, and its place among the others."""

    title: str
    spec_model: type[WorkloadSpec]
    load_model: type[Load]
    order: int
    """The workload with the lowest is meant where none is named."""
    read_folder: Callable[[Path], WorkloadSpec] | None = None
    """Reads a specification from a folder, where the workload is defined by its users."""


@cache
def models() -> Mapping[str, Models]:
    """The models of every workload by kind, the default workload first."""
    kinds = (module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)
    found = {kind: cast(Models, importlib.import_module(f"{__name__}.{kind}.spec").MODELS) for kind in kinds}
    return dict(sorted(found.items(), key=lambda item: item[1].order))


def specification(named: WorkloadSpec | Path | str | None = None, **fields: Any) -> WorkloadSpec:
    """A specification from what users give: one, the name of a workload, a folder that defines one, or None.

    Args:
        named: None is the default workload.
        fields: fields of the specification, such as its scale; with a specification they replace its own.

    Raises:
        InputError: there is no such workload or folder, or a field is wrong.
    """
    if isinstance(named, WorkloadSpec):
        return named.with_(**fields) if fields else named
    if named is None or str(named) in models():
        return WorkloadSpec(**fields) if named is None else WorkloadSpec(kind=str(named), **fields)
    readers = [one.read_folder for one in models().values() if one.read_folder]
    if readers and Path(named).is_dir():
        return readers[0](Path(named)).with_(**fields)
    close = did_you_mean(str(named), list(models()))
    raise InputError(
        f"there is no workload '{named}' (known: {', '.join(models())}, or a folder that has one).{close}"
    )


def workload(spec: WorkloadSpec) -> Workload:
    """The workload of a specification."""
    return cast(Workload, importlib.import_module(f"{__name__}.{spec.kind}").workload(spec))
