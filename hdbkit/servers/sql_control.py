"""Settings of a server that is reached only through SQL, such as a managed service.

The server reports what each setting needs. Changes go to the server's own settings file, if it has one, and take
effect at once, by a reload, or by the target's restart command. A change is accepted only when a new client session
reads it back, because settings of a role or a database take precedence. Failed changes are undone.

Servers differ only in the operations of ``settings.sql``. A server that applies changes at once lists its present
values in ``running_settings``, so that they can be set again; one that reads a file lists none.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hdbkit.config import Target
from hdbkit.config.problems import did_you_mean
from hdbkit.contracts import CHANGED, ApplyBy, Change, Power, Session, Setting
from hdbkit.errors import HdbkitError, ServerDown, ServerFailed, TransactionError
from hdbkit.processes import working_folder
from hdbkit.readings import HostLoad
from hdbkit.servers.idleness import wait_until_idle
from hdbkit.servers.power import RestoreCommand, run_or_fail
from hdbkit.servers.running_settings import RunningSettings
from hdbkit.servers.server_access import is_disconnected
from hdbkit.servers.settings_file import SettingsFile, only, with_earlier
from hdbkit.servers.trial import trial_errors
from hdbkit.servers.values import is_rounded, may_read_back_otherwise, plain_value, problem_in, repeated, same_value

_RELOAD_PATIENCE_S = 15.0
IN_MEMORY = "in_memory"
"""The key of a snapshot with the names of the settings that others had set while the server runs."""
_EARLIER = "the sweep's before.json has the earlier lines"


class SqlControl(RunningSettings, RestoreCommand):
    """``contracts.ServerControl`` through SQL; see the protocol for what each method promises."""

    keeps_by_sql = True
    """Whether the server itself keeps the changed settings."""

    def __init__(self, target: Target, admin: Target | None = None, power: Power | None = None) -> None:
        super().__init__(target, admin, power)
        self._unmaintained = False
        self._applied: set[str] = set()

    # -- reading -----------------------------------------------------------------------------------------

    @property
    def keeps_settings(self) -> bool:
        """Whether the server itself keeps them in a file."""
        with self._session() as session:
            return bool(session.ask("settings_file"))

    def problems(self, changes: Mapping[str, Sequence[str]]) -> list[str]:
        """The errors in these values; changes nothing."""
        if not self._target.may_change_settings:
            return [
                f"target {self._target.url} does not set 'may_change_settings: true'; its settings are not changed"
            ]
        known = self.settings()
        return self._wrong(changes, known) or self._ungranted({name: known[name].apply_by for name in changes})

    def _ungranted(self, changes: Mapping[str, ApplyBy]) -> list[str]:
        """What the account lacks to change these settings, with the commands that grant it."""
        with self._session() as session:
            other_way = self._target.control.commands.reload or self._may_restart() or self._signalled(session)
            try:
                missing = self._engine.missing_grants(session, changes, kept=self.keeps_by_sql, applied=not other_way)
            except TransactionError:  # a server that cannot answer; the first run shows what is missing
                missing = []
        if not missing:
            return []
        return [
            f"account {self._admin.user} lacks privileges to change the settings; run as an administrator in "
            f"database {self._admin.database}: {'; '.join(missing)}; or name an administrator's account in "
            "'control.user' of the target"
        ]

    def _wrong(self, changes: Mapping[str, Sequence[str]], known: Mapping[str, Setting]) -> list[str]:
        """The settings that cannot be changed, and the values that are out of range."""
        found, protected = [], self._engine.protected_settings
        for name, values in changes.items():
            setting = known.get(name)
            if name in protected:
                found.append(f"{name} is never changed by hdbkit: {protected[name]}")
            elif setting is None:
                same = [one for one in known if one.lower() == name.lower()]
                found.append(f"the server has no setting '{name}'.{did_you_mean(name, same or list(known))}")
            elif setting.apply_by is ApplyBy.FIXED:
                found.append(f"{name} cannot be changed; its value is {setting.value}")
            elif setting.apply_by is ApplyBy.RESTART and not self._may_restart():
                found.append(f"{name} needs a restart of the server; {self._restart_advice()}")
            else:
                wrong = [problem for value in values if (problem := problem_in(setting, value))]
                found += wrong or repeated(setting, values)
        return found

    def refused(self, configurations: Sequence[Mapping[str, str]]) -> list[str]:
        """The configurations with which the server's own program, on this host, would not start."""
        with self._session() as session:
            version = self._engine.version(session)
        return trial_errors(self._target.kind, version, self.settings(), configurations)

    def snapshot(self, changed: Collection[str] | None = None) -> dict[str, Any]:
        """The entries of the server's own settings file, the values that it runs with, and the file if it is here.

        A stopped server is started first.
        """
        self._ready()
        server = {"identity": self.identity, "address": self._address, **known_changes(changed)}
        entries = self._entries()
        return {**server, "entries": entries, **self._held(), "file": self._own_file(entries)}

    def _held(self) -> dict[str, Any]:
        """The values that the server runs with, and the names of those that a restart loses."""
        return {"running": self._running(), IN_MEMORY: sorted(self._in_memory())}

    def _own_file(self, entries: Collection[str]) -> dict[str, str | None]:
        """The path of the server's own settings file, and its content if it can be reached from here.

        The content repairs a server that does not start with its settings. It is Latin-1; None if there is no file.
        """
        with self._session() as session:
            path, here = self._kept_in(session), self._process(session) is not None
        if here and self._may_restart() and path.startswith("/") and self._host.endswith("//localhost:"):
            with suppress(ServerFailed):
                content = SettingsFile(Path(path)).text()
                if all(name in (content or "") for name in entries):
                    return {"path": path, "content": content}
        return {"path": path}

    # -- changing ----------------------------------------------------------------------------------------

    def apply(self, changes: Mapping[str, str]) -> Change:
        """Set the values, reload or restart as needed, and verify; undo the change if anything fails."""
        if not self._target.may_change_settings:
            raise ServerFailed("; ".join(self.problems({})))
        self._ready()
        known = self.settings()
        if wrong := self._wrong({name: [value] for name, value in changes.items()}, known):
            raise ServerFailed("; ".join(wrong))
        plain = {name: plain_value(known[name], value) for name, value in changes.items()}
        before, began = self.snapshot(changes), time.monotonic()
        self._applied |= changes.keys()
        with self._session() as session:
            self._standby = session
            kept_in = self._kept_in(session)
            try:
                applied_by = self._take_effect(plain, self._keep(session, plain, known))
                read_back, rounded = self.verified(changes)
            except HdbkitError as error:
                asked = ", ".join(f"{name} = {value}" for name, value in changes.items())
                raise self._undone(before, changes, kept_in, f"{asked} was not applied: {error}") from error
            finally:
                self._standby = None
        return Change(applied_by, time.monotonic() - began, read_back, rounded)

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore the state of ``snapshot``; a server that is down or has no free connection is repaired."""
        with self._reported_if_down(self._advice(snapshot)):
            self._restoring = True
            try:
                self._restore(snapshot)
            finally:
                self._restoring = False
        self._to_reset = {}

    def _advice(self, snapshot: Mapping[str, Any]) -> str:
        """What to do with a server that is down and could not be repaired."""
        path = snapshot.get("file", {}).get("path", "its settings file")  # earlier snapshots have no path
        earlier = f" ({_EARLIER})" if snapshot.get("entries") else ""
        return f"remove {self._lines_of(snapshot)} from {path}{earlier}"

    def _lines_of(self, snapshot: Mapping[str, Any]) -> str:
        """The lines of a settings file that a sweep may have changed since its snapshot."""
        names = sorted({*self._applied, *snapshot.get(CHANGED, ())})
        return f"the lines of {', '.join(names)}" if names else "the settings of the sweep"

    def _restore(self, snapshot: Mapping[str, Any]) -> None:
        """Set the values of the snapshot, remove the others, and apply the result."""
        try:
            self._restore_entries(snapshot)
        except HdbkitError as error:
            if not is_disconnected(error):
                raise
            self._repair(snapshot)
            self._restore_entries(snapshot)

    def _repair(self, snapshot: Mapping[str, Any]) -> None:
        """Restore the server's own settings file, if it is on this host, and restart the server.

        The restart also ends the sessions that occupy the last connections.
        """
        if snapshot.get("address", self._address) != self._address:
            raise ServerFailed(f"the settings to restore belong to {snapshot['address']}, not to {self._address}")
        file = snapshot.get("file", {})
        if "content" in file and str(snapshot["identity"]).startswith(self._host):
            own = SettingsFile(Path(file["path"]))
            content = with_earlier(own.text(), file["content"], self._changed(snapshot))
            if content != file["content"]:
                self.say(f"{own} has other changes than the sweep's; hdbkit undoes those of the sweep only")
            own.write_text(content)
        self._standby = None
        self._start()

    def _restore_entries(self, snapshot: Mapping[str, Any]) -> None:
        """The same by SQL, in one session at a time: the server may have no second one."""
        self._check_identity(snapshot)
        ours, known = self._changed(snapshot), self.settings()
        wanted, present = only(snapshot["entries"], ours), only(self._entries(), ours)
        with self._session() as session:
            for name in present.keys() - wanted.keys():
                session.ask("reset_setting", name=name)
            changed = {name: value for name, value in wanted.items() if present.get(name) != value}
            self._keep(session, changed, known)
        self._take_effect({**present, **wanted}, self._running_in(snapshot))

    def _changed(self, snapshot: Mapping[str, Any]) -> set[str] | None:
        """The settings to restore: those that were changed after the snapshot; None for all."""
        names = snapshot.get(CHANGED)
        return None if names is None else {*names, *self._applied}

    def _running_in(self, snapshot: Mapping[str, Any]) -> dict[str, str]:
        """The values to set on the running server.

        Besides those that were changed: what an interrupted maintenance may have left, and what a restart has lost.
        """
        running, ours = snapshot.get("running", {}), self._changed(snapshot)
        if running and ours is not None:
            with self._session() as session:
                raised = {str(name): str(value) for name, value in session.ask("rest_settings")}
            ours |= raised.keys() - self._unlike(raised).keys()
            ours |= set(snapshot.get(IN_MEMORY, ())) - self._in_memory().keys()
        return only(running, ours)

    def maintain(self) -> float:
        """Remove old row versions, run a checkpoint, wait for background work; 0 if the account may not.

        With permission to change settings, some of them speed up the background work while it is awaited.
        """
        began = time.monotonic()
        try:
            with self._session(self._admin.with_(database=self._target.database)) as session:
                session.ask("remove_old_rows")
                session.ask("checkpoint")
                if self._target.may_change_settings:
                    wait_until_idle(session, self._engine, self._replaced)
        except TransactionError as error:
            if not self._unmaintained:
                self.say(f"maintenance between runs is incomplete (account {self._admin.user}): {error.text}")
            self._unmaintained = True
            return 0.0
        return time.monotonic() - began

    def start(self, before: Mapping[str, Any] | None = None) -> None:
        """Start a stopped server, if permitted; if it does not start or no connection is free, restore ``before``."""
        try:
            self._ready()
        except HdbkitError as error:
            if before is None or not (isinstance(error, ServerFailed) or is_disconnected(error)):
                raise
            self.restore(before)

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

    # -- steps -------------------------------------------------------------------------------------------

    def _check_identity(self, snapshot: Mapping[str, Any]) -> None:
        if snapshot["identity"] != self.identity:
            raise ServerFailed(f"the settings to restore belong to {snapshot['identity']}, not to {self.identity}")

    def _undone(self, before: Mapping[str, Any], names: Iterable[str], file: str, failure: str) -> ServerFailed:
        """Restore the settings; the error to raise, without earlier values: they may be secrets."""
        try:
            self.restore(before)
        except ServerDown as down:
            return ServerDown(f"{failure}; {down}")
        except HdbkitError as error:
            return ServerFailed(
                f"{failure}; the server is running, but the settings could not be restored ({error}); remove the "
                f"lines of {', '.join(names)} from {file} and start it again ({_EARLIER})"
            )
        return ServerFailed(f"{failure}; the settings are as before")

    def _kept_in(self, session: Session) -> str:
        """The file with changed settings; a server works in its data folder, which not every account may see."""
        rows = session.ask("settings_file")
        file = Path(str(rows[0][0])) if rows else None
        if file is None or file.is_absolute():
            return str(file or "its settings file")
        process = self._process(session)
        return str(((process and working_folder(process)) or Path("the server's data folder")) / file)

    def _keep(self, session: Session, changes: Mapping[str, str], known: Mapping[str, Setting]) -> Mapping[str, str]:
        """Store the changes on the server; return those that must also be set on the running server."""
        for name, value in changes.items():
            session.ask("set_setting", name=name, value=value, apply_by=known[name].apply_by.value)
        return {}

    def _take_effect(self, kept: Collection[str], running: Mapping[str, str]) -> ApplyBy:
        """Reload and set the running values; restart the server if one of them needs it."""
        before, reloaded = self._times(), self._reload()
        if reloaded:
            self._wait(lambda now: now[0] > before[0], _RELOAD_PATIENCE_S, "did not reload its settings", ())
        read = self._read(self._admin)
        waiting = [name for name in kept if name in read and (read[name].waiting or not reloaded)]
        wanted = {name: value for name, value in running.items() if name in kept}
        waiting += [name for name in self._unlike(wanted) if read[name].setting.apply_by is ApplyBy.RESTART]
        if waiting and not self._may_restart():
            raise ServerFailed(f"{', '.join(waiting)} needs a restart of the server; {self._restart_advice()}")
        if waiting:
            self._restart_with(kept)
        try:
            self._set_running(running)
        except TransactionError:
            if waiting or not self._may_restart():
                raise
            waiting = [*wanted]
            self._restart_with(kept)
            self._set_running(running)
        return ApplyBy.RESTART if waiting else ApplyBy.RELOAD

    def _restart_with(self, kept: Collection[str]) -> None:
        """Restart the server, then set again the values that it held only in memory, except those in ``kept``.

        The values in ``kept`` have to be set after that, since the others may limit them.
        """
        lost = {name: value for name, value in self._in_memory().items() if name not in kept}
        self._restart()
        self._set_running(lost)

    def _reload(self) -> bool:
        """Make the server read its settings file: by command, SQL or signal; False if none of them is permitted."""
        if self._target.control.commands.reload:
            run_or_fail(self._target.control.commands.reload)
            return True
        with self._session() as session:
            with suppress(TransactionError):
                session.ask("reload_settings")
                return True
            process, signal = self._signalled(session), self._engine.reload_signal
        if process is None or signal is None:
            return False
        with suppress(ProcessLookupError):
            os.kill(process, signal)
        return True

    def _signalled(self, session: Session) -> int | None:
        """The server's main process, if it reads its settings file on a signal that this process may send."""
        process = self._process(session) if self._engine.reload_signal else None
        if process is None or process == 1:
            return None
        try:
            os.kill(process, 0)
        except (PermissionError, ProcessLookupError):
            return None
        return process

    def verified(self, changes: Mapping[str, str]) -> tuple[dict[str, str], frozenset[str]]:
        """The values that a new client session reads, and the names of those that the server rounded.

        Raises:
            ServerFailed: a change has no effect there.
        """
        own, seen = self._read(self._admin), self._read(self._target)
        read_back, rounded = dict[str, str](), set[str]()
        for name, wanted in changes.items():
            one = seen.get(name, own[name])
            if one.waiting:
                raise ServerFailed(f"{name} still needs a restart")
            taken = same_value(one.setting, wanted, one.setting.value)
            if not taken and not one.winner and is_rounded(one.setting, wanted, one.setting.value):
                rounded.add(name)
            elif not taken and (one.winner or not may_read_back_otherwise(one.setting, wanted)):
                why = f"{one.winner} takes precedence" if one.winner else "the server uses another value"
                raise ServerFailed(f"a session of {self._target.user} has {name} = {one.shown}, not {wanted}: {why}")
            read_back[name] = one.shown
        return read_back, frozenset(rounded)

    def _entries(self) -> dict[str, str]:
        try:
            with self._session() as session:
                return {str(name): str(value) for name, value in session.ask("file_entries")}
        except TransactionError as error:
            if is_disconnected(error):
                raise
            raise ServerFailed(
                f"account {self._admin.user} may not read which settings were changed, so they could not be "
                f"restored ({error.text}); use an account that may"
            ) from error


def known_changes(changed: Collection[str] | None) -> dict[str, list[str]]:
    """The part of a snapshot with the names of the settings that are changed after it."""
    return {} if changed is None else {CHANGED: sorted(changed)}
