"""Sweeps by slices: whether a sweep can be one, and how long its slices are.

Settings that a session can set for itself are set by the clients (``execution.switching``), all others on the server
(``experiment.switching``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hdbkit.config import SweepSpec
from hdbkit.config.load import Cache
from hdbkit.config.sweep_spec import CompareBy, Strategy
from hdbkit.contracts import ApplyBy, ServerControl, Setting
from hdbkit.errors import ConfigErrors, Problem
from hdbkit.experiment.kinds.sweep.plan import SweepPlan
from hdbkit.experiment.preparing import shares_connections
from hdbkit.servers.trial import in_session_values, settable
from hdbkit.slices import Slices
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
        "until_decided": (spec.until_decided, "a sweep by slices ends after its blocks"),
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
