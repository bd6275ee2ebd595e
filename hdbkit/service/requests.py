"""The requests of the service: the arguments of each verb, which name only what is in the workspace.

A request is validated in the workspace of its service, which the validators get as pydantic's context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, ValidationError, ValidationInfo

from hdbkit.analysis.comparison.advice import DEFAULT_BLOCKS
from hdbkit.analysis.run.latency_limit import Limit
from hdbkit.api import Workspace, max_rate
from hdbkit.config import Load, SweepSpec
from hdbkit.config.cluster import FORMS, Cluster
from hdbkit.config.model import ConfigModel
from hdbkit.config.problems import problems_of_details
from hdbkit.config.specs import AnyLoad, AnyWorkload, OtherSpec
from hdbkit.errors import ConfigErrors, InputError, Problem
from hdbkit.experiment.kinds.comparison import MIN_SLICE_S, SLICE_S
from hdbkit.experiment.plan import ExperimentPlan
from hdbkit.loading import Format

CHECKOUTS = "checkouts"
"""The folder beside the targets file that has checkouts of servers' sources."""
WORKLOADS = "workloads"
"""The folder beside the targets file that has the workloads of users."""
_WORD = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"
_REF = r"^[A-Za-z0-9][A-Za-z0-9_./~^-]{0,199}$"
_NAMES = r"^[A-Za-z0-9][A-Za-z0-9_.,:+-]{0,499}$"
_FILLED_IN = ("definition", "statements")
_MAX_PROBLEMS = 20


def _workload(given: Any, info: ValidationInfo) -> Any:
    """The keys of a workload, with the folder of its name."""
    if not isinstance(given, Mapping):
        return given
    for name in _FILLED_IN:
        if name in given:
            raise ValueError(f"'{name}' is read from the workload's folder; give the name of the folder in 'folder'")
    folder = given.get("folder")
    if folder is None:
        return given
    given = {"kind": "custom", **given}
    workspace: Workspace | None = info.context
    if workspace is None:  # a client names a folder that the service has
        return OtherSpec(**given)
    folders = (workspace.targets.parent / WORKLOADS).glob("*/workload.yaml")
    known = {one.parent.name: one.parent for one in folders}
    if not isinstance(folder, str) or folder not in known:
        listed = ", ".join(sorted(known)) or "none"
        raise ValueError(f"must be the name of a folder in '{WORKLOADS}' of the workspace ({listed}), not {folder!r}")
    return {**given, "folder": str(known[folder])}


def _no_notebook(name: str) -> str:
    """The name of a result: that of a notebook is a path."""
    if name.endswith(".ipynb"):
        raise ValueError(f"must be the id or label of a result; {name} is a file")
    return name


def _sweep(given: Any, info: ValidationInfo) -> Any:
    """The keys of a sweep, with its workload as in other requests."""
    if not isinstance(given, Mapping) or "workload" not in given:
        return given
    return {**given, "workload": _workload(given["workload"], info)}


TargetName = Annotated[
    str, Field(pattern=_WORD, description="name of a target in the workspace's targets file", examples=["lab"])
]
GivenWorkload = Annotated[
    AnyWorkload | None,
    BeforeValidator(_workload),
    Field(description="the workload: its kind and scale, or 'folder', the name of a folder in 'workloads'"),
]
GivenLoad = Annotated[AnyLoad | None, Field(description="options of the load")]
GivenCluster = Annotated[Cluster | None, Field(description=f"load hosts that load the rows: {FORMS}")]
_NONE = {"properties": {name: {"maxProperties": 0} for name in ("settings", "factors", "settings_file")}}
Sweep = Annotated[
    SweepSpec,
    BeforeValidator(_sweep),
    Field(description="the sweep, as in its file; with settings or factors to try", json_schema_extra={"not": _NONE}),
]
Label = Annotated[str | None, Field(pattern=_WORD, description="a name to find the runs by")]
Users = Annotated[list[Annotated[int, Field(ge=1, le=100_000)]], Field(max_length=50, description="user counts")]
RunNames = Annotated[
    str, Field(pattern=_NAMES, description="ids of runs or unique parts, separated by commas, or a label or profile")
]
Blocks = Annotated[int, Field(ge=1, le=10_000, description="passes over everything that is measured")]


