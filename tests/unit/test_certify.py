"""A certificate is verified anywhere, and not after a change; what is no certificate is one sentence."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from hdbkit.api import verify_certificate
from hdbkit.api.certify import Examined, Step, _without_address, _write_signed
from hdbkit.cli import app
from hdbkit.config import Target
from hdbkit.errors import InputError
from hdbkit.results.manifest import HostFacts, ServerFacts


@pytest.fixture
def signed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return written(tmp_path)


def written(tmp_path: Path, notice: str = "") -> Path:
    step = Step(name="doctor", state="failed", took_s=1.5, error="", rows=[{"name": "cache", "passed": False}])
    server = ServerFacts(kind="a", title="A", version="A 1")
    examined = Examined(
        made=datetime.now(UTC), software={}, server=server, notice=notice, host=HostFacts(cores=2), steps=[step]
    )
    _write_signed(tmp_path / "certificate.json", examined)
    return tmp_path / "certificate.json"


def test_a_certificate_is_verified_without_the_key_and_refused_after_a_change(signed: Path) -> None:
    (signed.parent / "state").rename(signed.parent / "elsewhere")
    found = verify_certificate(signed)
    assert (found.passed, found.content.steps[0].rows) == (False, [{"name": "cache", "passed": False}])
    shown = CliRunner().invoke(app, ["certify", "--verify", str(signed)])
    assert ("cache" in shown.output, found.fingerprint in shown.output) == (True, True)
    signed.write_text(signed.read_text(encoding="utf-8").replace('"failed"', '"passed"'), encoding="utf-8")
    with pytest.raises(InputError, match="changed after it was signed"):
        verify_certificate(signed)


def test_a_signed_certificate_that_marks_a_step_as_other_than_its_rows_is_refused(signed: Path) -> None:
    content = verify_certificate(signed).content
    (step,) = content.steps

    def write(rows: list[dict[str, object]]) -> None:
        made = step.model_copy(update={"state": "passed", "rows": rows})
        _write_signed(signed, content.model_copy(update={"steps": [made]}))

    forged = [{"passed": False}, {"passed": "no"}, {"name": "cache"}, {"passed": True, "state": "problem"}]
    for rows in (*([{"passed": True}, one] for one in forged), []):
        write(rows)
        with pytest.raises(InputError, match="is not a certificate"):
            verify_certificate(signed)
    write([{"passed": True}, {"passed": None}])
    assert verify_certificate(signed).passed


def test_no_text_of_a_certificate_says_where_its_target_is() -> None:
    at = Target(kind="nulldb", host="127.0.0.9", port=5000, database="d", replicas=("db2.lab:5001",), user="bench")
    at = at.model_copy(update={"password": SecretStr("pw9")})
    texts = [at.url, "127.0.0.9:", "bench@127.0.0.9:5000", 'no role "BENCH", pw9', "db2.lab", "Db2 and benchmark"]
    found = _without_address([{"name": text, "passed": True} for text in texts], at)
    assert not re.search(r"127|500|bench\b|pw9|lab", json.dumps(found), re.IGNORECASE)
    assert found[-1] == {"name": "Db2 and benchmark", "passed": True}


def test_a_file_that_is_no_certificate_is_one_sentence(signed: Path) -> None:
    content = json.loads(signed.read_text(encoding="utf-8"))
    for wrong in (
        "[" * 100_000,
        "{}",
        "[1]",
        json.dumps({**content, "signature": "x"}),
        json.dumps({**content, "public_key": "00"}),
    ):
        signed.write_text(wrong, encoding="utf-8")
        with pytest.raises(InputError, match="is not a certificate"):
            verify_certificate(signed)
    written(signed.parent, notice="\ud800")
    with pytest.raises(InputError, match="is not a certificate"):
        verify_certificate(signed)
    signed.unlink()
    os.mkfifo(signed)
    with pytest.raises(InputError, match="not a regular file"):
        verify_certificate(signed)
