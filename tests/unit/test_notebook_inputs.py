"""The inputs of notebooks: valid content of the parameters cell, and errors that are reported before a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hdbkit.config.notebook import read_notebook, read_parameters
from hdbkit.errors import ConfigErrors, InputError

CELL = """
target: str = "private"  # a name, a URL, or private
users: list[int] = [1, 2]
duration_s: float = 5
label: str | None = None
fast: bool = False
mix: dict[str, float] = {}
"""


def notebook(folder: Path, source: str = CELL, tags: tuple[str, ...] = ("parameters",)) -> Path:
    cell = {"cell_type": "code", "metadata": {"tags": list(tags)}, "source": source}
    path = folder / "some.ipynb"
    path.write_text(json.dumps({"cells": [cell]}))
    return path


def refused(folder: Path, text: str) -> str:
    params = folder / "params.yaml"
    params.write_text(text)
    with pytest.raises(ConfigErrors) as found:
        read_parameters(read_notebook(notebook(folder)), params)
    return str(found.value)


def test_a_parameter_has_a_type_and_a_value(tmp_path: Path) -> None:
    found = read_notebook(notebook(tmp_path)).parameters
    assert {name: one.written for name, one in found.items()} == {
        "target": "str",
        "users": "list[int]",
        "duration_s": "float",
        "label": "str | None",
        "fast": "bool",
        "mix": "dict[str, float]",
    }
    assert found["users"].default == [1, 2]


@pytest.mark.parametrize(
    "values",
    [{}, {"users": [3]}, {"duration_s": 2}, {"label": None}, {"mix": {"payment": 1}}, {"target": "nulldb:///x"}],
)
def test_values_of_the_types_are_taken_as_they_are(tmp_path: Path, values: dict[str, Any]) -> None:
    assert read_notebook(notebook(tmp_path)).check(values, "a call") == values


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("user: [1]", "line 1    user: some.ipynb has no such parameter"),
        ("user: [1]", "Did you mean 'users'?"),
        ("fast: true\nusers: [1, x]", "line 2    users[1]: must be a whole number, not 'x'"),
        ("users: 3", "users: must be a list, not 3"),
        ("users: [true]", "users[0]: must be a whole number, not True"),
        ("duration_s: soon", "duration_s: must be a number, not 'soon'"),
        ("duration_s: .inf", "duration_s: "),
        ("fast: 1", "fast: must be true or false, not 1"),
        ("mix: {payment: much}", "mix.payment: must be a number"),
        ("target: nowhere", "target: there is no target 'nowhere'"),
        ("target: 5", "target: must be text, not 5"),
        ("- 1", "the whole: must be keys and values"),
    ],
)
def test_an_error_is_reported_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    assert said in refused(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "password: hunter2",
        "PGPASSWORD: hunter2",
        "api_token: hunter2",
        "mix: {secret: hunter2}",
        "target: nulldb://me:hunter2@host/x",
        "label: postgresql://me:hunter2@host/x",
        "label: host=db1 user=me password=hunter2",
        "apiKey: hunter2",
    ],
)
def test_a_secret_is_refused_and_not_repeated(tmp_path: Path, text: str) -> None:
    said = refused(tmp_path, text)
    assert "secret" in said or "contains a password" in said
    assert "hunter2" not in said


def test_all_errors_are_reported_at_once(tmp_path: Path) -> None:
    assert "has 3 errors; nothing was started" in refused(tmp_path, "fast: 1\nusers: 3\nother: 1\n")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("users = many()", "parameter 'users'"),
        ("users = other = 1", "may only contain 'name: type = value'"),
        ("users = (1, 2)", "'tuple' is not made of"),
        ("import os\nusers: int = 1", "may only contain 'name: type = value'"),
        ("users: int", "may only contain 'name: type = value'"),
        ("users: Path = 1", "'Path' is not made of"),
        ("users: open('x') = 1", "is not made of"),
        ("users: int = many()", "parameter 'users'"),
        ("users: int = 'x'", "the value does not match the type"),
        ("users: int = = 1", "are not valid Python (line 1"),
        ("db_password: str = ''", "parameter 'db_password'"),
    ],
)
def test_a_parameters_cell_that_is_not_typed_is_refused(tmp_path: Path, source: str, said: str) -> None:
    with pytest.raises(InputError, match=f"{said.replace('(', '[(]')}"):
        read_notebook(notebook(tmp_path, source))


def test_a_value_without_a_type_has_that_of_its_default(tmp_path: Path) -> None:
    """As papermill's own notebooks are written."""
    read = read_notebook(
        notebook(tmp_path, "users = 4  # of the load\nrate = 1.5\nname = 'a'\nlist_of = [1]\nlimit = None")
    )
    assert {name: one.written for name, one in read.parameters.items()} == {
        **{"users": "int", "rate": "float", "name": "str", "list_of": "list"},
        "limit": "int | float | bool | str | list | dict | None",
    }
    assert read.check({"users": 8, "rate": 2, "limit": "x"}, "a file")
    with pytest.raises(ConfigErrors, match="users"):
        read.check({"users": "8"}, "a file")


def test_a_notebook_without_the_cell_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has 0 cells tagged 'parameters'"):
        read_notebook(notebook(tmp_path, tags=()))


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"cells": 3}', '{"cells": [1]}', '{"cells": [{}]}'])
def test_what_is_no_notebook_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "some.ipynb"
    path.write_text(content)
    with pytest.raises(InputError, match=r"is not a readable notebook|has 0 cells"):
        read_notebook(path)
    with pytest.raises(InputError, match="there is no notebook"):
        read_notebook(tmp_path / "none.ipynb")
