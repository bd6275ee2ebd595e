"""Large libraries that the command line imports only when they are used.

Each command imports all verbs, but one that watches a run draws no chart and reads no table until the run ends; each
of these libraries costs 0.1 to 0.5 s and 15 to 50 MB. So a placeholder stands in ``sys.modules`` until one
of its names is asked for. Only the command line does this: in a notebook the process is the user's.
"""

from __future__ import annotations

import sys
import threading
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

_LARGE = (
    *("pandas", "duckdb", "pyarrow", "pyarrow.csv", "pyarrow.parquet", "plotly", "plotly.graph_objects"),
    *("matplotlib", "scipy", "scipy.stats"),
)
_importing = threading.RLock()


class _Later(ModuleType):
    """A module that is executed when one of its names is first asked for; other threads wait for it."""

    _begun = False

    def __init__(self, spec: ModuleSpec, loader: Loader) -> None:
        super().__init__(spec.name)
        vars(self).update(vars(module_from_spec(spec)))
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        with _importing:
            if type(self) is _Later and not self._begun:
                self._begun = True
                try:
                    self._loader.exec_module(self)
                    self.__class__ = ModuleType  # type: ignore[assignment]
                finally:
                    self._begun = False
        if type(self) is _Later:  # asked by its own code, which tries names before it makes them
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self, name)


def import_large_ones_later() -> None:
    """Put placeholders in the place of those that are installed and not imported yet."""
    for name in _LARGE:
        parent, _, last = name.rpartition(".")
        if name in sys.modules or (parent and parent not in sys.modules):
            continue
        spec = find_spec(name)
        if spec and spec.loader:
            later = sys.modules[name] = _Later(spec, spec.loader)
            if parent:
                setattr(sys.modules[parent], last, later)
