"""Warnings of a sweep (failures, growth of the data, an outlying block or run, unequal or large noise, drift), and
the next step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from hdbkit.analysis.run.schedule import RATE_DECIDES, kept_its_rate
from hdbkit.analysis.run.warnings import run_warnings
from hdbkit.analysis.statistics.block_model import BlockModel, usable
from hdbkit.analysis.statistics.carry_over import few_blocks_note
from hdbkit.analysis.statistics.power import POWER
from hdbkit.analysis.sweep.observations import sliced
from hdbkit.analysis.sweep.verdicts import configuration_labels
from hdbkit.analysis.wording import change, percent
from hdbkit.caution import Caution, Kind
from hdbkit.config.metric import Metric
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.later import scipy
from hdbkit.results.experiment_runs import each_run
from hdbkit.results.finding import Ratio, Verdict
from hdbkit.results.manifest import Manifest
from hdbkit.text import many, share, size_text, virtual_users

_OUTLYING = 0.05
_SURPRISING = 3.0
_DRIFT_P = 0.01
_DRIFT = 0.02
_MIN_DF = 0.5
"""A cell with fewer degrees of freedom has one run, and no noise of its own."""
_NOTABLE_P = 0.02
"""The probability of a warning about one run or one configuration where there is no reason for it."""
_LARGE_NOISE = 0.3
_MAX_BLOCKS = 100
"""More blocks than these are not suggested: what would need them is too small for the noise."""
MAX_GROWTH = 0.05
"""From this growth on the last runs may have had more work than the first."""


def rate_warnings(manifests: Sequence[Manifest]) -> list[str]:
    """Whether the runs of a sweep kept a rate, so that its verdicts on a throughput say nothing; one phrase."""
    kept = sum(kept_its_rate(one) for one in manifests)
    return [RATE_DECIDES.after(f"in {kept} of {many(len(manifests), 'run')}: ")] if kept else []


def sweep_warnings(runs: pd.DataFrame, metric: Metric) -> list[str]:
    """Reasons to doubt the result of a sweep, one phrase each; empty when nothing was found.

    Where configurations alternate within runs, what changes from run to run and a drift affect all alike.
    """
    found: list[str] = []
    each = each_run(runs)
    unfinished = int((each["status"] == "failed").sum())
    if unfinished:
        verb = "is" if unfinished == 1 else "are"
        found.append(Caution(f"{unfinished} of {len(each)} runs failed and {verb} not counted", Kind.FAILED_RUNS))
    for name, count in failed_checks(runs).items():
        found.append(Caution(f"{count} of {len(each)} runs failed the check '{name}'", Kind.CHECK))
    model = BlockModel.fitted(runs, metric)
    if model.df < 1:
        return found
    centred, alternating = _centred(usable(runs), metric), sliced(runs)
    found += [] if alternating else _outlying_blocks(centred, metric, model.noise)
    labels = configuration_labels(runs)
    found += _outlying_run(model, usable(runs), labels, metric) + _unequal_noise(model, labels)
    if model.noise >= _LARGE_NOISE:
        text = f"the noise of a run is {share(model.noise)}: only large differences can be decided"
        found.append(Caution(text, Kind.NOISE))
    return found + ([] if alternating else _drift(centred, metric))


def failed_checks(runs: pd.DataFrame) -> dict[str, int]:
    """The number of runs of a sweep that failed each check, most frequent first; without checks that none failed."""
    return dict(Counter(name for names in each_run(runs)["checks_failed"] for name in names).most_common())


def warnings_text(found: Sequence[str]) -> str:
    """Warnings as the screen shows them; empty when there are none."""
    return "\n".join(["Warnings:", *(f"* {one}" for one in found)]) if found else ""


def next_step(ratios: Sequence[Ratio], with_blocks: Callable[[int], str]) -> str:
    """The command that settles what is undecided; empty when nothing is, or when it would take too many blocks.

    ``with_blocks`` returns the command line for a total number of blocks.
    """
    undecided = [ratio for ratio in ratios if ratio.verdict is Verdict.UNDECIDED]
    needed = [ratio.needed.blocks for ratio in undecided if ratio.needed and ratio.needed.blocks]
    within = [blocks for blocks in needed if blocks <= _MAX_BLOCKS]
    if not within:
        return ""
    which = (
        "what is" if len(within) == len(undecided) else f"{len(within)} of the {len(undecided)} comparisons that are"
    )
    return f"to decide {which} undecided, with a probability of {share(POWER)}: {with_blocks(max(within))}"


def _centred(done: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """The runs with ``deviation``: log score less the mean of their configuration and virtual users."""
    logs = np.log(metric.score(done["metric_value"]))
    means = logs.groupby([done["virtual_users"], done["configuration"]]).transform("mean")
    return done.assign(deviation=logs - means)


def _outlying_blocks(centred: pd.DataFrame, metric: Metric, noise: float) -> list[str]:
    blocks = centred.groupby("block")["deviation"].agg(["mean", "count"])
    found: list[str] = []
    for block, mean, count in blocks.itertuples():
        away = mean - blocks["mean"].median()
        apart = float(np.expm1(away))
        if abs(apart) > _OUTLYING and abs(away) > _SURPRISING * noise / np.sqrt(count):
            far = percent(1 + apart, metric)
            text = f"{metric.name} of block {block} differs by {far} from the median of the {len(blocks)} blocks"
            found.append(Caution(text, Kind.BLOCK))
    return found


def _outlying_run(model: BlockModel, done: pd.DataFrame, labels: Mapping[int, str], metric: Metric) -> list[str]:
    """The run that is farthest from the model, if that would happen by chance in less than 2 % of sweeps.

    By externally studentized residuals with Bonferroni's correction (Cook and Weisberg 1982, Residuals and Influence
    in Regression, chapter 2).
    """
    if model.df < 2 or not model.noise:
        return []
    left = np.maximum(1 - model.leverage, 1e-9)
    without = (model.noise**2 * model.df - model.residuals**2 / left) / (model.df - 1)
    t = np.abs(model.residuals) / np.sqrt(left * np.maximum(without, 1e-300))
    worst = int(t.argmax())
    if 2 * float(scipy.special.stdtr(model.df - 1, -t[worst])) * len(t) >= _NOTABLE_P:
        return []
    run = done.iloc[worst]
    where = f"{labels[int(run['configuration'])]}, {virtual_users(int(run['virtual_users']))}, block {run['block']}"
    far = change(float(np.exp(model.residuals[worst] / left[worst])), metric)
    text = f"run {run['number']} ({where}) is {far} than its configuration and its block suggest; it is included"
    return [Caution(text, Kind.OUTLIER)]


def _unequal_noise(model: BlockModel, labels: Mapping[int, str]) -> list[str]:
    """The configurations that are noisier than all others together, by an F test with Bonferroni's correction."""
    squares, df = np.bincount(model.cell, model.residuals**2), np.bincount(model.cell, 1 - model.leverage)
    found: list[str] = []
    for (users, configuration), position in model.cells.items():
        rest_df = model.df - df[position]
        if rest_df < 1 or df[position] < _MIN_DF:
            continue
        rest = (squares.sum() - squares[position]) / rest_df
        ratio = squares[position] / df[position] / rest if rest > 0 else 0.0
        if float(scipy.special.fdtrc(df[position], rest_df, ratio)) * len(df) < _NOTABLE_P:
            which, times = f"{labels[configuration]} at {virtual_users(users)}", np.sqrt(ratio)
            text = f"the noise of {which} is {times:.1f} times that of the others; its interval is wider for it"
            found.append(Caution(text, Kind.UNEQUAL_NOISE))
    return found


