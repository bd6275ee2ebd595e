"""The settings of a running server: read, set, and replaced for the time of a block.

Some servers apply changes at once and list their present values in ``running_settings``; others read them from a file
and list none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from hdbkit.config import Target
from hdbkit.contracts import ApplyBy, Power, Setting
from hdbkit.errors import CannotConnect, ServerFailed, TransactionError
from hdbkit.servers.server_access import ServerAccess
from hdbkit.servers.setting_rows import SettingRow, setting_row, tried
from hdbkit.servers.values import same_value

_ROUNDS = 3


class RunningSettings(ServerAccess):
    """The settings that the sessions of a server report."""

    def __init__(self, target: Target, admin: Target | None = None, power: Power | None = None) -> None:
        super().__init__(target, admin, power)
        self._tried: dict[str, ApplyBy] = {}
        self._to_reset: dict[str, str] = {}

    def settings(self) -> dict[str, Setting]:
        """Every setting that the administrator's account may see."""
        return {name: seen.setting for name, seen in self._read(self._admin).items()}

    def _running(self) -> dict[str, str]:
        """The values that the server runs with; empty for a server that reads them from a file."""
        return {name: value for name, value, _ in self._running_rows()}

    def _in_memory(self) -> dict[str, str]:
        """Those of them that were set while the server runs, which a restart loses."""
        return {name: value for name, value, lost in self._running_rows() if lost}

    def _running_rows(self) -> list[tuple[str, str, bool]]:
        with self._session() as session:
            return [(str(name), str(value), bool(lost)) for name, value, lost in session.ask("running_settings")]

    def _read(self, target: Target) -> dict[str, SettingRow]:
        """Every setting as a session of ``target`` sees it."""
        with self._session(target) as session:
            rows = session.ask("control_settings")
            unknown = [row[0] for row in rows if row[4] is None and row[0] not in self._tried]
            may = self._target.may_change_settings
            for name in unknown:
                self._tried[name] = tried(session, name) if may else ApplyBy.RESTART
        return {row[0]: setting_row(row, self._tried) for row in rows}

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

    @contextmanager
    def _replaced(self, values: Mapping[str, str]) -> Iterator[None]:
        """Set these values on the running server for the time of a block."""
        present = self._running()
        self._to_reset = {name: present[name] for name in reversed([*values])}
        try:
            with self._session() as session:
                for name, value in values.items():
                    session.ask("set_running_setting", name=name, value=value)
            yield
        finally:
            self._reset()

    def _reset(self) -> None:
        """Set again, in new sessions, the values that a block replaced.

        Raises ``ServerFailed`` if that is not possible; the next start, change or snapshot repeats it.
        """
        try:
            self._set_running(self._to_reset)
            unlike = self._unlike(self._to_reset)
        except (CannotConnect, TransactionError) as error:
            raise ServerFailed(
                f"{', '.join(self._to_reset)} could not be reset after maintenance: {error}"
            ) from error
        if unlike:
            raise ServerFailed(f"the server did not accept the earlier values of {', '.join(unlike)}")
        self._to_reset = {}

    def _ready(self) -> None:
        """Start a stopped server, and reset what an interrupted maintenance left."""
        self._start_again()
        self._reset()
