"""Frames in, charts out; each with the question it answers, a text alternative and a table.

``Result.charts()``, ``SweepResult.charts()`` and ``Comparison.charts()`` give every chart that the data allow, by its
key. A :class:`~hdbkit.charts.chart.Chart` keeps a plotly figure, gives a matplotlib figure of the same
(``chart.matplotlib()``, or ``chart.draw("matplotlib")``), and writes PNG, SVG, PDF and HTML (``chart.save(path)``).
"""