def wave_note(runs: pd.DataFrame, ratios: Sequence[Ratio]) -> list[str]:
    """Why two configurations in few blocks may differ by a wave on the host; one phrase at most."""
    done, decided = usable(runs), any(ratio.verdict.differs for ratio in ratios)
    if sliced(runs) or not decided or done["configuration"].nunique() != 2 or done["virtual_users"].nunique() > 1:
        return []
    return [note[0].upper() + note[1:] for note in [few_blocks_note(done["block"].nunique())] if note]


def _drift(centred: pd.DataFrame, metric: Metric) -> list[str]:
    if len(centred) < 6 or centred["deviation"].nunique() == 1:
        return []
    line = scipy.stats.linregress(centred["number"], centred["deviation"])
    total = float(np.expm1(line.slope * (centred["number"].max() - centred["number"].min())))
    if line.pvalue > _DRIFT_P or abs(total) < _DRIFT:
        return []
    text = f"{metric.name} drifts by {percent(1 + total, metric)} from the first run to the last"
    return [Caution(text, Kind.DRIFT)]


def data_by_block(manifests: Sequence[Manifest]) -> pd.DataFrame:
    """A row per block: ``bytes_before`` its first and ``bytes_after`` its last run, ``counted`` likewise.

    ``counted`` is NaN where the schema keeps no count. The frame is empty where the runs belong to no sweep, or the
    server does not report the size of its data.
    """
    rows = [
        {"block": noted.block, "number": noted.number, **dict(data)}
        for manifest in manifests
        if (noted := manifest.plan.experiment)
        and manifest.result
        and (data := manifest.result.data)
        and data.bytes_before
    ]
    columns = ["block", "bytes_before", "bytes_after", "counted_before", "counted_after"]
    if not rows:
        return pd.DataFrame(columns=columns)
    counts = dict.fromkeys(columns[3:], float)
    found = pd.DataFrame(rows).astype(counts).sort_values("number").groupby("block", as_index=False)
    return found.agg({name: "last" if name.endswith("after") else "first" for name in columns[1:]})


def start_warnings(manifests: Sequence[Manifest]) -> list[str]:
    """Growth of the data, and the warnings of the runs of a sweep: of each kind that of the run with the worst."""
    seen: dict[str, Caution] = {}
    counts: Counter[str] = Counter()
    for manifest in manifests:
        of_run = {caution.kind or caution.brief: caution for caution in reversed(run_warnings(manifest))}
        for kind, caution in of_run.items():
            seen[kind] = min(seen.get(kind, caution), caution, key=lambda known: known.order)
        counts.update(list(of_run))
    found = [one.after(f"in {counts[kind]} of {many(len(manifests), 'run')}: ") for kind, one in seen.items()]
    return [*_grown(manifests), *found]


def _grown(manifests: Sequence[Manifest]) -> list[str]:
    met = data_by_block(manifests)["bytes_before"]
    if len(met) < 2 or met.iloc[-1] < (1 + MAX_GROWTH) * met.iloc[0]:
        return []
    grown = met.iloc[-1] / met.iloc[0] - 1
    text = (
        f"the data grew by {share(grown)} from the first block to the last ({size_text(met.iloc[0])} to "
        f"{size_text(met.iloc[-1])}), so that later runs had more work; 'reset: restore' starts each with the same"
    )
    return [Caution(text, Kind.GROWTH)]
