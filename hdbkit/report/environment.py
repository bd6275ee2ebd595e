"""The tables of a run's environment: server, hosts, network, software, load, and changed settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hdbkit.config import Target
from hdbkit.config.load import WINDOW
from hdbkit.config.model import unset
from hdbkit.report.tables import Table, cell, pairs_table, text_table
from hdbkit.results.kept import KeptSetting
from hdbkit.results.manifest import Manifest


def environment(
    manifest: Manifest, settings: Mapping[str, KeptSetting] | None = None, load: Mapping[str, Any] | None = None
) -> list[Table]:
    """The tables of a run's environment; ``settings`` are those that it kept.

    ``load`` replaces the run's own where the page covers more than this run.
    """
    plan = manifest.plan
    workload = _seed_of("population", manifest.schema_facts)
    driven = _seed_of("load", plan.load.model_dump(mode="json") if load is None else load)
    driven |= {name: text for name, text in unset(type(plan.load).model_fields).items() if name not in driven}
    if manifest.one_by_one:
        driven = {name: value for name, value in driven.items() if name not in WINDOW}
    tables = [
        pairs_table("Server", {**manifest.server.known, "target": _address(plan.target)}),
        pairs_table("Host of the clients", manifest.host.known),
        pairs_table("Network between client and server", manifest.network.known),
        pairs_table("Software", manifest.software),
        pairs_table("Workload and load", {**workload, **driven}),
    ]
    changed = {name: one for name, one in (settings or {}).items() if one.changed}
    if changed:
        rows = [
            [name, cell(one.text(one.value)), cell(one.text(one.default))]
            for name, one in sorted(changed.items(), key=lambda named: named[0].lower())
        ]
        tables.append(text_table("Settings that are not the default", ["setting", "value", "default"], rows))
    return [table for table in tables if table.rows]


def _seed_of(what: str, pairs: Mapping[str, Any]) -> dict[str, Any]:
    """What is given; a seed is named after what it seeds, since both workload and load have one."""
    named = {f"seed of the {what}" if name == "seed" else name: value for name, value in pairs.items()}
    return {name: value for name, value in named.items() if value is not None}


def _address(target: Target) -> str:
    port = f":{target.port}" if target.port else ""
    return f"{target.kind}://{target.host or ''}{port}/{target.database or ''}"