class Request(ConfigModel):
    """The arguments of a verb."""

    noun = "the request"
    verb: ClassVar[str]
    """The verb, as in the path."""

    @classmethod
    def of(cls, given: object, workspace: Workspace) -> Self:
        """The request that was sent as ``given`` to the service of a workspace. Raises ``ConfigErrors``."""
        try:
            return cls.model_validate(given, context=workspace)
        except ValidationError as error:
            details = [dict(one) for one in error.errors(include_url=False)]
            problems = problems_of_details(details[:_MAX_PROBLEMS], cls)
            if len(details) > _MAX_PROBLEMS:
                problems.append(Problem(cls.noun, f"has {len(details) - _MAX_PROBLEMS:,} more errors"))
            raise ConfigErrors(cls.noun, problems) from None

    def look_up(self, workspace: Workspace) -> None:
        """Read what the request names in a workspace, for the decision who may ask for it."""


class OfTarget(Request):
    """A request about a target."""

    target: TargetName


class RunRequest(OfTarget):
    """Run a workload against its schema."""

    verb = "run"
    workload: GivenWorkload = None
    load: GivenLoad = None
    label: Label = None


class WatchRequest(OfTarget):
    """Measure a server under the load of another program."""

    verb = "watch"
    duration_s: float = Field(default=60, ge=1, le=86_400, description="measured window, in seconds")
    virtual_users: int = Field(default=1, ge=1, description="users of that load, if known")
    label: Label = None


class BuildRequest(OfTarget):
    """Build a workload's schema and its data, and check the result."""

    verb = "build"
    workload: GivenWorkload = None
    loaders: int | None = Field(default=None, ge=1, le=1000, description="loader processes; default: one per core")
    from_files: str | None = Field(default=None, pattern=_WORD, description="name of files that datagen wrote")
    cluster: GivenCluster = None


class CheckRequest(OfTarget):
    """Check a schema: row counts, indexes, routines and consistency conditions."""

    verb = "check"
    workload: GivenWorkload = None
    answers: bool = Field(default=False, description="check the operations' answers, too")


class CheckWorkloadRequest(OfTarget):
    """Have a server parse every statement of a workload of the folder 'workloads'; nothing is executed."""

    verb = "check-workload"
    workload: GivenWorkload


class DatagenRequest(Request):
    """Write the rows of a workload to files on the load host, which a build can read."""

    verb = "datagen"
    name: str = Field(pattern=_WORD, description="name of the files; an interrupted job of that name is continued")
    workload: GivenWorkload = None
    format: Format = Format.CSV
    chunks: int | None = Field(
        default=None, ge=1, le=100_000, description="files of each table; default: one per part"
    )


class ImportRequest(Request):
    """Import another tool's results as runs, or translate settings of HammerDB; nothing of them is executed."""

    verb = "import"
    name: str = Field(pattern=_WORD, description="the file's name, such as script.tcl or hammerdb.log")
    content: str = Field(pattern=r"^[^\x00]*$", max_length=250_000, description="the file's text")
    benchmark: Literal["TPC-C", "TPC-H"] | None = None
    database: str | None = Field(default=None, pattern=_WORD, description="HammerDB's name of the database")


class SiteRequest(Request):
    """Write a static site of results on the load host."""

    verb = "site"
    name: str = Field(pattern=_WORD, description="the site's name; one of that name is replaced")
    runs: list[Annotated[str, Field(pattern=_WORD), AfterValidator(_no_notebook)]] = Field(
        default=[], max_length=1000, description="ids or labels of runs, sweeps and batches; default: all"
    )
    where: str | None = Field(default=None, max_length=1000, description="further runs: a filter")
    title: str = Field(default="Results", max_length=200)


class ReleasesRequest(Request):
    """Build commits of a server from a checkout, run each in turn on a private server, and compare them."""

    verb = "releases"
    checkout: str = Field(pattern=_WORD, description=f"name of a checkout in '{CHECKOUTS}' of the workspace")
    database: str | None = Field(
        default=None, pattern=_WORD, description="kind of the server; default: the first that can be built"
    )
    refs: list[Annotated[str, Field(pattern=_REF)]] = Field(min_length=1, max_length=50, description="commits")
    bisect: bool = Field(default=False, description="search for the commit with most of a slowdown")
    workload: GivenWorkload = None
    load: GivenLoad = None
    virtual_users: Users = Field(default=[])
    blocks: Blocks = DEFAULT_BLOCKS


class DropRequest(OfTarget):
    """Drop a workload's tables and routines, and nothing else."""

    verb = "drop"
    workload: GivenWorkload = None


class DoctorRequest(OfTarget):
    """Examine a target before it is measured."""

    verb = "doctor"
    workload: GivenWorkload = None


class SweepRequest(OfTarget):
    """Measure combinations of settings in randomized blocks and compare each with the baseline."""

    verb = "sweep"
    sweep: Sweep
    blocks: Annotated[int, Field(ge=2, le=10_000)] | None = None


