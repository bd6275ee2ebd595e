"""A workspace with all verbs, and the workspace that the names of :mod:`hdbkit` mean."""

from __future__ import annotations

from hdbkit.api.agent import AgentVerbs
from hdbkit.api.batch import BatchVerbs
from hdbkit.api.certify import CertifyVerbs
from hdbkit.api.diagnosis import DiagnosisVerbs
from hdbkit.api.engines import EngineVerbs
from hdbkit.api.first_result import QuickstartVerbs
from hdbkit.api.importing import ImportVerbs
from hdbkit.api.own_workloads import OwnWorkloadVerbs
from hdbkit.api.planned_hosts import PlannedHostsVerbs
from hdbkit.api.planned_power import PlannedPowerVerbs
from hdbkit.api.site import SiteVerbs


class Workspace(
    CertifyVerbs,
    QuickstartVerbs,
    SiteVerbs,
    BatchVerbs,
    PlannedPowerVerbs,
    PlannedHostsVerbs,
    DiagnosisVerbs,
    EngineVerbs,
    OwnWorkloadVerbs,
    ImportVerbs,
    AgentVerbs,
):
    """Where runs are kept and named targets are looked up, with every verb that works there.

    Args:
        results: the folder of all results; by default ``$HDBKIT_RESULTS``, else ``results`` of the checkout, else
            ``./results``.
        targets: the file with named targets; by default ``$HDBKIT_TARGETS``, else ``params/targets.yaml``.

    Example:
        >>> lab = hdbkit.Workspace(results="/data/lab", targets="/data/lab/targets.yaml")  # doctest: +SKIP
        >>> lab.run("db1").metric_value  # doctest: +SKIP
    """


DEFAULT = Workspace()
"""The workspace of this process, with the folders that the environment names; ``hdbkit.run`` is ``DEFAULT.run``."""
