"""The workloads, each a package; none knows an engine, and nothing outside a package knows its workload by name.

A package has ``spec.py`` (its models of specification and load, light enough for every process) with ``MODELS``, and
a function ``workload(spec)`` that makes the workload of a specification.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import cast

from hdbkit.config import Load, WorkloadSpec
from hdbkit.contracts import Workload


@dataclass(frozen=True)
class Models:
    """What a workload adds to configuration: its models, what people call it, and its place among the others."""

    title: str
    spec_model: type[WorkloadSpec]
    load_model: type[Load]
    order: int
    """The workload with the lowest is meant where none is named."""


@cache
def models() -> Mapping[str, Models]:
    """The models of every workload by kind, the default workload first."""
    kinds = (module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)
    found = {kind: cast(Models, importlib.import_module(f"{__name__}.{kind}.spec").MODELS) for kind in kinds}
    return dict(sorted(found.items(), key=lambda item: item[1].order))


def workload(spec: WorkloadSpec) -> Workload:
    """The workload of a specification."""
    return cast(Workload, importlib.import_module(f"{__name__}.{spec.kind}").workload(spec))
