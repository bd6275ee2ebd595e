"""Settings of a server that is reached only through SQL, such as a managed service.

The server reports what each setting needs. Changes go to the server's own settings file, if it has one, and take
effect at once, by a reload, or by the target's restart command. A change is accepted only when a new client session
reads it back, because settings of a role or a database take precedence. Failed changes are undone.

Servers differ only in the operations of ``settings.sql``. A server that applies changes at once lists its present
values in ``running_settings``, so that they can be set again; one that reads a file lists none.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from hdbkit.config import Target
from hdbkit.config.problems import did_you_mean
from hdbkit.contracts import KEPT, ApplyBy, Change, Power, Session, Setting
from hdbkit.databases import database
from hdbkit.errors import CannotConnect, HdbkitError, ServerFailed, TransactionError
from hdbkit.readings import HostLoad
from hdbkit.servers.power import power_of
from hdbkit.servers.resting import wait_until_idle
from hdbkit.servers.seen import Seen, seen, tried
from hdbkit.servers.values import may_read_back_otherwise, plain_value, problem_in, same_value

_RELOAD_PATIENCE_S = 15.0
_RESTART_PATIENCE_S = 120.0
_ROUNDS = 3
_LOOK_S = 1.0


class SqlControl:
    """``contracts.ServerControl`` through SQL; see the protocol for what each method promises."""

    can_restore_data = False

    def __init__(self, target: Target, admin: Target | None = None, power: Power | None = None) -> None:
        self._target, self._admin = target, admin or target
        self.power: Power | None = power or power_of(target.control)
        self.say: Callable[[str], None] = discard
        self._standby: Session | None = None
        self._undoing = False
        self._tried: dict[str, ApplyBy] = {}
        self.identity = self._identify()
        self.can_restart = self._may_restart()

    def _identify(self) -> str:
        """The host, and the port and system id that the server reports, or the target's port if it reports none.

        The host is part of it because a server made from a copy of another has the same system id.
        """
        try:
            with self._session() as session:
                rows = session.ask("server_identity")
        except TransactionError:
            rows = []
        own = rows[0][0] if rows else self._target.port or "default"
        return f"{self._target.kind}://{_host(self._target.host)}:{own}"

    # -- reading -----------------------------------------------------------------------------------------

    def settings(self) -> dict[str, Setting]:
        """Every setting that the administrator's account may see."""
        return {name: seen.setting for name, seen in self._read(self._admin).items()}

    def problems(self, changes: Mapping[str, Sequence[str]]) -> list[str]:
        """The errors in these values; changes nothing."""
        if not self._target.may_change_settings:
            return [
                f"target {self._target.url} does not set 'may_change_settings: true'; its settings are not changed"
            ]
        known = self.settings()
        found = []
        for name, values in changes.items():
            setting = known.get(name)
            if setting is None:
                same = [one for one in known if one.lower() == name.lower()]
                found.append(f"the server has no setting '{name}'.{did_you_mean(name, same or list(known))}")
            elif setting.apply_by is ApplyBy.FIXED:
                found.append(f"{name} cannot be changed; its value is {setting.value}")
            elif setting.apply_by is ApplyBy.RESTART and not self._may_restart():
                found.append(f"{name} needs a restart of the server; {self._restart_advice()}")
            else:
                found += [wrong for value in values if (wrong := problem_in(setting, value))]
        return found

    def snapshot(self) -> dict[str, Any]:
        """The entries of the server's own settings file, and the values that it runs with."""
        return {"identity": self.identity, "entries": self._entries(), "running": self._running()}

    # -- changing ----------------------------------------------------------------------------------------

    def apply(self, changes: Mapping[str, str]) -> Change:
        """Set the values, reload or restart as needed, and verify; undo the change if anything fails."""
        wrong = self.problems({name: [value] for name, value in changes.items()})
        if wrong:
            raise ServerFailed("; ".join(wrong))
        known = self.settings()
        plain = {name: plain_value(known[name], value) for name, value in changes.items()}
        before, began = self.snapshot(), time.monotonic()
        with self._session() as session:
            self._standby = session
            kept_in = self._kept_in(session)
            try:
                applied_by = self._take_effect(plain, self._keep(session, plain))
                read_back = self.verified(changes)
            except HdbkitError as error:
                asked = ", ".join(f"{name} = {value}" for name, value in changes.items())
                undone = self._undo(before, changes, kept_in)
                raise ServerFailed(f"{asked} was not applied: {error}; {undone}") from error
            finally:
                self._standby = None
        return Change(applied_by, time.monotonic() - began, read_back)

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Set the values of the snapshot, remove the others, and apply the result."""
        self._check_identity(snapshot)
        wanted, present = snapshot["entries"], self._entries()
        with self._session() as session:
            for name in present.keys() - wanted.keys():
                session.ask("reset_setting", name=name)
            changed = {name: value for name, value in wanted.items() if present.get(name) != value}
            self._keep(session, changed)
        self._take_effect({**present, **wanted}, snapshot.get("running", {}))

    def maintain(self) -> float:
        """Remove old row versions, run a checkpoint, wait for background work; 0 if the account may not."""
        began = time.monotonic()
        try:
            with self._session(self._admin.with_(database=self._target.database)) as session:
                session.ask("remove_old_rows")
                session.ask("checkpoint")
                wait_until_idle(session, database(self._target.kind))
        except TransactionError:
            return 0.0
        return time.monotonic() - began

    def restart(self) -> float:
        """Restart the server, then set again the values that it held only in memory."""
        if not self._may_restart():
            raise ServerFailed(f"{self.identity} cannot be restarted; {self._restart_advice()}")
        began = time.monotonic()
        running = self._running()
        self._restart()
        self._set_running(running)
        return time.monotonic() - began

    def host_load(self) -> HostLoad | None:
        """None: SQL does not report the load of the host."""
        return None

    def keep_data(self, copy: str = KEPT) -> float:
        """Not supported through SQL. Raises ``ServerFailed``."""
        raise ServerFailed(f"the data of {self._target.url} cannot be kept: this needs a private server")

    def restore_data(self, copy: str = KEPT) -> float:
        """Not supported through SQL. Raises ``ServerFailed``."""
        raise ServerFailed(f"the data of {self._target.url} cannot be restored: this needs a private server")

    def drop_kept_data(self) -> None:
        """Do nothing: there is no copy."""

    # -- steps -------------------------------------------------------------------------------------------

    def _check_identity(self, snapshot: Mapping[str, Any]) -> None:
        if snapshot["identity"] != self.identity:
            raise ServerFailed(f"the settings to restore belong to {snapshot['identity']}, not to {self.identity}")

    def _may_restart(self) -> bool:
        return self._target.may_restart and self.power is not None

    def _restart_advice(self) -> str:
        return f"the target {self._target.url} must set 'may_restart: true' and give commands in 'control'"

    def _restart(self) -> None:
        """Restart, and wait until the server accepts a session and reports a new start time."""
        assert self.power is not None
        away = (CannotConnect, TransactionError)
        try:
            before = self._times()[1]
        except away:
            before = None
        self.power.restart()
        self._wait(lambda now: now[1] != before, _RESTART_PATIENCE_S, "was not started again", away)

    def _undo(self, before: Mapping[str, Any], names: Iterable[str], file: str) -> str:
        """Restore the settings and describe the outcome, without earlier values: they may be secrets."""
        self._undoing = True
        try:
            self.restore(before)
        except HdbkitError as error:
            self._undoing = False
            return (
                f"{self._state(error)}; remove the lines of {', '.join(names)} from {file} and start it again "
                "(the earlier lines are in the sweep's before.json)"
            )
        finally:
            self._undoing = False
        return "the settings are as before"

    def _state(self, error: HdbkitError) -> str:
        """The state after a failed restoration: the server is down, or it still has the changed settings."""
        try:
            self._times()
        except (CannotConnect, TransactionError) as refused:
            return f"the server is down or rejects connections ({refused}), and the settings are still in its file"
        return f"the server is running, but the settings could not be restored ({error})"

    def _kept_in(self, session: Session) -> str:
        """The file with changed settings, named for a user who must edit it manually."""
        rows = session.ask("settings_file")
        return str(rows[0][0]) if rows else "its settings file"

    def _keep(self, session: Session, changes: Mapping[str, str]) -> Mapping[str, str]:
        """Store the changes on the server; return those that must also be set on the running server."""
        known = self.settings()
        for name, value in changes.items():
            session.ask("set_setting", name=name, value=value, apply_by=known[name].apply_by.value)
        return {}

    def _take_effect(self, kept: Collection[str], running: Mapping[str, str]) -> ApplyBy:
        """Reload and set the running values; restart the server if one of them needs it."""
        before = self._times()
        with self._session() as session:
            session.ask("reload_settings")
        self._wait(lambda now: now[0] > before[0], _RELOAD_PATIENCE_S, "did not reload its settings", ())
        read = self._read(self._admin)
        waiting = [name for name in kept if name in read and read[name].waiting]
        wanted = {name: value for name, value in running.items() if name in kept}
        waiting += [name for name in self._unlike(wanted) if read[name].setting.apply_by is ApplyBy.RESTART]
        if waiting and not self._may_restart():
            raise ServerFailed(f"{', '.join(waiting)} needs a restart of the server; {self._restart_advice()}")
        if waiting:
            self._restart()
        self._set_running(running)
        return ApplyBy.RESTART if waiting else ApplyBy.RELOAD

    def _set_running(self, wanted: Mapping[str, str]) -> None:
        """Set these values on the running server; some limit others, so this may need several rounds."""
        for _ in range(_ROUNDS if wanted else 0):
            unlike = self._unlike(wanted)
            with self._session() as session:
                for name, value in unlike.items():
                    session.ask("set_running_setting", name=name, value=value)
            if not unlike:
                return

    def _unlike(self, wanted: Mapping[str, str]) -> dict[str, str]:
        """The ``wanted`` values that can be changed and differ from the running server's."""
        if not wanted:
            return {}
        present, known = self._running(), self.settings()
        return {
            name: value
            for name, value in wanted.items()
            if name in present
            and known[name].apply_by is not ApplyBy.FIXED
            and not same_value(known[name], value, present[name])
        }

    def verified(self, changes: Mapping[str, str]) -> dict[str, str]:
        """The values that a new client session reads. Raises ``ServerFailed`` if a change has no effect there."""
        own, seen = self._read(self._admin), self._read(self._target)
        read_back = {}
        for name, wanted in changes.items():
            one = seen.get(name, own[name])
            if one.waiting:
                raise ServerFailed(f"{name} still needs a restart")
            taken = same_value(one.setting, wanted, one.setting.value)
            if not taken and (one.winner or not may_read_back_otherwise(one.setting, wanted)):
                why = f"{one.winner} takes precedence" if one.winner else "the server uses another value"
                raise ServerFailed(f"a session of {self._target.user} has {name} = {one.shown}, not {wanted}: {why}")
            read_back[name] = one.shown
        return read_back

    def _entries(self) -> dict[str, str]:
        try:
            with self._session() as session:
                return {str(name): str(value) for name, value in session.ask("file_entries")}
        except TransactionError as error:
            raise ServerFailed(
                f"account {self._admin.user} may not read which settings were changed, so they could not be "
                f"restored ({error.text}); use an account that may"
            ) from error

    def _running(self) -> dict[str, str]:
        """The values that the server runs with; empty for a server that reads them from a file."""
        with self._session() as session:
            return {str(name): str(value) for name, value in session.ask("running_settings")}

    def _times(self) -> tuple[Any, Any]:
        with self._session() as session:
            (row,) = session.ask("settings_loaded_at")
        return row[0], row[1]

    def _wait(
        self,
        reached: Callable[[tuple[Any, Any]], bool],
        patience_s: float,
        otherwise: str,
        expected: tuple[type[HdbkitError], ...],
    ) -> None:
        """Read the server's times in new sessions until ``reached`` is true; ``expected`` errors are retried.

        A stopped server fails at once.
        """
        end, look_at = time.monotonic() + patience_s, time.monotonic() + _LOOK_S
        while True:
            try:
                if reached(self._times()):
                    return
                reason = ""
            except expected as error:
                reason = f": {error}"
                if self.power is not None and time.monotonic() > look_at:
                    look_at = time.monotonic() + _LOOK_S
                    if not self.power.running:
                        raise ServerFailed(
                            f"the server {otherwise}: {self.power.last_log_lines() or error}"
                        ) from error
            if time.monotonic() > end:
                raise ServerFailed(f"the server {otherwise} within {patience_s:g} s{reason}")
            time.sleep(0.02)

    def _read(self, target: Target) -> dict[str, Seen]:
        """Every setting as a session of ``target`` sees it."""
        with self._session(target) as session:
            rows = session.ask("control_settings")
            unknown = [row[0] for row in rows if row[4] is None and row[0] not in self._tried]
            may = self._target.may_change_settings
            for name in unknown:
                self._tried[name] = tried(session, name) if may else ApplyBy.RESTART
        return {row[0]: seen(row, self._tried) for row in rows}

    @contextmanager
    def _session(self, target: Target | None = None) -> Iterator[Session]:
        """A new session; while undoing a change that prevents new ones, the session from before the change."""
        try:
            session = database(self._target.kind).connect(target or self._admin)
        except CannotConnect:
            if self._standby is None or not self._undoing:
                raise
            yield self._standby
            return
        try:
            yield session
        finally:
            session.close()


def discard(_: str) -> None:
    """Discard a message."""


def _host(host: str | None) -> str:
    """A host's name; "localhost" for every name of this host: none, a socket's folder, a loopback address."""
    name = (host or "localhost").lower()
    try:
        here = ipaddress.ip_address(name).is_loopback
    except ValueError:
        here = name.startswith("/")
    return "localhost" if here else name