class PlanRequest(SweepRequest):
    """Plan every run of a sweep, and which effect the sweep would find."""

    verb = "plan"


class FindMaxRequest(OfTarget):
    """Find the highest rate of an open loop that keeps a limit on the response time."""

    verb = "find-max"
    limit: Limit = Field(description="limit on the response time, such as p95=20ms")
    workload: GivenWorkload = None
    load: GivenLoad = None
    blocks: Annotated[int, Field(ge=2, le=1000)] = max_rate.SEARCH_BLOCKS
    label: Label = None


class ProfileRequest(OfTarget):
    """Repeat the runs of a profile: one per block at each user count."""

    verb = "profile"
    name: str = Field(pattern=_WORD, description="the profile's name, one word")
    workload: GivenWorkload = None
    load: GivenLoad = None
    virtual_users: Users = Field(default=[1, 2, 4, 8], min_length=1)
    blocks: Blocks = 1


class CompareRequest(Request):
    """Compare stored runs: the ratio of their results with its 95 % confidence interval."""

    verb = "compare"
    base: RunNames
    new: RunNames
    fail_below: float | None = Field(
        default=None, gt=-1, le=0, description="limit of the relative change, such as -0.02; the result has a verdict"
    )


class MeasureInTurnRequest(Request):
    """Measure two targets in turn, in one session, and compare them."""

    verb = "measure-in-turn"
    base: TargetName
    new: TargetName
    together: bool = Field(default=False, description="at the same time, on two servers; for a busy host")
    slices: bool = Field(default=False, description="the load alternates between both servers, slice by slice")
    slice_s: float = Field(default=SLICE_S, ge=MIN_SLICE_S, description="length of a slice, in seconds")
    workload: GivenWorkload = None
    load: GivenLoad = None
    virtual_users: Users = Field(default=[])
    blocks: Blocks | None = Field(
        default=None, description="by default 7 with slices, else 6; with until_decided the maximum [60]"
    )
    until_decided: bool = Field(default=False, description="end after the block that decides every verdict")
    within_s: float | None = Field(default=None, gt=0, description="with until_decided: maximum duration in seconds")
    label: Label = None


class ReportRequest(Request):
    """Write the one-page report of a run or an experiment."""

    verb = "report"
    id: str = Field(pattern=_WORD, description="id of a run or a sweep, a unique part of it, a label, or 'last'")


class ResumeRequest(Request):
    """Continue an experiment that was stopped, failed or was killed, or give it more blocks."""

    verb = "resume"
    id: str = Field(pattern=_WORD, description="the experiment's id")
    targets: list[TargetName] = Field(
        default=[], max_length=100, description="its targets in their order; none if it starts servers of its own"
    )
    blocks: Blocks | None = Field(default=None, description="the total number of blocks")
    _plan: ExperimentPlan = PrivateAttr()

    def look_up(self, workspace: Workspace) -> None:
        """Read the experiment. Raises ``InputError`` if there is none of this account with such targets."""
        running = workspace.attach_experiment(self.id)
        self._plan = running.plan
        if not running.folder.is_own:
            raise InputError(f"{self.id} is not continued here: the service's account did not write its files")
        if bool(self.targets) is self._plan.own_servers:
            raise InputError(f"{self.id} takes no targets" if self.targets else "name the targets of the experiment")

    @property
    def loads(self) -> list[Load]:
        """The loads of its runs, each once."""
        return [self._plan.cell(one).load for one in {run.configuration: run for run in self._plan.runs}.values()]

    @property
    def settings(self) -> Mapping[str, Sequence[str]]:
        """The settings of servers that it tries, with their values."""
        return self._plan.tried

    @property
    def builds(self) -> bool:
        """Whether it builds programs from source, with commands of a checkout."""
        return self._plan.builds_programs


class HistoryRequest(Request):
    """Show when the results of a profile changed."""

    verb = "history"
    name: str = Field(pattern=_WORD, description="the profile's name")


class RunsRequest(Request):
    """List the runs, newest first."""

    verb = "runs"
    where: str | None = Field(default=None, max_length=1000, description="filter, such as virtual_users = 8")


class DemoRequest(Request):
    """Start a private server, build a schema, sweep settings, and write the report."""

    verb = "demo"
    quick: bool = Field(default=True, description="shorter runs: one to three minutes")


class ProfilesRequest(Request):
    """List the profiles with their runs, user counts and first run."""

    verb = "profiles"


class EnginesRequest(Request):
    """List what hdbkit can do with each engine."""

    verb = "engines"
