"""The load of a workload: accepted values, and the resulting mix."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hdbkit.config import Load, TprocCSpec, load_from, spec_from
from hdbkit.config.model import ConfigModel
from hdbkit.config.specs import AnyLoad, AnyWorkload
from hdbkit.config.specs.custom import CustomLoad
from hdbkit.config.specs.tproc_c import InputRules, Routines, TprocCLoad
from hdbkit.config.workload_spec import SchemaFrom
from hdbkit.contracts import Capability
from hdbkit.errors import ConfigErrors, InputError
from hdbkit.plan import RunPlan
from hdbkit.workloads import workload


def test_the_mix_is_the_specifications_unless_given_otherwise() -> None:
    """TPC-C 5.2.3."""
    assert TprocCLoad().weights == {
        "new_order": 45,
        "payment": 43,
        "order_status": 4,
        "delivery": 4,
        "stock_level": 4,
    }
    hammerdb = TprocCLoad(input_rules=InputRules.HAMMERDB).weights
    assert hammerdb == {"new_order": 10, "payment": 10, "order_status": 1, "delivery": 1, "stock_level": 1}
    own = TprocCLoad(mix={"payment": 2}).weights
    assert own == {"new_order": 0, "payment": 2, "order_status": 0, "delivery": 0, "stock_level": 0}


@pytest.mark.parametrize(
    "mix",
    [
        ["45", 43, 4, 4, 4],
        {"NewOrder": 45, "Payment": 43, "OrderStatus": 4, "Delivery": 4, "StockLevel": 4},
        {"NEWORD": 45, "PAYMENT": 43, "OSTAT": 4, "DELIVERY": 4, "SLEV": 4},
        {"new-order": 45, "payment": 43, "order status": 4, "delivery": 4, "stock-level": 4},
    ],
)
def test_a_mix_is_written_as_other_tools_do(mix: object) -> None:
    assert TprocCLoad(mix=mix).mix == TprocCLoad().weights  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"mix": {"paymnt": 1}}, "Did you mean 'payment'"),
        ({"mix": {"payment": -1}}, "0 or more, not -1"),
        ({"mix": {"payment": 0}}, "a weight above 0"),
        ({"mix": {}}, "a weight above 0"),
        ({"mix": ["45", "43", "4"]}, "give a weight for each of new_order, .*, not 3 weights"),
        ({"mix": {"NewOrder": 1, "new_order": 2}}, "a transaction occurs twice in NewOrder, new_order"),
        ({"steps": "10 users"}, "or with active users: '60 s at 8 users; "),
        ({"duration_s": 0}, "must be greater than 0, not 0"),
        ({"duration_s": float("nan")}, "not nan"),
        ({"virtual_users": 100_001}, "must be 100000 or less, not 100001"),
        ({"isolation": "snapshot"}, "must be 'read_committed', 'repeatable_read' or 'serializable', not 'snapshot'"),
        ({"virtual_user": 4}, "Did you mean 'virtual_users'"),
    ],
)
def test_a_load_that_makes_no_sense_is_refused(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigErrors, match=sentence):
        load_from(given)


def test_a_value_once_made_does_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        TprocCSpec().warehouses = 2  # type: ignore[misc]


@pytest.mark.parametrize("given", [{"warehouses": 0}, {"tablespace": "a; b"}, {"kind": "tproc_x"}, {"seed": -1}])
def test_a_scale_that_makes_no_sense_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(ConfigErrors):
        spec_from(given)


def test_a_load_on_a_schema_of_hammerdb_s_has_its_rules_and_its_mix() -> None:
    hammerdb = workload(TprocCSpec(schema_from=SchemaFrom.HAMMERDB))
    assert workload(TprocCSpec()).load(Load(virtual_users=3)) == TprocCLoad(virtual_users=3)
    load = hammerdb.load(Load(virtual_users=3))
    assert isinstance(load, TprocCLoad)
    assert (load.virtual_users, load.input_rules, load.weights["payment"]) == (3, InputRules.HAMMERDB, 10)
    assert hammerdb.load(load) == load
    with pytest.raises(InputError, match="requires input_rules hammerdb, not spec; omit input_rules"):
        hammerdb.load(TprocCLoad(input_rules=InputRules.SPEC))
    with pytest.raises(InputError, match="requires routines stored, not client; omit routines"):
        hammerdb.load(TprocCLoad(routines=Routines.CLIENT))
    with pytest.raises(InputError, match="requires remote_warehouses true, not false; omit remote_warehouses"):
        hammerdb.load(TprocCLoad(remote_warehouses=False))


@pytest.mark.parametrize(
    ("given", "on_both", "on_clients_alone"),
    [
        ({}, Routines.STORED, Routines.CLIENT),
        ({"routines": "client"}, Routines.CLIENT, Routines.CLIENT),
        ({"routines": "stored"}, Routines.STORED, Routines.STORED),
    ],
)
def test_who_sends_the_transactions_is_by_default_what_the_engine_can(
    given: dict[str, str], on_both: Routines, on_clients_alone: Routines
) -> None:
    """As the run keeps it; nothing else of the load changes, and to decide again changes nothing."""
    work, client = workload(TprocCSpec()), frozenset({Capability.CLIENT_ROUTINES})
    for capabilities, expected in ((client | {Capability.STORED_ROUTINES}, on_both), (client, on_clients_alone)):
        settled = work.settled(TprocCLoad(virtual_users=3, **given), capabilities)
        assert settled == TprocCLoad(virtual_users=3, routines=expected)
        assert work.settled(settled, frozenset()) == settled


def test_a_load_is_of_the_workload_whose_options_are_given() -> None:
    assert type(load_from({"virtual_users": 2})) is Load
    assert type(load_from({"keep_order_ids": True})) is TprocCLoad
    assert type(load_from({"weights": {"read": 1}})) is CustomLoad
    with pytest.raises(ConfigErrors, match="weights: unknown key"):
        load_from({"weights": {"read": 1}, "mix": {"payment": 1}})
    with pytest.raises(ConfigErrors, match="mix: unknown key here; TprocCLoad has it"):
        Load(**{"mix": {"payment": 1}})


def test_a_load_of_another_workload_is_refused() -> None:
    with pytest.raises(ConfigErrors, match="weights: unknown key"):
        workload(TprocCSpec()).load(CustomLoad(weights={"read": 1}))


def test_what_a_workload_adds_is_kept_when_a_load_is_written_and_read() -> None:
    class Plan(ConfigModel):
        load: AnyLoad
        workload: AnyWorkload

    plan = Plan(load=TprocCLoad(routines="client", rampup_s=1), workload=TprocCSpec(warehouses=3, partitions=4))
    assert Plan.model_validate_json(plan.model_dump_json()) == plan
    assert plan.workload.storage == {"partitions": 4}


def test_a_changed_load_is_checked() -> None:
    assert TprocCLoad(mix={"payment": 1}).with_(seed=3).mix == {"payment": 1}
    with pytest.raises(ConfigErrors, match="must be 1 or more"):
        Load().with_(virtual_users=0)


def test_an_option_of_an_engine_at_its_default_is_none() -> None:
    assert TprocCSpec(partitions=0) == TprocCSpec()
    assert TprocCSpec(partitions=4).with_(partitions=0) == TprocCSpec(partitions=4).with_(partitions="0")
    assert TprocCSpec(partitions=4).with_(partitions=0).storage == {}
    with pytest.raises(ConfigErrors, match="storage: must be keys and values, not None"):
        spec_from({"partitions": 4, "storage": None})


@pytest.mark.parametrize("steps", [True, 5, [1, 2], {"a": 1}])
def test_steps_that_are_no_text_are_an_error_of_their_key(steps: object) -> None:
    with pytest.raises(ConfigErrors, match="steps: must be text"):
        Load(steps=steps)


def test_a_plan_of_a_workload_that_is_not_installed_is_read_and_written_without_loss() -> None:
    """Keys of its specification and of its load are kept; the common ones are typed."""
    spec = {"kind": "ycsb", "seed": 1, "storage": {}, "partitions": 4, "fields": [{"length": 100}]}
    load = {**Load(virtual_users=3).model_dump(mode="json"), "read_share": 0.95}
    stored = {"run_id": "one", "target": {"kind": "other", "host": "db1"}, "workload": spec, "load": load}
    plan = RunPlan.model_validate(stored)
    assert (plan.workload.kind, plan.load.virtual_users) == ("ycsb", 3)
    written = plan.model_dump(mode="json")
    assert (written["workload"], written["load"]) == (spec, load)
    assert RunPlan.model_validate(written) == plan
    with pytest.raises(InputError, match="the workload 'ycsb' is not installed here"):
        workload(plan.workload)
    with pytest.raises(ConfigErrors, match="there is no workload 'ycsb'"):
        spec_from(spec)


def test_a_stored_plan_is_read_without_an_engine_and_without_a_workload_s_code() -> None:
    program = """
import sys
from hdbkit.plan import RunPlan
for workload in ({"kind": "tproc_h", "scale_factor": 1, "storage": {"keys": 4}}, {"kind": "ycsb", "records": 1}):
    load = {"virtual_users": 2, "steps": "5 s at 10/s", "fault": "kill client at 1 s"}
    RunPlan.model_validate({"run_id": "a", "target": {"kind": "db"}, "workload": workload, "load": load})
print([name for name in sys.modules if name.startswith(("hdbkit.databases", "hdbkit.workloads"))])
"""
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "[]\n"
