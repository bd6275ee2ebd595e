"""What left newer versions of Python and MySQL is not used; `tests/soak/test_newest.py` runs on them."""

from __future__ import annotations

import re
from pathlib import Path

from tests.architecture.source_tree import ROOT
from tests.newest import needs_python, on_newest_python

NOT_IN_MYSQL = re.compile(r"\b(md5|sha1?|password|encrypt|encode|decode|des_\w+)\s*\(", re.IGNORECASE)
"""Functions that servers of MySQL no longer have; the last to leave, in 9.7, were MD5 and SHA1."""


@needs_python
def test_a_command_with_all_kinds_of_options_starts_on_the_newest_python(tmp_path: Path) -> None:
    said = on_newest_python("run", "--help", folder=tmp_path)
    assert said.returncode == 0, said.stderr
    assert "--virtual-users" in said.stdout


def test_statements_for_mysql_call_no_function_that_left_it() -> None:
    folders = (ROOT / "schemas" / "mysql", ROOT / "schemas" / "ansi")
    texts = {path: path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.sql")}
    assert len(texts) > 10
    assert not {path: found[0] for path, text in texts.items() if (found := NOT_IN_MYSQL.search(text))}
