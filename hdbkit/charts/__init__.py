"""Frames in, plotly figures out; each chart with the question it answers, its words and its table."""
