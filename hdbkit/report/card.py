"""The result card: a verdict, the result as the largest thing, its interval, its source, and whether to trust it.

One model, shown at the head of every report and job page, in notebooks and in sites. A failed check strikes it. It
has its own style sheet (``card.css``) and no script.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from hdbkit.analysis.wording import TOO_FEW, says_nothing
from hdbkit.caution import Caution, Kind
from hdbkit.charts.intervals import Limits, times
from hdbkit.report import templates
from hdbkit.report.tables import Table
from hdbkit.results.manifest import CheckLine, Manifest
from hdbkit.text import many, share

_WIDE, _EDGE = 360.0, 26.0
"""The width of the picture of an interval and its margins, in pixels."""
_CARD_MARKS = {"faster": "good", "slower": "bad", "equivalent": "good", "undecided": "unsure"}
"""How a verdict is marked; a slower side is no failure, but stands out."""


@dataclass(frozen=True)
class Bar:
    """A ratio with its interval: a line at 1, and the band of the smallest effect."""

    ratio: float
    low: float
    high: float
    smallest_effect: float
    confidence: float = 0.95

    @property
    def words(self) -> str:
        """The interval as text."""
        if math.isnan(self.low):
            return "no interval"
        if says_nothing(self.low, self.high):
            return TOO_FEW
        return f"{share(self.confidence)} interval {times(self.low)} to {times(self.high)}"

    @cached_property
    def _limits(self) -> Limits:
        return Limits.of_ratios([self.ratio, 1 + 2 * self.smallest_effect, 1 / (1 + 2 * self.smallest_effect)])

    def at(self, ratio: float) -> float:
        """Where a ratio is in the picture, in pixels from the left."""
        ends = [self._clipped(one) for one in (self.low, self.high)] if self.is_known else []
        band = 1 + 1.5 * self.smallest_effect
        first, last = (math.log(end([self.ratio, 1 / band, band, *ends])) for end in (min, max))
        share = (math.log(self._clipped(ratio)) - first) / (last - first)
        return round(_EDGE + share * (_WIDE - 2 * _EDGE), 1)

    def _clipped(self, ratio: float) -> float:
        return min(max(ratio, self._limits.low), self._limits.high)

    @property
    def is_known(self) -> bool:
        """Whether there is an interval to draw."""
        return math.isfinite(self.low) and not says_nothing(self.low, self.high)

    @property
    def beyond(self) -> tuple[bool, bool]:
        """Whether the lower and the upper end are beyond the picture."""
        return (self.low < self._limits.low, self.high > self._limits.high) if self.is_known else (False, False)

    @property
    def band(self) -> tuple[float, float]:
        """The ends of the band in pixels."""
        return self.at(1 / (1 + self.smallest_effect)), self.at(1 + self.smallest_effect)


@dataclass(frozen=True)
class Card:
    """A result in a few lines."""

    question: str
    answer: str
    verdict: str
    value: str
    of: str = ""
    """What the value is of: ``synchronous_commit=off against the baseline``."""
    facts: Sequence[str] = ()
    """Runs, users and servers, for the grey line."""
    bar: Bar | None = None
    interval: str = ""
    """The interval of a value that is no ratio."""
    prices: Sequence[str] = ()
    """What the compared values can lose."""
    checks: Sequence[CheckLine] = ()
    warnings: Sequence[str] = ()
    next_step: str = ""

    @property
    def failed(self) -> list[CheckLine]:
        """The checks that failed."""
        return [one for one in self.checks if one.passed is False]

    @cached_property
    def reasons(self) -> list[Caution]:
        """The warnings, the worst first; without failed checks, which are listed by themselves."""
        cautions = [Caution.of(text) for text in self.warnings]
        return sorted((one for one in cautions if one.kind is not Kind.CHECK), key=lambda caution: caution.order)

    @property
    def chip(self) -> str:
        """The verdict, unless a check failed."""
        return "not reliable" if self.failed else self.verdict

    @property
    def mark(self) -> str:
        """How the verdict is marked."""
        return "failed" if self.failed else _CARD_MARKS.get(self.verdict, "plain")

    @property
    def checked(self) -> str:
        """The one count of checks: ``34 checks passed, 2 undecided``; empty without any."""
        if self.failed:
            return f"{len(self.failed)} of {many(len(self.checks), 'check')} failed"
        passed = sum(one.passed is True for one in self.checks)
        undecided = f", {len(self.checks) - passed} undecided" if passed < len(self.checks) else ""
        return f"{many(passed, 'check')} passed{undecided}" if self.checks else ""

    @property
    def careful(self) -> str:
        """How many reasons there are, and the worst in six words."""
        if not self.reasons:
            return "" if self.failed else "no warnings"
        return f"{many(len(self.reasons), 'reason')} to be careful: {self.reasons[0].brief}"

    def html(self) -> Markup:
        """The card and its line of trust, without a style sheet."""
        return Markup(templates().get_template("card.html").render(card=self).strip())  # noqa: S704 (escaped)

    def in_notebook(self, notice: str, tables: Sequence[Table] = (), lines: Sequence[str] = ()) -> str:
        """The card with its style, notes and tables, as a notebook shows and keeps it."""
        made = templates().get_template("notebook_card.html")
        return made.render(card=self, notice=notice, tables=tables, lines=lines)


def measured_by(manifests: Sequence[Manifest], users: Sequence[int] = ()) -> list[str]:
    """The grey line of runs: how many, their users, the servers, and the schema."""
    counts = sorted({one.plan.load.virtual_users for one in manifests} if not users else set(users))
    servers = dict.fromkeys(one.server.version or one.plan.target.kind for one in manifests)
    scales = dict.fromkeys(one.scale for one in manifests if one.scale)
    named = ", ".join(f"{one:,}" for one in counts)
    found = [many(len({one.run_id for one in manifests}), "run")]
    found += [f"{named} virtual user{'' if counts == [1] else 's'}"] if counts else []
    return [*found, *servers, *scales]


def checks_over_runs(manifests: Sequence[Manifest]) -> list[CheckLine]:
    """Each check over all runs: passed when it failed in none; the detail names the runs where it did."""
    lines: dict[str, list[tuple[str, CheckLine]]] = {}
    for manifest in {one.run_id: one for one in manifests}.values():  # of a run in slices there is one for each cell
        for check in manifest.checks:
            lines.setdefault(check.name, []).append((manifest.run_id, check))
    return [_over_runs(name, found) for name, found in lines.items()]


def _over_runs(name: str, found: list[tuple[str, CheckLine]]) -> CheckLine:
    failed = [(run_id, check) for run_id, check in found if check.passed is False]
    passed = sum(check.passed is True for _, check in found)
    if failed:
        run_id, check = failed[0]
        more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
        return CheckLine(name=name, passed=False, detail=f"failed in {run_id}{more}: {check.detail}")
    if not passed:
        return CheckLine(name=name, passed=None, detail=found[0][1].detail)
    undecided = f"; {len(found) - passed} could not be decided" if passed < len(found) else ""
    return CheckLine(name=name, passed=True, detail=f"passed in {passed} of {len(found)} runs{undecided}")
