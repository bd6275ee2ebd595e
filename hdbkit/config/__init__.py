"""User input as frozen, typed values, validated on creation.

``Target`` is the database to measure, ``WorkloadSpec`` the workload and its schema, ``Load`` how the workload runs,
and ``SweepSpec`` which settings a sweep tries. All errors of a file are reported together, with line numbers.
"""

from hdbkit.config.control_spec import Commands, ControlSpec
from hdbkit.config.files import read_params, read_yaml, validate
from hdbkit.config.load import Cache, Isolation, Load
from hdbkit.config.preparation import Cooldown, Preparation, Reset
from hdbkit.config.specs import load_from, spec_from
from hdbkit.config.specs.custom import CustomLoad, CustomSpec
from hdbkit.config.specs.tproc_c import TprocCLoad, TprocCSpec
from hdbkit.config.specs.tproc_h import TprocHLoad, TprocHSpec
from hdbkit.config.sweep_spec import SweepSpec
from hdbkit.config.target import Target, target_names
from hdbkit.config.workload_spec import WorkloadSpec

__all__ = [
    "Cache",
    "Commands",
    "ControlSpec",
    "Cooldown",
    "CustomLoad",
    "CustomSpec",
    "Isolation",
    "Load",
    "Preparation",
    "Reset",
    "SweepSpec",
    "Target",
    "TprocCLoad",
    "TprocCSpec",
    "TprocHLoad",
    "TprocHSpec",
    "WorkloadSpec",
    "load_from",
    "read_params",
    "read_yaml",
    "spec_from",
    "target_names",
    "validate",
]
