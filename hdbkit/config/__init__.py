"""What a user asks for: frozen, typed values, checked when they are made.

``Target`` is the database to measure, ``WorkloadSpec`` what is in it, ``Load`` how it is loaded, and
``SweepSpec`` which settings are tried. Every error of a file is told at once, with its line.
"""

from hdbkit.config.control_spec import Commands, ControlSpec
from hdbkit.config.files import read_params, read_yaml, validate
from hdbkit.config.load import Isolation, Load
from hdbkit.config.sweep_spec import Cache, Cooldown, Reset, SweepSpec
from hdbkit.config.target import Target, target_names
from hdbkit.config.workload_spec import WorkloadSpec

__all__ = [
    "Cache",
    "Commands",
    "ControlSpec",
    "Cooldown",
    "Isolation",
    "Load",
    "Reset",
    "SweepSpec",
    "Target",
    "WorkloadSpec",
    "read_params",
    "read_yaml",
    "target_names",
    "validate",
]
