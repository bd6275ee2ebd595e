"""A null database for each test: everything but a server."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.databases.nulldb import State

NullTarget = Callable[..., Target]


@pytest.fixture
def null_target() -> Iterator[NullTarget]:
    """Makes a target of the null engine with two warehouses "built"; options become the target's."""
    made: list[State] = []

    def make(**options: Any) -> Target:
        name = f"t{uuid.uuid4().hex[:12]}"
        target = Target(kind="nulldb", database=name, options={k: str(v) for k, v in options.items()})
        state = State(target)
        spec = WorkloadSpec(warehouses=2)
        state.write("build", {"spec": spec.model_dump_json(), "parts": [], "finished": True})
        made.append(state)
        return target

    yield make
    for state in made:
        shutil.rmtree(state.folder, ignore_errors=True)


@pytest.fixture
def short_load() -> Load:
    """Two users, a window of one second."""
    return Load(virtual_users=2, rampup_s=0.3, duration_s=1)
