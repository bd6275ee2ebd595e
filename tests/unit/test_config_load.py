"""How a workload is driven: what is accepted, and the mix that follows."""

from __future__ import annotations

import pytest

from hdbkit.config import Load, WorkloadSpec
from hdbkit.errors import ConfigErrors, InputError
from hdbkit.workloads.tproc_c.spec import InputRules, Routines, SchemaFrom


def test_the_mix_is_the_specifications_unless_told_otherwise() -> None:
    """TPC-C 5.2.3."""
    assert Load().weights == {"new_order": 45, "payment": 43, "order_status": 4, "delivery": 4, "stock_level": 4}
    hammerdb = Load(input_rules=InputRules.HAMMERDB).weights
    assert hammerdb == {"new_order": 10, "payment": 10, "order_status": 1, "delivery": 1, "stock_level": 1}
    own = Load(mix={"payment": 2}).weights
    assert own == {"new_order": 0, "payment": 2, "order_status": 0, "delivery": 0, "stock_level": 0}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"mix": {"paymnt": 1}}, "Did you mean 'payment'"),
        ({"mix": {"payment": -1}}, "0 or more, not -1"),
        ({"mix": {"payment": 0}}, "a weight above 0"),
        ({"mix": {}}, "a weight above 0"),
        ({"duration_s": 0}, "must be more than 0, not 0"),
        ({"duration_s": float("nan")}, "not nan"),
        ({"virtual_users": 10_001}, "must be 10000 or less, not 10001"),
        ({"isolation": "snapshot"}, "must be 'read_committed', 'repeatable_read' or 'serializable', not 'snapshot'"),
        ({"virtual_user": 4}, "Did you mean 'virtual_users'"),
    ],
)
def test_a_load_that_makes_no_sense_is_refused(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigErrors, match=sentence):
        Load(**given)


def test_a_value_once_made_does_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        WorkloadSpec().warehouses = 2  # type: ignore[misc]


@pytest.mark.parametrize("given", [{"warehouses": 0}, {"tablespace": "a; b"}, {"kind": "tproc_x"}, {"seed": -1}])
def test_a_scale_that_makes_no_sense_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(ConfigErrors):
        WorkloadSpec(**given)


def test_a_load_on_a_schema_of_hammerdb_s_has_its_rules_and_its_mix() -> None:
    schema = WorkloadSpec(schema_from=SchemaFrom.HAMMERDB)
    assert Load(virtual_users=3).on(WorkloadSpec()) == Load(virtual_users=3)
    load = Load(virtual_users=3).on(schema)
    assert (load.virtual_users, load.input_rules, load.weights["payment"]) == (3, InputRules.HAMMERDB, 10)
    assert load.on(schema) == load
    with pytest.raises(InputError, match="with input_rules hammerdb, not spec; leave it out"):
        Load(input_rules=InputRules.SPEC).on(schema)
    with pytest.raises(InputError, match="with routines stored, not client; leave it out"):
        Load(routines=Routines.CLIENT).on(schema)
