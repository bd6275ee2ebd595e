"""The sources of passwords: memory, HDBKIT_PASSWORD, the keyring, the driver; reported, never shown."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hdbkit import api
from hdbkit.config import Target, passwords
from hdbkit.config.control_spec import ControlSpec
from hdbkit.config.passwords import find_token, keyring_trouble, read_secret
from hdbkit.databases import database
from hdbkit.databases._base.access import in_colon_file, in_option_file
from hdbkit.errors import InputError

KEYRING = """
from keyring import errors
ENTRIES = {
    ("hdbkit", "postgresql://bench@db1/tpcc"): "from-the-keyring",
    ("hdbkit", "postgresql://bench@db1/broken"): "text\\n",
}
def get_password(service, name):
    if name.endswith("/locked"):
        raise errors.KeyringError("locked")
    return ENTRIES.get((service, name))
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("PGPASSWORD", "PGPASSFILE", "HDBKIT_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture(autouse=True)
def _another_process() -> Iterator[None]:
    """Each test looks for the package ``keyring`` anew."""
    passwords._keyring.cache_clear()
    yield
    passwords._keyring.cache_clear()


@pytest.fixture
def keyring(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package ``keyring`` as it is installed where there is one, with one entry."""
    package = home / "packages" / "keyring"
    package.mkdir(parents=True)
    (package / "errors.py").write_text("class KeyringError(Exception): ...")
    (package / "__init__.py").write_text(KEYRING)
    for name in [name for name in sys.modules if name.partition(".")[0] == "keyring"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(package.parent))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "keyring"]:
        del sys.modules[name]


TARGET = Target.parse("postgresql://bench@db1/tpcc?sslmode=require")


@pytest.mark.usefixtures("home")
def test_without_any_password_nothing_is_found() -> None:
    assert TARGET.secret() is None
    assert api.password_source(TARGET) is None


@pytest.mark.usefixtures("keyring")
def test_memory_comes_before_the_environment_and_that_before_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (TARGET.secret(), api.password_source(TARGET)) == ("from-the-keyring", "the keyring")
    monkeypatch.setenv("HDBKIT_PASSWORD", "from-the-environment")
    assert (TARGET.secret(), api.password_source(TARGET)) == ("from-the-environment", "HDBKIT_PASSWORD")
    typed = TARGET.with_(password="from-memory")
    assert (typed.secret(), api.password_source(typed)) == ("from-memory", "memory")


@pytest.mark.usefixtures("keyring")
@pytest.mark.parametrize(
    ("kind", "variable"),
    [
        ("postgresql", "HDBKIT_PASSWORD"),
        ("postgresql", "PGPASSWORD"),
        ("mariadb", "MYSQL_PWD"),
        ("redis", "REDISCLI_AUTH"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\nmore"])
def test_a_password_with_a_line_break_is_named_by_its_source_and_never_sent_or_shown(
    kind: str, variable: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, f"known-text{end}")
    target = Target.parse(f"{kind}://bench@127.0.0.1:1/0")
    with pytest.raises(InputError, match=f"{variable} (ends with|contains) a line break") as caught:
        database(target).connect(target)
    assert "known-text" not in str(caught.value)
    with pytest.raises(InputError, match=f"{variable} (ends with|contains) a line break"):
        api.password_source(target)


@pytest.mark.usefixtures("keyring")
def test_a_line_break_of_the_keyring_of_memory_and_of_other_secrets_is_named_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(InputError, match="the keyring ends with a line break"):
        TARGET.with_(database="broken").secret()
    with pytest.raises(InputError, match="memory ends with a line break"):
        TARGET.with_(password="known-text\n").secret()
    monkeypatch.setenv("HDBKIT_ADMIN_PASSWORD", "known-text\n")
    administered = TARGET.with_(control=ControlSpec(user="root")).control_account
    with pytest.raises(InputError, match="HDBKIT_ADMIN_PASSWORD ends with a line break"):
        administered.secret()
    monkeypatch.setenv("HDBKIT_AGENT_TOKEN", "known-text\n")
    with pytest.raises(InputError, match="HDBKIT_AGENT_TOKEN ends with a line break"):
        find_token("https://db1", None)


@pytest.mark.usefixtures("keyring")
def test_a_keyring_that_is_locked_or_has_no_entry_leaves_it_to_the_driver() -> None:
    assert TARGET.with_(database="locked").secret() is None
    assert TARGET.with_(user="somebody").secret() is None


def test_a_keyring_that_cannot_be_asked_is_reported_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert keyring_trouble(TARGET.url) == "the package keyring is not installed"


@pytest.mark.usefixtures("keyring")
def test_a_locked_keyring_says_what_it_says_and_an_open_one_nothing() -> None:
    assert keyring_trouble(f"{TARGET.url}/locked") == "locked"
    assert keyring_trouble(TARGET.url) == ""


@pytest.mark.usefixtures("keyring")
def test_a_target_with_a_password_file_is_not_looked_for_in_the_keyring(tmp_path: Path) -> None:
    assert TARGET.with_(password_file=tmp_path / "passwords").secret() is None


def test_a_private_server_is_let_in_by_its_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HDBKIT_PASSWORD", "of-another")
    private = TARGET.with_(server_folder=tmp_path)
    assert private.secret() == ""
    assert api.password_source(private) == "the private server's password file"


def test_the_drivers_own_sources_are_reported(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _colon_file(home / ".pgpass", "db1:5432:tpcc:bench:one")
    assert api.password_source(TARGET) == "~/.pgpass"
    named = _colon_file(home / "mine", "*:*:*:bench:two")
    assert api.password_source(TARGET.with_(password_file=named)) == str(named)
    monkeypatch.setenv("PGPASSWORD", "three")
    assert api.password_source(TARGET) == "PGPASSWORD"


def test_the_usual_option_file_is_reported(home: Path) -> None:
    target = Target.parse("mariadb://bench@db1/tpcc")
    assert api.password_source(target) is None
    (home / ".my.cnf").write_text("[client]\npassword = secret\n")
    assert api.password_source(target) == str(home / ".my.cnf")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("db1:5432:tpcc:bench:secret", True),
        ("*:*:*:*:secret", True),
        ("db1:5433:tpcc:bench:secret", False),
        ("db1:5432:tpcc:somebody:secret", False),
        ("db1:5432:tpcc:bench", False),
        ("#db1:5432:tpcc:bench:secret", False),
        (r"db\1:5432:tp\cc:bench:se\:cret", True),
    ],
)
def test_a_line_of_a_password_file_is_for_its_account(tmp_path: Path, line: str, found: bool) -> None:
    path = _colon_file(tmp_path / "passwords", line)
    assert in_colon_file(path, "db1", 5432, "tpcc", "bench") is found


def test_a_password_file_that_others_may_read_is_skipped(tmp_path: Path) -> None:
    path = _colon_file(tmp_path / "passwords", "*:*:*:*:secret")
    path.chmod(0o644)
    assert not in_colon_file(path, "db1", 5432, "tpcc", "bench")


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("!include /etc/other\n[client]\nuser = bench\npassword = secret  # of the lab\n", "secret"),
        ('[client_bench]\npassword="a\\"b # c"\n[client]\npassword = other\n', 'a"b # c'),
        ("[client]\nuser = bench\n", None),
        ("[mysqld]\npassword = secret\n", None),
        ("password = secret\n", None),
        ("[client]\npassword\n", None),
    ],
)
def test_an_option_file_has_a_password_in_its_group(tmp_path: Path, content: str, found: str | None) -> None:
    path = tmp_path / "my.cnf"
    path.write_text(content)
    assert in_option_file(path, ("client_bench", "client")) == found


def _colon_file(path: Path, line: str) -> Path:
    path.write_text(line + "\n")
    path.chmod(0o600)
    return path


def test_a_secret_is_read_from_a_file_of_limited_size(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(" secret\n")
    assert read_secret(file) == "secret"
    with pytest.raises(InputError, match="/dev/zero has more than 4096 characters"):
        read_secret(Path("/dev/zero"))
