"""Tables of Db2: table spaces and partitions; settings."""

from __future__ import annotations

from contextlib import closing, nullcontext

import pytest

from hdbkit.config import Target, TprocCSpec
from hdbkit.config.specs.tproc_h import TprocHSpec
from hdbkit.contracts import Capability
from hdbkit.databases import database
from hdbkit.databases.db2 import Db2Session
from hdbkit.errors import ConfigErrors, InputError, TransactionError
from hdbkit.workloads import workload
from tests.engines.db2.double import Module, failure, result
from tests.engines.db2.sessions import TARGET


def built(ibm_db: Module, **storage: object) -> dict[str, str]:
    """What creates each table."""
    work = workload(TprocCSpec(warehouses=20, storage=storage))
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


MADE, LOCK = "CREATE TABLE build_claim (id INTEGER)", "LOCK TABLE build_claim IN EXCLUSIVE MODE"


def claimed(ibm_db: Module, error: Exception | None) -> bool:
    """Whether a schema is reserved where the lock is answered by an error."""
    plain = lambda text, _: (  # noqa: E731
        [result("N", (0 if "BUILD_CLAIM" in text else 1,))] if text.startswith("SELECT") else None
    )
    ibm_db.answers = plain
    with closing(database(TARGET).schema(TARGET, workload(TprocCSpec(warehouses=1)))) as schema:
        ibm_db.forget()
        ibm_db.answers = lambda text, values: error if error and text.startswith("LOCK") else plain(text, values)
        return schema.claim()


@pytest.mark.parametrize(
    ("error", "reserved", "tries"),
    [
        (None, True, 1),
        (failure("40001", -911, 'Reason code "68".'), False, 1),
        (failure("42501", -551), True, 1),
        (failure("42704", -204), False, 3),
    ],
)
def test_a_schema_is_reserved_by_a_lock_on_a_table(
    error: Exception | None, reserved: bool, tries: int, ibm_db: Module
) -> None:
    """Who may not lock it is not refused; a table that others drop is tried again."""
    assert claimed(ibm_db, error) is reserved
    assert [text for text in ibm_db.texts if text in (MADE, LOCK)] == [MADE, LOCK] * tries
    assert "SET CURRENT LOCK TIMEOUT 1" in ibm_db.texts


@pytest.mark.parametrize(("error", "times"), [(failure("40XL1", -1), 2), (failure("57011", -964), 1)])
def test_a_step_that_could_not_wait_for_a_lock_is_repeated(error: Exception, times: int, ibm_db: Module) -> None:
    errors = [error]
    with closing(database(TARGET).schema(TARGET, workload(TprocCSpec(warehouses=1)))) as schema:
        ibm_db.forget()
        ibm_db.answers = lambda text, _: errors.pop() if errors and text.startswith("ALTER") else None
        with nullcontext() if times > 1 else pytest.raises(TransactionError, match="57011"):
            schema.do("index_stock_pk")
    assert len([text for text in ibm_db.texts if text.startswith("ALTER TABLE stock")]) == times


def test_no_schema_is_reserved_by_an_error_that_is_not_known(ibm_db: Module) -> None:
    with pytest.raises(TransactionError) as met:
        claimed(ibm_db, failure("57011", -964))
    assert met.value.code == "57011"


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
