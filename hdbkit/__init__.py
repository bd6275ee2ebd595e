"""hdbkit: a database benchmark for Jupyter, Python and the command line.

Example:
    >>> import hdbkit
    >>> result = hdbkit.run("postgresql://bench@db1/lab", load=hdbkit.Load(virtual_users=8))  # doctest: +SKIP
    >>> result.metric_value  # doctest: +SKIP
    88412.0

Its names are those of ``hdbkit.api``, and ``ui``. They are imported when one of them is first used, so that a client
process imports only what it needs.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hdbkit import api as api
    from hdbkit import widgets as widgets
    from hdbkit.api import *  # noqa: F403 - type checkers and editors follow it
    from hdbkit.widgets.panels.ui import ui as ui
else:

    def __getattr__(name: str) -> Any:
        if name == "__all__":
            return __dir__()
        if not name.startswith("_"):
            if find_spec(f"hdbkit.{name}"):  # what "from hdbkit import sql" asks first
                return import_module(f"hdbkit.{name}")
            found = getattr(import_module("hdbkit.widgets.panels.ui" if name == "ui" else "hdbkit.api"), name, None)
            if found is not None and not isinstance(found, ModuleType):
                return found
        raise AttributeError(f"module 'hdbkit' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*dir(import_module("hdbkit.api")), "api", "ui", "widgets"})
