"""The page of an experiment of any kind: its card, ratios, charts, evidence, environment and journal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hdbkit.analysis.wording import percent
from hdbkit.charts.chart import Chart
from hdbkit.charts.flame import Flame
from hdbkit.charts.intervals import times
from hdbkit.config.metric import Metric
from hdbkit.report.card import Bar, Card, checks_over_runs, measured_by
from hdbkit.report.page import Figure, Page, write_page
from hdbkit.report.ratio_tables import detail_tables, ratio_tables
from hdbkit.report.tables import Table
from hdbkit.results.finding import Finding, Ratio
from hdbkit.results.folder import make_folder
from hdbkit.results.manifest import Manifest
from hdbkit.text import virtual_users


@dataclass(frozen=True)
class Evidence:
    """What a page shows of an experiment beside its finding."""

    kicker: str
    manifests: Sequence[Manifest]
    """Of the runs whose checks count."""
    users: Sequence[int] = ()
    """The counts of virtual users, where they are not those of the manifests."""
    warnings: Sequence[str] = ()
    """Reasons to be careful that are about the server instead of the finding."""
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    """Above the charts, after the ratios."""
    details: Sequence[Table] = ()
    """Below the charts."""
    flames: Sequence[Flame] = ()
    plans: Sequence[Table] = ()
    plans_title: str = ""
    environment: Sequence[Table] = ()
    journal: Sequence[Table] = ()


class Experiment(Protocol):
    """What a page is made of (``hdbkit.api.ExperimentResult``)."""

    @property
    def finding(self) -> Finding:
        """What was found."""

    def evidence(self) -> Evidence:
        """What is shown beside it."""

    def charts(self) -> dict[str, Chart]:
        """Its charts by their keys."""


def experiment_report(path: Path, experiment: Experiment) -> Path:
    """Write the page of an experiment to ``path`` and return the path."""
    finding, evidence = experiment.finding, experiment.evidence()
    page = Page(
        kicker=evidence.kicker,
        card=card(finding, evidence),
        notice=finding.notice,
        command=finding.command,
        notes=[_sentence(note) for note in finding.notes],
        figures=evidence.figures,
        tables=[*ratio_tables(finding), *evidence.tables],
        charts=list(experiment.charts().values()),
        flames=evidence.flames,
        evidence=[*detail_tables(finding), *evidence.details],
        plans=evidence.plans,
        plans_title=evidence.plans_title,
        environment=evidence.environment,
        journal=evidence.journal,
    )
    make_folder(path.parent, exist_ok=True)
    return write_page(path, page)


def card(finding: Finding, evidence: Evidence) -> Card:
    """The result of an experiment in a few lines."""
    best, headline, metric = finding.best, finding.headline, finding.metric
    verdict = headline.verdict if headline else str(best.verdict) if best else "no result"
    verdict = finding.interim or verdict
    value = of = ""
    if headline:
        value, of = headline.value, headline.of
    elif best is not None and best.ratio is not None:
        several = len({ratio.virtual_users for ratio in finding.ratios if ratio.of is best.of}) > 1
        at = f" at {virtual_users(best.virtual_users)}" if several and best.virtual_users else ""
        value = times(best.ratio)
        of = f"{best.label}{at} against {best.against}: {_values(best, metric)}"
    bar = None
    if headline is None and best is not None and best.ratio is not None:
        bar = Bar(best.ratio, *best.interval, finding.smallest_effect or 0.0, finding.confidence)
    return Card(
        question=finding.question,
        answer=finding.answer,
        verdict=verdict,
        value=value,
        of=of,
        bar=bar,
        interval=headline.interval if headline else "",
        facts=measured_by(evidence.manifests, evidence.users),
        prices=[price.sentence for price in finding.prices],
        checks=checks_over_runs(evidence.manifests),
        warnings=[*finding.warnings, *evidence.warnings],
        next_step=finding.advice,
    )


def _values(best: Ratio, metric: Metric) -> str:
    """Both values of a ratio and its change: ``2,242 to 5,518 TPS (+146 %)``."""
    change = percent(best.ratio or 1.0, metric)
    if best.base is None or best.value is None:
        return f"{metric.name} {change}"
    return f"{metric.number(best.base)} to {metric.text(best.value)} ({change})"


def experiment_card(experiment: Experiment, *lines: str) -> str:
    """The result of an experiment as a notebook shows it, the best ratios first; ``lines`` stand below its notes."""
    finding, evidence = experiment.finding, experiment.evidence()
    said = [_sentence(line) for line in filter(None, [*finding.notes, *lines])]
    notice = f"{evidence.kicker}: {finding.notice}"
    return card(finding, evidence).in_notebook(notice, [*ratio_tables(finding, ranked=True), *evidence.tables], said)


def _sentence(text: str) -> str:
    return f"{text.removesuffix('.')}."
