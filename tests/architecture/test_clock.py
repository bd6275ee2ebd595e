"""All ids and journals use UTC, so that they sort by time."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.source_tree import modules, nodes, parsed, within

LOCAL = {"now", "today", "utcnow"}
"""Methods of ``datetime``."""


def local_times(tree: ast.Module) -> Iterator[int]:
    """The lines that ask for the wall time of this place."""
    for call in nodes(tree):
        if not isinstance(call, ast.Call) or call.args or call.keywords or not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr in LOCAL and ast.unparse(call.func.value) == "datetime":
            yield call.lineno


def test_no_wall_time_is_local() -> None:
    found = [f"{within(path)}:{line}" for path in modules("hdbkit") for line in local_times(parsed(path))]
    assert not found, "write datetime.now(UTC)"


def test_the_rule_on_time_sees_a_local_one() -> None:
    assert list(local_times(ast.parse("datetime.now(UTC)\ndatetime.now()\ndatetime.utcnow()\n"))) == [2, 3]
