"""Private servers: those that an experiment itself starts, and those that were kept, whose folder is also a target.

The first are of commits that are built, and of engines that are compared. They end with the process that
executes the experiment; a process that continues it starts others in their place.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pandas as pd

from hdbkit.config import Target
from hdbkit.contracts import Capability
from hdbkit.control_groups import limits
from hdbkit.databases import database
from hdbkit.experiment.plan import ExperimentPlan
from hdbkit.experiment.sides import Commit, EnginesPlan, ReleasesPlan
from hdbkit.loading import build
from hdbkit.servers import launcher, private_server
from hdbkit.servers.kept import kept_server, kept_servers
from hdbkit.servers.source_builds import built

Say = Callable[[str], None]


@contextmanager
def opened(plan: ExperimentPlan, say: Say) -> Iterator[ExperimentPlan]:
    """The experiment with the targets of its own servers, which run for the block; others have none.

    Raises:
        ServerFailed: a build failed, or a server did not start; the text names the log of the build.
        HdbkitError: a schema failed a check.
    """
    with ExitStack() as servers:
        match plan:
            case ReleasesPlan():
                targets = [commit_server(plan, commit, servers, say) for commit in plan.commits]
            case EnginesPlan():
                targets = [_engine(kind, servers) for kind in plan.engines]
            case _:
                yield plan
                return
        for side, target in zip(plan.sides, targets, strict=True):
            say(f"building the schema on {target.url}")
            build(target, side.workload, loaders=limits().cores).require_sound()
        yield plan.at(targets)


def commit_server(plan: ReleasesPlan, commit: Commit, servers: ExitStack, say: Say) -> Target:
    """A server of a commit, which is built if it was not built before."""
    say(f"building {commit}")
    programs = built(launcher(plan.database), plan.checkout, commit.commit, plan.configure)
    return servers.enter_context(private_server(plan.database, source=str(programs), settings=plan.settings)).target


def _engine(kind: str, servers: ExitStack) -> Target:
    """A private server, or a file of an embedded engine."""
    if Capability.SERVER in database(Target(kind=kind, database="data")).capabilities:
        return servers.enter_context(private_server(kind)).target
    folder = servers.enter_context(tempfile.TemporaryDirectory(prefix="hdbkit-demo-"))
    return Target(kind=kind, database=str(Path(folder) / "data"))


def list_servers() -> pd.DataFrame:
    """List the private servers that were kept on this machine; one row each: folder, database, version, running, url.

    Servers in folders that their user chose are not listed, and servers of running processes are not kept.
    """
    rows = [
        (str(one.folder), one.place.kind, one.place.version, one.running, one.target.url) for one in kept_servers()
    ]
    return pd.DataFrame(rows, columns=["folder", "database", "version", "running", "url"])


def start_server(folder: Path | str) -> Target:
    """Start a kept private server that was stopped; it runs until it is stopped.

    Raises:
        InputError: the folder is not that of a kept server, or the server is running.
        ServerFailed: it did not start; the message contains the last lines of its log.

    Example:
        >>> hdbkit.start_server("/var/tmp/hdbkit-k2v9")  # doctest: +SKIP
    """
    return private_server(folder=kept_server(folder).folder, keep=True).start().target


def stop_server(folder: Path | str) -> None:
    """Stop a kept private server; its data remains. Does nothing if it is not running.

    Raises:
        InputError: the folder is not that of a kept server.
    """
    kept_server(folder).stop()


def remove_server(folder: Path | str) -> None:
    """Stop a kept private server and remove its folder with all its data.

    Raises:
        InputError: the folder is not that of a kept server.
    """
    kept_server(folder).remove()
