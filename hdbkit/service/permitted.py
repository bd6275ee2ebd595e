"""What a request may name beside targets and workloads of the workspace: the clusters that the operator named."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from hdbkit.config import Load, SweepSpec
from hdbkit.config.served import cluster_problem, setting_problem
from hdbkit.errors import ConfigErrors, Problem

_NO_CLUSTER = "none"
"""The value of the factor ``cluster`` for this host alone."""


def require_permitted(request: Any, clusters: Collection[str]) -> None:
    """Check that a request names no other cluster, and no setting that reaches beyond the database.

    Raises:
        ConfigErrors: with each key that does.
    """
    sweep: SweepSpec | None = getattr(request, "sweep", None)
    place, tried = ("sweep.settings", sweep.settings) if sweep else ("id", getattr(request, "settings", {}))
    problems = [*_of_clusters(request, clusters), *_of_settings(place, tried)]
    if problems:
        raise ConfigErrors("the request", problems)


def _of_clusters(request: Any, clusters: Collection[str]) -> Iterator[Problem]:
    for place, text in _clusters_of(request):
        if text not in (None, "", _NO_CLUSTER) and (problem := cluster_problem(str(text), clusters)):
            yield Problem(place, problem)


def _clusters_of(request: Any) -> Iterator[tuple[str, Any]]:
    """Each place of a request that names a cluster."""
    yield from (("id", load.cluster) for load in getattr(request, "loads", ()))
    for name in type(request).model_fields:
        value = getattr(request, name)
        if name == "cluster":
            yield name, value
        elif isinstance(value, Load):
            yield f"{name}.cluster", value.cluster
        elif isinstance(value, SweepSpec):
            yield from ((f"{name}.{place}", text) for place, text in _clusters_of(value))
            yield from ((f"{name}.factors.cluster", text) for text in value.factors.get("cluster", ()))


def _of_settings(place: str, tried: Mapping[str, Sequence[str]]) -> Iterator[Problem]:
    for name, values in tried.items():
        if problem := setting_problem(name, values):
            yield Problem(f"{place}.{name}", problem)
