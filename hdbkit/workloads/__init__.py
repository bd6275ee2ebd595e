"""The workloads, one package each. None depends on an engine, and no code outside a package names its workload.

A package has a function ``workload(spec)`` that creates the workload of a specification, and ``contract.py`` with
``CONTRACTS``, the operations that it asks of an engine. ``conformance``, if there is one, has the rules that every
engine must keep. The models of its specification and load are in ``config.specs``, below everything that reads them.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from hdbkit.config import CustomSpec, Load, WorkloadSpec, spec_from
from hdbkit.config.metric import Measure, Metric
from hdbkit.config.problems import did_you_mean
from hdbkit.config.specs import MODELS
from hdbkit.contracts import Operation, Rule, Workload
from hdbkit.errors import InputError


def new_folder(folder: Path) -> list[Path]:
    """Write the folder of a new workload; return its files. Raises ``InputError`` if the folder is not empty."""
    (kind,) = (kind for kind, one in MODELS.items() if one.in_folder)
    return cast(list[Path], importlib.import_module(f"{__name__}.{kind}.skeleton").write_skeleton(folder))


def specification(named: WorkloadSpec | Path | str | None = None, **fields: Any) -> WorkloadSpec:
    """Make a specification from the user's input: a specification, a workload's name, a folder, or None.

    Args:
        named: the user's input; None means the default workload.
        fields: fields of the specification, such as its scale; they replace those of a given specification.

    Raises:
        InputError: there is no such workload or folder, or a field is invalid.
    """
    if isinstance(named, WorkloadSpec):
        return named.with_(**fields) if fields else named
    if named is None or str(named) in MODELS:
        return spec_from(fields if named is None else {"kind": str(named), **fields})
    if Path(named).is_dir():
        return CustomSpec.of_folder(Path(named)).with_(**fields)
    close = did_you_mean(str(named), list(MODELS))
    raise InputError(f"there is no workload '{named}' (known: {', '.join(MODELS)}, or a folder that has one).{close}")


def workload(spec: WorkloadSpec) -> Workload:
    """The workload of a specification. Raises ``InputError`` if it is not installed."""
    if spec.kind not in MODELS:
        raise InputError(f"the workload '{spec.kind}' is not installed here (known: {', '.join(MODELS)})")
    return cast(Workload, importlib.import_module(f"{__name__}.{spec.kind}").workload(spec))


@cache
def contracts() -> Mapping[str, tuple[Operation, ...]]:
    """What the workloads ask of an engine by name, by folder of its statements."""
    modules = (importlib.import_module(f"{__name__}.{kind}.contract") for kind in MODELS)
    return {folder: asked for module in modules for folder, asked in module.CONTRACTS.items()}


def rules(kind: str) -> tuple[Rule, ...]:
    """What every engine must do with the operations of a workload; empty if it has no rules."""
    name = f"{__name__}.{kind}.conformance"
    if importlib.util.find_spec(name) is None:
        return ()
    return cast(tuple[Rule, ...], importlib.import_module(name).RULES)


def metric_of(work: Workload, load: Load) -> Metric:
    """The metric of a load: the workload's own if that load executes all operations that it includes.

    Otherwise a geometric mean is that of those that are executed, with another name, and a load that only reads has
    operations per second.
    """
    own = work.metric
    counted = own.operations or work.operations
    weights = work.mix(load)
    executed = tuple(name for name in counted if not weights or weights.get(name))
    if own.measure is Measure.GEOMETRIC_MEAN and executed:
        return own if executed == counted else own.of_some(executed, counted)
    if not load.read_only or (own.counter is None and work.reading.issuperset(counted)):
        return own
    return Metric(name="reads/s", title=f"read-only {work.noun}s per second", unit="reads/s")
