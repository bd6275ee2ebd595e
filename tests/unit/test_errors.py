"""The error tree: every error survives pickling, and states what is wrong, what was given and what to do."""

from __future__ import annotations

import pickle

import pytest

from hdbkit import errors
from hdbkit.errors import (
    BuildFailed,
    CannotConnect,
    ConfigErrors,
    ErrorClass,
    HdbkitError,
    InputError,
    MissingDriver,
    Problem,
    RunFailed,
    TransactionError,
)
from hdbkit.results.columns import ERROR_CLASSES

EXAMPLES = [
    ConfigErrors("run.yaml", [Problem("seed", "duplicate key", 7), Problem("load.mix", "must be a word")]),
    MissingDriver("nulldb", "nulldriver", "null"),
    CannotConnect("nulldb://bench@db1/tpcc", "connection refused", "start the server, or give its port"),
    errors.NothingListens("nulldb://bench@db1/tpcc", "nothing listens on db1", "start the server"),
    errors.NoneFree("nulldb://bench@db1/tpcc", "all connections are in use", "use fewer virtual users"),
    errors.Rejected("nulldb://bench@db1/tpcc", "wrong user 'bench' or password", "set the right one"),
    errors.NotReady("nulldb://bench@db1/tpcc", "the server is starting up", "try again in a moment"),
    RunFailed("20261120-2104-nulldb-c-w10-u4-abc", "client 3 was killed"),
    errors.ServerDown("the server is down; start it", "20261120-2104-memory-abc"),
    errors.ExperimentFailed("20261120-2104-memory-abc", "its process was killed"),
    errors.AgentLost("https://db1:8443", 300.0, "Connection refused", "20261120-2104-memory-abc"),
    BuildFailed("warehouse 7", "the disk was full", "make room on it"),
    TransactionError(ErrorClass.DEADLOCK, "40P01", "deadlock detected"),
    errors.GivenUp(ErrorClass.OTHER, "", "statement drop_table waited 30 s for a lock"),
    *(one(f"a {one.__name__}") for one in (InputError, errors.SchemaProblem, errors.HalfBuilt, errors.NoAccess)),
    *(
        one(f"a {one.__name__}")
        for one in (errors.ServerFailed, errors.SearchFailed, errors.DamagedResult, HdbkitError)
    ),
    errors.RolledBackByDesign("a RolledBackByDesign"),
]


def test_every_error_has_an_example_here() -> None:
    ours = {one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, HdbkitError)}
    assert ours == {type(example) for example in EXAMPLES}


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_survives_pickling_whole(error: HdbkitError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_all_errors_of_a_file_stand_in_one_message() -> None:
    assert str(EXAMPLES[0]) == (
        "run.yaml has 2 errors; nothing was started:\n  line 7    seed: duplicate key\n  load.mix: must be a word"
    )


def test_a_missing_driver_says_what_to_type() -> None:
    assert str(EXAMPLES[1]) == (
        "nulldb needs the Python driver 'nulldriver', which is not installed; run: pip install 'hdbkit[null]'"
    )


def test_what_can_be_asked_for_wrongly_is_an_input_error() -> None:
    assert all(
        issubclass(one, InputError) for one in (ConfigErrors, MissingDriver, CannotConnect, errors.SchemaProblem)
    )
    assert not issubclass(RunFailed, InputError)


def test_every_error_class_has_a_code_in_the_file_format() -> None:
    assert ("", *(one.value for one in ErrorClass)) == ERROR_CLASSES
