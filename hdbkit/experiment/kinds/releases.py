"""Commits of a server, each built from source and started by the process that executes the experiment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import ClassVar, Literal, TypeVar

from pydantic import Field

from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.config.model import ConfigModel
from hdbkit.experiment.kind import Kind, Say
from hdbkit.experiment.own_servers import with_schemas
from hdbkit.experiment.sides import Side, SidesPlan
from hdbkit.servers import launcher, private_server
from hdbkit.servers.source_builds import built, short


class Commit(ConfigModel):
    """A commit of a server: as it was named, and its digits."""

    ref: str
    commit: str

    def __str__(self) -> str:
        digits = short(self.commit)
        return digits if self.ref.startswith(digits) else f"{self.ref} ({digits})"


class CommitsPlan(SidesPlan):
    """The plan of commits of a server, a side each: the base, and those that are compared with it."""

    own_servers: ClassVar[bool] = True
    builds_programs: ClassVar[bool] = True

    checkout: Path
    database: str
    commits: tuple[Commit, ...]
    configure: tuple[str, ...] = ()
    settings: dict[str, str] = Field(default_factory=dict)
    smallest_effect: float

    def side(self, commit: Commit, spec: WorkloadSpec, load: Load) -> Side:
        """The side of a commit; its target is known when its server runs."""
        digits = short(commit.commit)
        target = Target(kind=self.database, database=digits)
        return Side(name=digits, target=target, workload=spec, load=load, label=f"{self.experiment_id}-{digits}")


class ReleasesPlan(CommitsPlan):
    """The plan of commits that are measured in turn."""

    kind: Literal["releases"] = "releases"

    @property
    def title(self) -> str:
        return f"the comparison of {' and '.join(map(str, self.commits))}"


Commits = TypeVar("Commits", bound=CommitsPlan)


@contextmanager
def commit_servers(plan: Commits, commits: Sequence[Commit], say: Say) -> Iterator[Commits]:
    """The plan on servers of these commits, which are built if they were not built before."""
    with ExitStack() as servers:
        yield with_schemas(plan, [_started(plan, commit, servers, say) for commit in commits], say)


def _started(plan: CommitsPlan, commit: Commit, servers: ExitStack, say: Say) -> Target:
    say(f"building {commit}")
    programs = built(launcher(plan.database), plan.checkout, commit.commit, plan.configure)
    return servers.enter_context(private_server(plan.database, source=str(programs), settings=plan.settings)).target


class _Releases(Kind[ReleasesPlan]):
    @contextmanager
    def servers(self, plan: ReleasesPlan, say: Say) -> Iterator[ReleasesPlan]:
        with commit_servers(plan, plan.commits, say) as ready:
            yield ready


KIND = _Releases(ReleasesPlan)
