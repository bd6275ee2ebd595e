"""Ids and journals sort by time, so all of them are of one clock: UTC."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.source_tree import ROOT, modules, parsed


@pytest.mark.parametrize("path", modules("hdbkit"), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_wall_time_is_local(path: Path) -> None:
    local = [
        node.lineno
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("datetime.now", "datetime.today", "datetime.utcnow")
        and not (node.args or node.keywords)
    ]
    assert not local, f"lines {local}: write datetime.now(UTC)"
