"""The requests of the service: the arguments of each verb, which name only what is in the workspace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from hdbkit.analysis.comparison import sides
from hdbkit.api import DEFAULT, max_rate
from hdbkit.config import SweepSpec
from hdbkit.config.cluster import FORMS, parse_cluster
from hdbkit.config.load import AnyLoad
from hdbkit.config.model import ConfigModel
from hdbkit.config.workload_spec import AnyWorkload

WORKLOADS = "workloads"
"""The folder beside the targets file that has the workloads of users."""
_WORD = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"
_NAMES = r"^[A-Za-z0-9][A-Za-z0-9_.,:+-]{0,499}$"
_FILLED_IN = ("definition", "statements")


def _workload(given: Any) -> Any:
    """The keys of a workload, with the folder of its name."""
    if not isinstance(given, Mapping):
        return given
    for name in _FILLED_IN:
        if name in given:
            raise ValueError(f"'{name}' is read from the workload's folder; give the name of the folder in 'folder'")
    folder = given.get("folder")
    if folder is None:
        return given
    known = {one.parent.name: one.parent for one in (DEFAULT.targets.parent / WORKLOADS).glob("*/workload.yaml")}
    if not isinstance(folder, str) or folder not in known:
        listed = ", ".join(sorted(known)) or "none"
        raise ValueError(f"must be the name of a folder in '{WORKLOADS}' of the workspace ({listed}), not {folder!r}")
    return {**given, "folder": str(known[folder])}


def _cluster(given: str | None) -> str | None:
    if given is not None:
        parse_cluster(given)
    return given


def _sweep(given: Any) -> Any:
    """The keys of a sweep, with its workload as in other requests."""
    if not isinstance(given, Mapping) or "workload" not in given:
        return given
    return {**given, "workload": _workload(given["workload"])}


TargetName = Annotated[
    str, Field(pattern=_WORD, description="name of a target in the workspace's targets file", examples=["lab"])
]
Workload = Annotated[
    AnyWorkload | None,
    BeforeValidator(_workload),
    Field(description="the workload: its kind and scale, or 'folder', the name of a folder in 'workloads'"),
]
GivenLoad = Annotated[AnyLoad | None, Field(description="options of the load")]
Cluster = Annotated[
    str | None, AfterValidator(_cluster), Field(description=f"load hosts that load the rows: {FORMS}")
]
Sweep = Annotated[SweepSpec, BeforeValidator(_sweep), Field(description="the sweep, as in its file")]
Label = Annotated[str | None, Field(pattern=_WORD, description="a name to find the runs by")]
Users = Annotated[list[Annotated[int, Field(ge=1, le=100_000)]], Field(max_length=50, description="user counts")]
Runs = Annotated[
    str, Field(pattern=_NAMES, description="ids of runs or unique parts, separated by commas, or a label or profile")
]
Blocks = Annotated[int, Field(ge=1, le=10_000, description="passes over everything that is measured")]


class Request(ConfigModel):
    """The arguments of a verb."""

    noun = "the request"


class OfTarget(Request):
    """A request about a target."""

    target: TargetName


class RunRequest(OfTarget):
    """Run a workload."""

    workload: Workload = None
    load: GivenLoad = None
    label: Label = None


class BuildRequest(OfTarget):
    """Build a schema."""

    workload: Workload = None
    loaders: int | None = Field(default=None, ge=1, le=1000, description="loader processes; default: one per core")
    cluster: Cluster = None


class CheckRequest(OfTarget):
    """Check a schema."""

    workload: Workload = None
    answers: bool = Field(default=False, description="check the operations' answers, too")


class SchemaRequest(OfTarget):
    """A schema in a target."""

    workload: Workload = None


class SweepRequest(OfTarget):
    """Measure combinations of settings."""

    sweep: Sweep
    blocks: Annotated[int, Field(ge=2, le=10_000)] | None = None


class FindMaxRequest(OfTarget):
    """Find the highest rate within a limit on the response time."""

    limit: str = Field(max_length=50, description="limit on the response time, such as p95=20ms")
    workload: Workload = None
    load: GivenLoad = None
    blocks: Annotated[int, Field(ge=2, le=1000)] = max_rate.DEFAULT_BLOCKS
    label: Label = None


class ProfileRequest(OfTarget):
    """Repeat the runs of a profile."""

    name: str = Field(pattern=_WORD, description="the profile's name, one word")
    workload: Workload = None
    load: GivenLoad = None
    virtual_users: Users = Field(default=[1, 2, 4, 8], min_length=1)
    blocks: Blocks = 1


class CompareRequest(Request):
    """Compare stored runs."""

    base: Runs
    new: Runs
    fail_below: float | None = Field(
        default=None, gt=-1, le=0, description="limit of the relative change, such as -0.02; the result has a verdict"
    )


class MeasureInTurnRequest(Request):
    """Measure two targets in turn, or together."""

    base: TargetName
    new: TargetName
    together: bool = Field(default=False, description="at the same time, on two servers; for a busy host")
    workload: Workload = None
    load: GivenLoad = None
    virtual_users: Users = Field(default=[])
    blocks: Blocks = sides.DEFAULT_BLOCKS
    label: Label = None


class NamedRequest(Request):
    """A stored result."""

    id: str = Field(pattern=_WORD, description="id of a run or a sweep, a unique part of it, a label, or 'last'")


class HistoryRequest(Request):
    """The history of a profile."""

    name: str = Field(pattern=_WORD, description="the profile's name")


class RunsRequest(Request):
    """A list of runs."""

    where: str | None = Field(default=None, max_length=1000, description="filter, such as virtual_users = 8")


class DemoRequest(Request):
    """A demo on a private server."""

    quick: bool = Field(default=True, description="shorter runs: one to three minutes")


class EmptyRequest(Request):
    """No arguments."""
