"""Lines about tests while they run: each failure and repeat at once, and what still ran when all was interrupted."""

from __future__ import annotations

from typing import Any

import pytest

_LONGEST_REASON = 300


class Progress:
    """Reports to the terminal of the process that collects the outcomes of all workers."""

    def __init__(self, terminal: Any) -> None:
        self._terminal = terminal
        self._running: dict[str, None] = {}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._running[nodeid] = None

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._running.pop(nodeid, None)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        word = {"failed": "FAILED", "rerun": "REPEATED"}.get(report.outcome)
        if word:
            self._terminal.write_line(f"\n{word} {report.nodeid} ({report.when}): {last_line(report)}")

    def pytest_keyboard_interrupt(self) -> None:
        for nodeid in self._running:
            self._terminal.write_line(f"INTERRUPTED while it ran: {nodeid}")


def last_line(report: pytest.TestReport) -> str:
    """The last line of the error of a report, shortened."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines[0] if crash else lines[-1])[:_LONGEST_REASON] if lines else "no message"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Not in ``pytest_configure``, where there is no terminal yet."""
    plugins = session.config.pluginmanager
    terminal = plugins.get_plugin("terminalreporter")
    if terminal is not None and not hasattr(session.config, "workerinput"):
        plugins.register(Progress(terminal), "progress")
