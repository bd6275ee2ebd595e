"""What workloads answer alike: nothing beside their operations, unless they know more.

A workload that follows :class:`hdbkit.contracts.Workload` inherits from :class:`BaseWorkload` and overrides what it
knows better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from hdbkit.config import Load, WorkloadSpec
from hdbkit.config.metric import DetailChart
from hdbkit.contracts import Capability, PlannedCheck, Serial, Session, UserPlan, Waits

SpecT = TypeVar("SpecT", bound=WorkloadSpec)


class BaseWorkload(Generic[SpecT]):
    """The optional part of the contract of a workload, with a specification that is its own record."""

    spec: SpecT
    waits: Mapping[str, Waits] = MappingProxyType({})
    serial: Serial | None = None
    detail_charts: tuple[DetailChart, ...] = ()
    routines: tuple[str, ...] = ()
    instead: Mapping[Capability, str] = MappingProxyType({})
    grows = False

    @property
    def record(self) -> str:
        """The specification."""
        return self.spec.model_dump_json()

    def settled(self, load: Load, capabilities: frozenset[Capability]) -> Load:
        """Unchanged: it leaves nothing to the engine."""
        return load

    def listed(self, load: Load) -> Sequence[tuple[tuple[str, ...], int]]:
        """Empty: operations are drawn."""
        return ()

    def rollback_shares(self, load: Load) -> dict[str, float]:
        """Empty: nothing is rolled back by design."""
        return {}

    def details_from_results(self, load: Load) -> bool:
        """False: all details are known in advance."""
        return False

    def hint(self, load: Load) -> str:
        """Empty: no load is known to measure something else."""
        return ""

    def advice_to_build(self, command: str) -> str:
        """Suggest to build the schema."""
        return f"run: {command}"

    def examples(self, load: Load, plan: UserPlan) -> Mapping[str, Mapping[str, Any]]:
        """Empty: a run keeps no plans."""
        return {}

    def restoring(self, load: Load) -> Callable[[Session], None] | None:
        """None: changes stay."""
        return None

    def answers(self, seed: int) -> list[PlannedCheck]:
        """Empty: there is no reference."""
        return []
