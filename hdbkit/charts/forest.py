"""The forest plot of a comparison: the change of the metric and of each latency, each with its interval."""

from __future__ import annotations

from collections.abc import Sequence

from hdbkit.analysis.wording import CONFIDENCE
from hdbkit.charts.chart import Chart
from hdbkit.charts.intervals import Limits, add_intervals, ratio_axis
from hdbkit.charts.marks import AXIS_WORDS, mark_one, name_rows
from hdbkit.charts.style import figure
from hdbkit.results.finding import Ratio, Verdict, frame
from hdbkit.text import share

_LOOKS = {"better": ("series-3", "diamond"), "worse": ("series-2", "square"), "not shown": ("muted", "circle")}
_JUDGED = {Verdict.FASTER: "better", Verdict.SLOWER: "worse"}


def forest(
    ratios: Sequence[Ratio], smallest_effect: float, names: Sequence[str], confidence: float = CONFIDENCE
) -> Chart:
    """A row for each figure: how many times as good it is on the new side, and where its interval lies.

    Args:
        ratios: of figures that have an interval, at least one.
        smallest_effect: the smallest change that matters, as a share.
        names: those of base and new.
        confidence: of the intervals.
    """
    changes = frame(ratios, columns=("ratio", "low", "high"))
    changes.insert(0, "figure", [f"{ratio.figure} {ratio.quantile}".rstrip() for ratio in ratios])
    changes["judged"] = [_JUDGED.get(ratio.verdict, "not shown") for ratio in ratios]
    title = f"{names[1]} against {names[0]} ({AXIS_WORDS})"
    fig = figure(title, "", height=130 + 34 * len(changes), showlegend=True)
    mark_one(fig, smallest_effect)
    places = list(range(len(changes) - 1, -1, -1))
    limits = Limits.of_ratios(changes["ratio"])
    for name, (ink, symbol) in _LOOKS.items():
        rows = changes[changes["judged"] == name]
        if len(rows):
            add_intervals(
                fig, [places[row] for row in rows.index], rows["ratio"], rows, limits, ink=ink, symbol=symbol,
                size=10,
                name=name, text=rows["figure"].tolist(), hovertemplate="%{text}: x%{x:.3r}<extra></extra>",
            )  # fmt: skip
    name_rows(fig, changes["figure"].tolist())
    ends = limits.clip(changes)
    fig.update_xaxes(**ratio_axis([*changes["ratio"], *ends["low"], *ends["high"]]))
    counts = changes["judged"].value_counts()
    words = [
        f"Of {len(changes)} figures {counts.get('better', 0)} are better with {names[1]} and "
        f"{counts.get('worse', 0)} worse; of the others no change is shown. A latency of x2 is half as long.",
        f"Bars are {share(confidence)} intervals; the band is the smallest effect that matters, "
        f"{share(smallest_effect)}.",
        limits.words(changes),
    ]
    question = "What became better or worse, and by how much?"
    return Chart("changes", question, fig, " ".join(filter(None, words)), changes.round(4))
