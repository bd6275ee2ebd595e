"""The chart of a run's faults: what was committed and what failed, on one time axis."""

from __future__ import annotations

from hdbkit.analysis.run.faults import effect_text, lost_text
from hdbkit.analysis.run.records import Window
from hdbkit.charts.chart import Chart
from hdbkit.charts.style import add_line, along_run, colour, log_axis
from hdbkit.later import pandas as pd
from hdbkit.results.manifest import Manifest
from hdbkit.text import capital


def faults_over_time(manifest: Manifest, course: pd.DataFrame, window: Window) -> Chart:
    """Committed and failed operations per second; ``course`` as ``course_of_faults`` gives it.

    A second with none of them is a break of the line, since its axis is logarithmic.
    """
    result, metric = manifest.measured, manifest.metric
    fig = along_run(window.start_us / 1e6, "operations per second (log)", showlegend=True)
    for effect in result.faults:
        start_s, end_s = effect.start_s, effect.end_s or effect.start_s
        fig.add_vrect(start_s, end_s, fillcolor=colour("shade"), line_width=0, layer="below")
        fig.add_vline(start_s, line_color=colour("muted"), line_dash="dash", line_width=1.5)
    for index, name in enumerate(one for one in course if one != "second"):
        per_s = [float(n) if n else None for n in course[name]]
        hover_text = "%{x:.0f} s: %{y:,.0f} per second<extra>%{fullData.name}</extra>"
        marks = {"mode": "lines+markers", "marker": {"size": 4}}
        add_line(fig, index, (course["second"] + 0.5).tolist(), per_s, str(name), hover_text, **marks)
    fig.update_yaxes(**log_axis(value for line in fig.data for value in line.y if value))
    words = " ".join(f"{capital(effect_text(effect, metric))}." for effect in result.faults)
    words += f" {capital(lost_text(result))}. Dashed lines mark the beginnings of faults."
    return Chart("faults", "What did each fault do, and how long did recovery take?", fig, words, course)
