"""Parameter files: all errors together, with line numbers; only InputError for any content."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hdbkit.config import SweepSpec, read_yaml
from hdbkit.config.specs import read_load
from hdbkit.errors import ConfigErrors, InputError

RANGE = "{from: 128MB, to: 4GB, factor: 2}"
PARAMS = Path(__file__).resolve().parents[2] / "params"
SOURCES = {path.name: path.read_bytes() for path in sorted(PARAMS.rglob("*")) if path.is_file()}


def write(folder: Path, text: str, name: str = "file.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_all_errors_are_reported_at_once_with_their_lines(tmp_path: Path) -> None:
    path = write(
        tmp_path, "blocks: 1\nload:\n  virtual_users: 0\n  duration: 5\nsettings:\n  work_mem: 4MB\nquestoin: why\n"
    )
    with pytest.raises(ConfigErrors) as caught:
        SweepSpec.read(str(path))
    assert sorted((m.line, m.where, m.what) for m in caught.value.problems) == [
        (1, "blocks", "must be 2 or more, not 1"),
        (3, "load.virtual_users", "must be 1 or more, not 0"),
        (4, "load.duration", "unknown key. Did you mean 'duration_s'?"),
        (6, "settings.work_mem", f"give a list of values, such as [4MB], or a range, such as {RANGE}"),
        (7, "questoin", "unknown key. Did you mean 'question'?"),
    ]
    assert str(caught.value).startswith(f"{path} has 5 errors; nothing was started:\n")


def test_merge_keys_take_what_a_mapping_does_not_set_itself(tmp_path: Path) -> None:
    """YAML 1.1's ``<<``: own keys win, then those of the first mapping that is named."""
    file = tmp_path / "targets.yaml"
    file.write_text(
        "a: &a {kind: postgresql, port: 5432, user: a}\n"
        "b: &b\n  user: b\n  database: d\n"
        "c:\n  <<: [*a, *b]\n  port: 5433\n"
    )
    content, lines = read_yaml(file)
    assert content["c"] == {"kind": "postgresql", "user": "a", "database": "d", "port": 5433}
    assert (lines["c", "port"], lines["c", "database"]) == (7, 4)
    file.write_text("c:\n  <<: 3\n  port: 1\n  port: 2\n")
    with pytest.raises(ConfigErrors, match=r"(?s)line 2 +c\.<<: must be a mapping.*line 4 +c\.port: duplicate key"):
        read_yaml(file)


def test_a_key_given_twice_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, "seed: 1\nmix:\n  payment: 1\n  payment: 2\nseed: 2\n")
    with pytest.raises(ConfigErrors) as caught:
        read_load(path)
    assert [(m.line, m.where) for m in caught.value.problems] == [(4, "mix.payment"), (5, "seed")]


@pytest.mark.parametrize("name", ["file.yaml", "file.json"])
def test_a_character_that_json_escapes_as_a_pair_is_read_and_half_of_a_pair_is_refused(
    tmp_path: Path, name: str
) -> None:
    content, _ = read_yaml(write(tmp_path, r'{"a": "\ud83d\ude00 \u00e9", "\ud83d\ude00": 1}', name))
    assert content == {"a": "😀 é", "😀": 1}
    for half in (r"\ud83d", r"\ude00\ud83d"):
        with pytest.raises(ConfigErrors, match=r"1 error.*\n.*line 1 .*a: must be text that UTF-8 can encode"):
            read_yaml(write(tmp_path, f'{{"a": "{half}"}}', name))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [1", "is not valid YAML: line 1"),
        ("1: a", "line 1: a key must be text"),
        ("a: !!bool maybe", "line 1: the value is not of the type"),
        ("a: !!python/object:os.system x", "is not valid YAML: line 1"),
        ("just words", "must be keys and values"),
        ("", "must be keys and values"),
        ("a: &a [*a]", "nested more than 40 deep"),
        ("[" * 60_000, "nested more than 40 deep"),
        ("1" + ":1" * 100_000, "is a number of base 60"),
        ("? 1" + ":1" * 100_000, "a key must be text"),
    ],
)
def test_a_file_that_cannot_be_understood_is_reported_in_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read_load(write(tmp_path, text))


def test_aliases_that_grow_without_end_are_refused(tmp_path: Path) -> None:
    levels = [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}, *a{i - 1}, *a{i - 1}]" for i in range(1, 30)]
    with pytest.raises(InputError, match="more than 100000 values"):
        read_yaml(write(tmp_path, "\n".join(["a0: &a0 x", *levels])))


def test_a_missing_binary_or_huge_file_is_reported_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        read_yaml(tmp_path / "none.yaml")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read as text"):
        read_yaml(tmp_path / "binary")
    (tmp_path / "huge").write_bytes(b"#" * (2 << 20))
    with pytest.raises(InputError, match="larger than 1 MB"):
        read_yaml(tmp_path / "huge")
    with pytest.raises(InputError, match="cannot be read as text"):
        read_yaml(tmp_path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_file_may_come_from_the_editor_of_any_system(tmp_path: Path, encoding: str, end: str) -> None:
    (tmp_path / "a.yaml").write_bytes(f"# für alle{end}seed: 5{end}warehouses: x{end}".encode(encoding))
    assert read_yaml(tmp_path / "a.yaml") == (
        {"seed": 5, "warehouses": "x"}, {(): 2, ("seed",): 2, ("warehouses",): 3}
    )  # fmt: skip


def test_another_encoding_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes("seed: 5\n# für alle\n".encode("cp1252"))
    with pytest.raises(InputError, match="cannot be read as text: it is not UTF-8 in line 2; save it as UTF-8"):
        read_yaml(tmp_path / "a.yaml")
    (tmp_path / "b.yaml").write_bytes("seed: 5\n".encode("utf-16-le"))
    with pytest.raises(InputError, match="it has a character with the code 0; save it as UTF-8"):
        read_yaml(tmp_path / "b.yaml")


def test_the_text_of_a_broken_line_is_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_yaml(write(tmp_path, 'password: "hunter2\n'))
    assert "hunter2" not in str(caught.value)


def read_any(path: Path) -> None:
    read_load(path) if path.name.startswith("run") else SweepSpec.read(path)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from([name for name in SOURCES if name != "targets.yaml"]),
    at=st.integers(0, 600),
    cut=st.integers(0, 12),
    put=st.one_of(st.binary(max_size=6), st.text("&*!{}[]:,-?|>%@`\"'#\n\t~=<0x.9e", max_size=8).map(str.encode)),
)
@example(name="run-oltp.yaml", at=0, cut=600, put=b"seed: 0x" + b"f" * 9000)
@example(name="run-oltp.yaml", at=0, cut=600, put=b"seed: !!int ''")
@example(name="run-oltp.yaml", at=0, cut=600, put=b"seed: !!timestamp x")
@example(name="run-oltp.yaml", at=0, cut=600, put=b"[" * 5000)
@example(name="sweep-demo.yaml", at=0, cut=600, put=b"settings: {a: [0x" + b"f" * 9000 + b"]}")
@example(name="sweep-demo.yaml", at=0, cut=600, put=b"settings: {a: [.nan, {b: 1}], <<: *x}")
def test_a_damaged_file_is_read_or_refused_with_a_message(
    tmp_path: Path, name: str, at: int, cut: int, put: bytes
) -> None:
    source = SOURCES[name]
    path = tmp_path / name
    path.write_bytes(source[:at] + put + source[at + cut :])
    try:
        read_any(path)
    except InputError as error:
        assert len(str(error)) > 20
