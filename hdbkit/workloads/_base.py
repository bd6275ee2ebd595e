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
from hdbkit.contracts import Capability, PlannedCheck, PlannedPhase, Serial, Session, UserPlan, Waits
from hdbkit.sql import Statement

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

    def statements(self, load: Load, dialects: tuple[str, ...]) -> Sequence[tuple[str, Statement]]:
        """Empty: ``access`` states what all statements use."""
        return ()

    def examples(self, load: Load, plan: UserPlan) -> Mapping[str, Mapping[str, Any]]:
        """Empty: a run keeps no plans."""
        return {}

    def require_data(self, session: Session, load: Load) -> None:
        """Nothing: a load takes any data of its schema."""

    def restoring(self, load: Load) -> Callable[[Session], None] | None:
        """None: changes stay."""
        return None

    def answers(self, seed: int) -> list[PlannedCheck]:
        """Empty: there is no reference."""
        return []


# The usual phases of a run: the users' starts if they are apart, an unmeasured ramp-up and the measured window.


def rampup_and_window(load: Load) -> tuple[PlannedPhase, ...]:
    """A ramp-up, extended while the server settles if the load requests that, and the window or its steps."""
    rampup = PlannedPhase("rampup", load.rampup_s, measured=False, max_s=load.rampup_max_s)
    steps = [PlannedPhase(one.text, one.duration_s, measured=True) for one in (load.steps.each if load.steps else ())]
    phases = rampup, *(steps or [PlannedPhase("window", load.duration_s, measured=True)])
    apart_s = load.starting_s
    return (PlannedPhase("starts", apart_s, measured=False), *phases) if apart_s else phases
