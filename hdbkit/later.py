"""Libraries that are imported when one of their names is first used.

Large ones cost 0.1 to 1.5 s and 15 to 50 MB, small ones 0.02 to 0.05 s, and the start of a run uses few of them.
``from hdbkit.later import pandas as pd`` is ``import pandas as pd`` at another time. The placeholder is a name of
hdbkit alone: a library is in ``sys.modules`` only once it is whole, as other code of the process expects.

What forks share is imported before they are made: the modules of workloads that clients execute import NumPy
themselves.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = [
    "duckdb",
    "graph_objects",
    "numpy",
    "pandas",
    "parquet",
    "platformdirs",
    "psutil",
    "pyarrow",
    "scipy",
    "yaml",
]

if TYPE_CHECKING:
    import duckdb
    import numpy
    import pandas
    import platformdirs
    import psutil
    import pyarrow
    import scipy
    import yaml
    from plotly import graph_objects
    from pyarrow import parquet
else:

    class _Later(ModuleType):
        """The names of a library; each is kept here once it was asked for."""

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__") and name != "__version__":  # asked by tools that look through modules
                raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
            value = vars(self)[name] = getattr(import_module(self.__name__), name)
            return value

    duckdb, numpy, pandas, pyarrow, scipy = map(_Later, ("duckdb", "numpy", "pandas", "pyarrow", "scipy"))
    platformdirs, psutil, yaml = map(_Later, ("platformdirs", "psutil", "yaml"))
    graph_objects, parquet = _Later("plotly.graph_objects"), _Later("pyarrow.parquet")
