"""A workspace without its verbs: the results folder, the targets file and the private servers that verbs work with.

Nothing else in hdbkit holds these, so that several workspaces coexist in one process.
"""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import TypeVar

from hdbkit.config import Target
from hdbkit.config.served import option_problem
from hdbkit.databases import database
from hdbkit.errors import InputError
from hdbkit.paths import results_folder, targets_file
from hdbkit.servers import PrivateServer, private_server, startable_kinds
from hdbkit.servers.private import is_server_folder

_Verbs = TypeVar("_Verbs", bound="BareWorkspace")


class BareWorkspace:
    """Where runs are kept, where named targets are looked up, and the private servers that were started.

    The verbs of a topic are a class on this one; :class:`hdbkit.Workspace` has all of them.
    """

    def __init__(self, *, results: Path | str | None = None, targets: Path | str | None = None) -> None:
        self._results, self._targets = _absolute(results), _absolute(targets)
        self._servers: dict[str, PrivateServer] = {}
        self._one_at_a_time = Lock()

    @property
    def results(self) -> Path:
        """The folder of all results; it need not exist."""
        return self._results or results_folder()

    @property
    def targets(self) -> Path:
        """The file with named targets; it need not exist."""
        return self._targets or targets_file()

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables with which another process has the same results and targets by default."""
        return {"HDBKIT_RESULTS": str(self.results), "HDBKIT_TARGETS": str(self.targets)}

    def target(self, given: Target | str) -> Target:
        """A target from what users give: a target, a URL without password, or a name in the targets file.

        The folder of a private server that was kept is a target, too.

        Raises:
            InputError: there is no such target or kind of database, or an option of the target is invalid.
        """
        if isinstance(given, Target):
            target = given
        elif "://" not in given and is_server_folder(Path(given)):
            target = PrivateServer.attach(given).target.model_copy(update={"name": given})
        else:
            target = Target.parse(given, self.targets)
            if target.name is None and (problem := option_problem(target.options)):
                raise InputError(problem)
        database(target).check_options(target)
        return target

    def private(self, kind: str | None = None) -> Target:
        """The private server of a kind, started at the first call; it ends with the process
        and with the runs and sweeps in progress on it.

        Args:
            kind: which engine; by default the first that hdbkit can start.

        Raises:
            InputError: there are no binaries for it.
            ServerFailed: it did not start; the text holds the last lines of its log.
        """
        kind = kind or startable_kinds()[0]
        with self._one_at_a_time:
            server = self._servers.get(kind)
            if server is None or not server.running:
                server = self._servers[kind] = private_server(kind).start()
            return server.target

    def private_targets(self) -> list[Target]:
        """The private servers that run now."""
        return [server.target for server in list(self._servers.values()) if server.running]

    def end_private(self, kind: str) -> None:
        """Stop the private server of a kind and remove its data; does nothing where there is none."""
        with self._one_at_a_time:
            server = self._servers.pop(kind, None)
        if server is not None:
            server.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(results='{self.results}', targets='{self.targets}')"


def _absolute(path: Path | str | None) -> Path | None:
    return None if path is None else Path(path).expanduser().resolve()


_DEFAULT = BareWorkspace()


def default_workspace(topic: type[_Verbs]) -> _Verbs:
    """The workspace of this process, with the folders that the environment names, and with the verbs of a topic.

    All of them have the same private servers.
    """
    made = topic.__new__(topic)
    made.__dict__ = _DEFAULT.__dict__
    return made
