"""Sweeps by slices: whether a sweep can be one, and the changes that it makes on the server within a run.

Settings that a session can set for itself are set by the clients (``execution.switching``). All others are applied,
read back and verified by the sweep, in a thread that follows the clock of the run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Final

from hdbkit.config import SweepSpec
from hdbkit.config.load import Cache
from hdbkit.config.sweep_spec import CompareBy, Strategy
from hdbkit.contracts import ApplyBy, ServerControl, Session, Setting
from hdbkit.databases import database
from hdbkit.errors import ConfigErrors, DamagedResult, HdbkitError, Problem, ServerFailed, TransactionError
from hdbkit.execution.beside import Beside
from hdbkit.execution.handle import RunHandle
from hdbkit.execution.switching import noted_switches, switches_path
from hdbkit.experiment.preparing import shares_connections
from hdbkit.experiment.sweep import SweepPlan
from hdbkit.files import JsonLines
from hdbkit.plan import RunPlan
from hdbkit.results.folder import RunFolder
from hdbkit.servers.trial import in_session_values, settable, settings_lacking
from hdbkit.slices import ON_SERVER, SliceOrder, Slices
from hdbkit.workloads import workload

IN_SESSION_S: Final = (0.25, 1.0)
"""The shortest and the longest slice by default if clients set it; between these, a window holds ``CYCLES``."""
CYCLES: Final = 40
"""Shorter slices would compare under more equal conditions, but lose more of each to the change of settings."""
ON_SERVER_S: Final = 2.0
"""The default length of a slice whose settings are applied on the server."""
MIN_ON_SERVER_S: Final = 1.0
"""The minimum length of a slice whose settings are applied on the server, which takes a tenth of a second or more."""
MIN_CYCLES: Final = 10
"""The number of whole cycles that a window must hold."""
_LOOK_S = 0.05
_USED_S = 1.0


def slices_for(plan: SweepPlan, control: ServerControl) -> Slices | None:
    """The slices of a sweep; None if it compares runs.

    Raises:
        ConfigErrors: slices were asked for, and are not possible.
    """
    spec, asked = plan.spec, plan.spec.compare_by is CompareBy.SLICES
    problems = unsuitable(spec, len(plan.configurations))
    runs_possible = plan.target.may_change_settings
    if spec.compare_by is CompareBy.RUNS or (
        not asked and (problems or (runs_possible and _too_short(plan, in_session=True)))
    ):
        return None
    if problems:
        raise ConfigErrors(f"the sweep '{spec.name}'", problems)
    known = control.settings()
    in_session = settable(plan.target, known, plan.tried) == plan.tried.keys()
    problems = [*(() if in_session else _on_server(plan, known)), *_too_short(plan, in_session)]
    if asked and not in_session and not runs_possible:
        problems = [_not_permitted(plan, known)]
    if problems and (asked or (in_session and not runs_possible)):
        raise ConfigErrors(f"the sweep '{spec.name}'", problems)
    if problems or not (in_session or asked):
        return None
    configurations = [plan.settings_in(one) for one in range(len(plan.configurations))]
    return _slices(plan, [in_session_values(known, one) if in_session else one for one in configurations], in_session)


def planned_slices(plan: SweepPlan) -> Slices | None:
    """The slices that a sweep asks for, without its server: as if sessions can set all settings; None without.

    Raises:
        ConfigErrors: they are not possible, whatever sessions can set.
    """
    if plan.spec.compare_by is not CompareBy.SLICES:
        return None
    problems = unsuitable(plan.spec, len(plan.configurations)) or _too_short(plan, in_session=True)
    if problems:
        raise ConfigErrors(f"the sweep '{plan.spec.name}'", problems)
    return _slices(plan, [plan.settings_in(one) for one in range(len(plan.configurations))], in_session=True)


def on_server_note(plan: SweepPlan) -> str:
    """How the slices that :func:`planned_slices` gives differ if the server applies the settings.

    Empty if they do not differ, or the target does not permit that.
    """
    if plan.slices is None or not plan.target.may_change_settings:
        return ""
    problems, slice_s = [*_on_server(plan, {}), *_too_short(plan, in_session=False)], _slice_s(plan, in_session=False)
    if not problems and slice_s == plan.slices.slice_s:
        return ""
    found = [f"slices of {slice_s:g} s", *(f"{one.where}: {one.what}" for one in problems)]
    return f"if sessions cannot set all of these settings, the server applies them: {'; '.join(found)}"


def _slices(plan: SweepPlan, settings: Sequence[dict[str, str]], in_session: bool) -> Slices:
    return Slices(
        configurations=tuple(range(len(settings))),
        settings=tuple(settings),
        slice_s=_slice_s(plan, in_session),
        seed=plan.spec.seed,
        in_session=in_session,
    )


def _slice_s(plan: SweepPlan, in_session: bool) -> float:
    if plan.spec.slice_s or not in_session:
        return plan.spec.slice_s or ON_SERVER_S
    shortest_s, longest_s = IN_SESSION_S
    fitting_s = round(plan.spec.load.duration_s / (CYCLES * len(plan.configurations)), 2)
    return min(max(fitting_s, shortest_s), longest_s)


def unsuitable(spec: SweepSpec, configurations: int) -> list[Problem]:
    """Why a sweep cannot be one by slices, from its specification alone."""
    reasons = {
        "factors": (bool(spec.factors), "an option of the load or the schema cannot change within a run"),
        "settings": (configurations < 2, "slices need at least two configurations"),
        "strategy": (spec.strategy is not Strategy.GRID, "slices are of a grid; a search compares runs"),
        "looks": (bool(spec.looks), "a sweep by slices has no looks; it ends after its blocks"),
        "winner_blocks": (bool(spec.winner_blocks), "a sweep by slices has no confirmation blocks"),
        "cache": (spec.cache is not Cache.WARM, "the cache cannot be emptied for each slice"),
        "workload": (_ends_by_itself(spec), "slices need a window of a known length"),
        "load.iterations": (spec.load.iterations is not None, "slices need a window of a known length"),
        "load.replica_reads": (spec.load.replica_reads, "settings are changed on one server only"),
        "load.routing": (spec.load.routing is not None, "settings are changed on one server only"),
        "load.faults": (bool(spec.load.faults), "a fault falls into the slice of one configuration"),
    }
    return [Problem(where, f"{why}; use compare_by: runs") for where, (applies, why) in reasons.items() if applies]


def _ends_by_itself(spec: SweepSpec) -> bool:
    """Whether a run ends when its users are done, whatever its ``duration_s``."""
    if spec.workload is None:
        return False
    return any(one.measured and one.duration_s is None for one in workload(spec.workload).phases(spec.load))


def _not_permitted(plan: SweepPlan, known: dict[str, Setting]) -> Problem:
    able = settable(plan.target, known, plan.tried)
    names = [name for name in plan.tried if name not in able]
    reason = "the account cannot set it in its sessions"
    if shares_connections(plan.target):
        reason = (
            "a pooler gives each transaction of a session another connection of the server, so it cannot be set in "
            "sessions (name the server itself)"
        )
    return Problem(
        f"settings.{names[0]}" if names else "settings",
        f"{reason}, and is applied on the server; the target must set 'may_change_settings: true'",
    )


def _on_server(plan: SweepPlan, known: dict[str, Setting]) -> list[Problem]:
    """Why settings cannot be changed on the server within a run; unknown ones are reported by the sweep itself."""
    restarts = [name for name in plan.tried if name in known and known[name].apply_by is ApplyBy.RESTART]
    found = [
        Problem(
            f"settings.{name}", "it needs a restart of the server, which a slice cannot have; use compare_by: runs"
        )
        for name in restarts
    ]
    if _slice_s(plan, in_session=False) < MIN_ON_SERVER_S:
        reason = "these settings are applied on the server, not in the clients' sessions"
        found.append(Problem("slice_s", f"must be at least {MIN_ON_SERVER_S:g} s: {reason}"))
    return found


def _too_short(plan: SweepPlan, in_session: bool) -> list[Problem]:
    cycle_s = _slice_s(plan, in_session) * len(plan.configurations)
    window_s = plan.spec.load.duration_s
    if window_s >= MIN_CYCLES * cycle_s:
        return []
    needed = f"{MIN_CYCLES} cycles of {len(plan.configurations)} slices need {MIN_CYCLES * cycle_s:g} s"
    advice = "give a longer window or a shorter slice_s"
    if plan.target.may_change_settings:
        advice += ", or compare_by: runs"
    else:
        advice += "; to compare runs, the target must set 'may_change_settings: true'"
    return [Problem("load.duration_s", f"{needed}, more than {window_s:g} s; {advice}")]


@contextmanager
def switching(plan: RunPlan, run: RunFolder, control: ServerControl) -> Iterator[None]:
    """Change the settings on the server while the block executes the run, if its slices need that.

    Raises:
        ServerFailed: a change failed, or has no effect in sessions that are open; the run is of no use then.
    """
    if plan.slices is None or plan.slices.in_session:
        yield
        return
    thread = _ServerSwitch(plan, plan.slices, run, control)
    thread.start()
    try:
        yield
    finally:
        thread.stop()
    if thread.error is not None:
        raise ServerFailed(f"the settings could not be changed within the run: {thread.error}") from thread.error


class _ServerSwitch(Beside):
    """Applies the configuration of each slice on the server; one that is over before its turn is left out."""

    def __init__(self, plan: RunPlan, slices: Slices, run: RunFolder, control: ServerControl) -> None:
        super().__init__("hdbkit-slices", patience_s=None)
        self._plan, self._slices, self._run, self._control = plan, slices, run, control
        self._seen: set[int] = set()
        self.error: HdbkitError | OSError | None = None

    def run(self) -> None:
        """Follow the run until it ends; it is stopped if a change fails."""
        try:
            self._follow()
        except (HdbkitError, OSError) as error:
            if not self.ended.is_set():  # at the end of a run its folder may be gone
                self.error = error
                RunHandle(self._run).stop()

    def _follow(self) -> None:
        start_ns = self._start_ns()
        if start_ns is None:
            return
        order, slice_ns = SliceOrder(self._slices), self._slices.slice_ns
        known = self._control.settings()
        number = 0
        with (
            closing(JsonLines(switches_path(self._run.spools, "server"))) as notes,
            closing(database(self._plan.target).connect(self._plan.target)) as open_session,
        ):
            while not self._sleep_until(start_ns + number * slice_ns, open_session):
                position, begun_ns = order.position(number), time.monotonic_ns()
                self._control.apply(self._slices.settings[position])
                notes.add(
                    noted_switches(
                        ON_SERVER, number, position, start_ns + number * slice_ns, begun_ns, time.monotonic_ns()
                    )
                )
                if position not in self._seen:
                    self._require(settings_lacking(open_session, known, self._slices.settings[position]))
                    self._seen.add(position)
                number = max(number + 1, (time.monotonic_ns() - start_ns) // slice_ns)

    def _require(self, missing: Sequence[str]) -> None:
        if missing:
            raise ServerFailed(
                f"sessions that are open do not get the new value of {', '.join(missing)}; use compare_by: runs"
            )

    def _start_ns(self) -> int | None:
        """The common start of the run, once it is known; None if the run ends before."""
        while not self.ended.wait(_LOOK_S):
            try:
                clock = self._run.read().clock
            except DamagedResult:  # it is not there yet
                continue
            if clock is not None:
                return clock.start_monotonic_ns
        return None

    def _sleep_until(self, at_ns: int, waiting: Session) -> bool:
        """Sleep until this time of the monotonic clock; True if the run ended before.

        The session that waits is used: it may be ended when it is idle.
        """
        while (left_s := (at_ns - time.monotonic_ns()) / 1e9) > _USED_S:
            if self.ended.wait(_USED_S):
                return True
            with suppress(TransactionError):  # it is reported where the session is needed
                database(self._plan.target).version(waiting)
        return self.ended.wait(max(0.0, left_s))
