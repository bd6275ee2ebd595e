"""``hdbkit engine check`` on every engine that stores tables, beside other data."""

from __future__ import annotations

from contextlib import closing

import pytest

from hdbkit.config import Target
from hdbkit.contracts import Capability, Database
from hdbkit.engines.rule_check import Tried, try_rules
from hdbkit.errors import InputError
from hdbkit.workloads.tproc_c.conformance import RULES
from hdbkit.workloads.tproc_c.conformance.rules import Small
from tests.conformance.conftest import WORK, Tables

SOME = tuple(one for one in RULES if one.name.startswith(("order ids", "what is committed")))


def test_a_check_touches_no_other_schema(target: Target, engine: Database, small: Small) -> None:
    before = small.everything()
    if Capability.SCHEMAS in engine.capabilities:
        kept = {one.rule: one.kept for one in try_rules(target, WORK, SOME)}
        assert set(kept.values()) == {True}
    else:
        with pytest.raises(InputError, match="did not create for a check"):
            list(try_rules(target, WORK, SOME))
    assert small.everything() == before


def test_a_check_of_an_empty_database_leaves_it_empty(target: Target, engine: Database, tables: Tables) -> None:
    tables.emptied().close()
    tables.drop()
    for one in try_rules(target, WORK, SOME):
        assert one == Tried(one.rule, True) or one.kept is None
    with closing(tables.schema()) as schema:
        assert not schema.log().exists
