"""Panels for notebooks: target, schema, run, highest rate, profile, sweep, comparison and the list of runs.

Each panel is a class that works alone in a cell; ``hdbkit.ui()`` shows all of them together. A panel holds no logic
of its own: it calls the public API and shows the call that it makes. Names are imported when they are first used.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from hdbkit.errors import InputError

if TYPE_CHECKING:
    from hdbkit.widgets.panels.compare import ComparePanel as ComparePanel
    from hdbkit.widgets.panels.demo import DemoPanel as DemoPanel
    from hdbkit.widgets.panels.loads import MaxRatePanel as MaxRatePanel
    from hdbkit.widgets.panels.loads import ProfilePanel as ProfilePanel
    from hdbkit.widgets.panels.loads import RunPanel as RunPanel
    from hdbkit.widgets.panels.runs import RunsPanel as RunsPanel
    from hdbkit.widgets.panels.schema import SchemaPanel as SchemaPanel
    from hdbkit.widgets.panels.sweep import SweepPanel as SweepPanel
    from hdbkit.widgets.panels.target import PasswordField as PasswordField
    from hdbkit.widgets.panels.target import TargetPanel as TargetPanel
    from hdbkit.widgets.parts.base import Panel as Panel
    from hdbkit.widgets.parts.base import Shared as Shared

if importlib.util.find_spec("anywidget") is None:
    raise InputError("the panels need ipywidgets and anywidget; run: pip install 'hdbkit[lab]'")

_PLACES = {
    "ComparePanel": "panels.compare",
    "MaxRatePanel": "panels.loads",
    "Panel": "parts.base",
    "PasswordField": "panels.target",
    "ProfilePanel": "panels.loads",
    "DemoPanel": "panels.demo",
    "RunPanel": "panels.loads",
    "RunsPanel": "panels.runs",
    "SchemaPanel": "panels.schema",
    "Shared": "parts.base",
    "SweepPanel": "panels.sweep",
    "TargetPanel": "panels.target",
}

__all__ = sorted(_PLACES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'hdbkit.widgets' has no attribute {name!r}")
    return getattr(importlib.import_module(f"hdbkit.widgets.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
