"""What a chart is: a question, a figure that answers it, the same in words, and the numbers behind it."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go


@dataclass(frozen=True)
class Chart:
    """A figure with its text alternative and its table; ``question`` is its title."""

    key: str
    question: str
    figure: go.Figure
    alternative: str
    table: pd.DataFrame
