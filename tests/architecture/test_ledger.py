"""What each feature costs is stated, so that none grows unseen."""

from __future__ import annotations

import runpy

from tests.architecture.source_tree import ROOT

ALLOWED = 0.01
"""The share by which a feature may have grown since its line was written."""


def test_each_feature_costs_what_the_ledger_states() -> None:
    ledger = runpy.run_path(str(ROOT / ".ci" / "ledger"))
    now, stated = ledger["costs"](), ledger["stated"]()
    grown = [
        f"{feature}: {cost.statements:,} statements, {stated[feature].statements:,} in the ledger"
        for feature, cost in now.items()
        if feature not in stated or cost.statements > (1 + ALLOWED) * stated[feature].statements + 5
    ]
    assert not grown, f"state it with: python .ci/ledger; {'; '.join(grown)}"
