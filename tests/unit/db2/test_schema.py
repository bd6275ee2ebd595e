"""Tables of Db2: table spaces and partitions; settings."""

from __future__ import annotations

from contextlib import closing

import pytest

from hdbkit.config import Target, WorkloadSpec
from hdbkit.contracts import Capability
from hdbkit.databases import database
from hdbkit.databases.db2 import Db2Session
from hdbkit.errors import ConfigErrors, InputError
from hdbkit.workloads import workload
from hdbkit.workloads.tproc_h.spec import TprocHSpec
from tests.db2_double import Module, failure, result
from tests.unit.db2.sessions import TARGET


def built(ibm_db: Module, **storage: object) -> dict[str, str]:
    """What creates each table."""
    work = workload(WorkloadSpec(warehouses=20, storage=storage))
    with closing(database(TARGET).schema(TARGET, work)) as schema:
        ibm_db.forget()
        schema.create("{}")
    return {text.split()[2]: text for text in ibm_db.texts if text.startswith("CREATE TABLE")}


def test_tables_are_in_the_default_table_space_without_an_option(ibm_db: Module) -> None:
    assert not [text for text in built(ibm_db).values() if " IN " in text]


def test_each_table_can_have_a_table_space(ibm_db: Module) -> None:
    texts = built(ibm_db, tablespace="fast", table_tablespaces="stock=ts_s,order_line=ts_ol")
    spaces = {table: text.rpartition(" IN ")[2] for table, text in texts.items() if " IN " in text}
    assert spaces.pop("stock") == "ts_s"
    assert spaces.pop("order_line") == "ts_ol"
    assert {*spaces.values()} == {"fast"}
    assert len(spaces) == 7


def test_indexes_can_have_a_table_space(ibm_db: Module) -> None:
    texts = built(ibm_db, tablespace="fast", index_tablespace="fast_ix")
    assert len([text for text in texts.values() if text.endswith("IN fast INDEX IN fast_ix")]) == 9
    with pytest.raises(InputError, match="index_tablespace needs tablespace"):
        built(ibm_db, index_tablespace="fast_ix")


def test_wrong_table_spaces_are_refused(ibm_db: Module) -> None:
    with pytest.raises(InputError, match="names sock, which the workload does not have"):
        built(ibm_db, table_tablespaces="sock=ts")
    with pytest.raises(ConfigErrors, match="table_tablespaces"):
        built(ibm_db, table_tablespaces="stock:ts")


def test_partitions_are_ranges_of_warehouses_and_one_for_the_rest(ibm_db: Module) -> None:
    texts = built(ibm_db, partitions=8, tablespace="fast")
    parted = {table: text for table, text in texts.items() if "PARTITION BY" in text}
    assert sorted(parted) == ["history", "order_line", "orders"]
    assert parted["orders"].endswith(
        "IN fast PARTITION BY RANGE (o_w_id) (STARTING (1) ENDING (20) EVERY (3), ENDING (MAXVALUE))"
    )


def test_partitions_of_another_workload_are_sized_for_its_scale(ibm_db: Module) -> None:
    work = workload(TprocHSpec(scale_factor=2, storage={"partitions": 4}))
    with closing(database(TARGET).schema(TARGET, work)) as schema:
        ibm_db.forget()
        schema.create("{}")
    (text,) = [text for text in ibm_db.texts if text.startswith("CREATE TABLE orders")]
    assert text.endswith("RANGE (o_orderkey) (STARTING (1) ENDING (12000000) EVERY (3000000), ENDING (MAXVALUE))")


@pytest.mark.parametrize(
    ("error", "claimed"),
    [(None, True), (failure("40001", -911, 'Reason code "68".'), False), (failure("42501", -551), True)],
)
def test_a_schema_is_reserved_by_a_lock_on_a_table(error: Exception | None, claimed: bool, ibm_db: Module) -> None:
    """Who may not lock it is not refused."""
    ibm_db.answers = lambda text, _: (
        [result("N", (0 if "BUILD_CLAIM" in text else 1,))] if text.startswith("SELECT") else None
    )
    with closing(database(TARGET).schema(TARGET, workload(WorkloadSpec(warehouses=1)))) as schema:
        ibm_db.forget()
        before = ibm_db.answers
        ibm_db.answers = lambda text, values: error if error and text.startswith("LOCK") else before(text, values)
        assert schema.claim() is claimed
    made, lock = "CREATE TABLE build_claim (id INTEGER)", "LOCK TABLE build_claim IN EXCLUSIVE MODE"
    assert [text for text in ibm_db.texts if text in (made, lock)] == [made, lock]
    assert "SET CURRENT LOCK TIMEOUT 1" in ibm_db.texts


def test_a_setting_is_changed_by_the_command_that_the_server_makes(session: Db2Session, ibm_db: Module) -> None:
    made = "CALL SYSPROC.ADMIN_CMD('UPDATE DB CFG FOR BENCH USING locklist 500 IMMEDIATE')"
    ibm_db.answers = lambda text, _: [result("C", (made,))] if text.startswith("SELECT") else None
    session.query("set_setting", name="locklist", value="500", apply_by="reload")
    assert ibm_db.texts[-2:] == [made, "commit"]
    assert ibm_db.log[0].values == ("locklist", "500", "reload")


def test_derby_has_no_settings(ibm_db: Module) -> None:
    assert Capability.SETTINGS in database(TARGET).capabilities
    ibm_db.name = ""
    assert Capability.SETTINGS not in database(Target.parse("db2://a@h/D")).capabilities
