"""What is code, quoted or a comment, by the forms of an engine."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hdbkit.databases import database, kinds
from hdbkit.lexer import HIDDEN, STANDARD, Lexer, TokenKind, identifier, lexer_with
from hdbkit.sql import ANSI, lexer_of, lexers_of

PG, MY, MARIA = (lexer_of((ANSI, *names)) for names in (("postgresql",), ("mysql",), ("mysql", "mariadb")))
LITE, MS, ORA = (lexer_of((ANSI, name)) for name in ("sqlite", "sqlserver", "plsql"))
PIECES = st.sampled_from(
    [
        *"'\"`[]$#/*-;:{}\\\n eEqQnU&1?%!M",
        "$a$",
        "--",
        "/*",
        "*/",
        "q'[",
        "]'",
        "''",
        ":x",
        "{y}",
        "/*!50100",
        "-- ",
        "ü",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join), st.sampled_from([STANDARD, PG, MY, MARIA, LITE, MS, ORA]))
def test_no_byte_of_a_text_is_lost(text: str, lexer: Lexer) -> None:
    assert "".join(one.text for one in lexer.tokens(text)) == text
    code = lexer.code(text)
    assert len(code) == len(text)
    assert [code.count("\n"), *map(len, code.split("\n"))] == [text.count("\n"), *map(len, text.split("\n"))]
    assert [one for one in lexer.tokens(text)[:-1] if not one.closed] == [], "what has no end reaches to the end"


@pytest.mark.parametrize(
    ("lexer", "text", "code"),
    [
        (STANDARD, "a 'it''s' b", "a _ b"),
        (STANDARD, "a '\\' b", "a _ b"),
        (STANDARD, 'a "x""y" b', "a _ b"),
        (STANDARD, "a -- it's\nb", "a \nb"),
        (STANDARD, "a /* ' */ b", "a  b"),
        (PG, "a /* /* ' */ ' */ b", "a  b"),
        (MY, "a /* /* */ b", "a  b"),
        (PG, "a $$it's$$ b", "a _ b"),
        (PG, "a $t$ $$ ' $u$ $t$ b", "a _ b"),
        (PG, "a$b$c $1 x$$y", "a$b$c $1 x$$y"),
        (PG, r"a E'it\'s' b", "a _ b"),
        (PG, "a E'x'\n  'it\\'s' b", "a _\n_ b"),
        (PG, r"a tablE'x\' b", "a tablE_ b"),
        (PG, r"a U&'d\0061\' b", "a U&_ b"),
        (PG, r"a '\' b", "a _ b"),
        (PG.with_backslashes(), r"a '\' b' c", "a _ c"),
        (PG, "a::int x := 1 b[1:2] j ? 'k' # 2", "a::int x := 1 b[1:2] j ? _ # 2"),
        (MY, r"a 'it\'s' b", "a _ b"),
        (MY, r'a "it\"s" b', "a _ b"),
        (MY, "a `x``y` b", "a _ b"),
        (MY, "5--1 # it's\nb", "5--1 \nb"),
        (MY, "5-- 'x\nb --\nc --", "5\nb \nc "),
        (MY, "a /*!40100 b 'it''s' */ c", "a  b _  c"),
        (MY, "a /*M! b' */ c", "a  c"),
        (MARIA, "a /*M!100100 b */ c", "a  b  c"),
        (MARIA, "a /*!50700 b' */ c /*!100100 d */", "a  c  d "),
        (MY.with_names_in_double_quotes(), r'a "\" b', "a _ b"),
        (MS, "a [it's]]x] b", "a _ b"),
        (MS, "a /* /* ' */ ' */ b", "a  b"),
        (LITE, "a [it's]] b", "a _] b"),
        (ORA, "a q'[it's]' b", "a _ b"),
        (ORA, "a Nq'{it's}' q'!it's!' b", "a _ _ b"),
        (ORA, "a faq'x' b", "a faq_ b"),
    ],
)
def test_what_an_engine_reads_as_code(lexer: Lexer, text: str, code: str) -> None:
    read = re.sub(f"{HIDDEN}+", "_", lexer.code(text))
    assert read.split() == code.split()


@pytest.mark.parametrize("lexer", [STANDARD, PG, MY, MS])
def test_commands_end_at_semicolons_of_code(lexer: Lexer) -> None:
    text = "SELECT ';' /* ; */ -- ;\n; ; UPDATE t; -- last;\n"
    assert [one.split()[0] for one in lexer.commands(text)] == ["SELECT", "UPDATE"]


@pytest.mark.parametrize(("text", "mark"), [("'x", "'"), ("/* x", "/*"), ('"x', '"')])
def test_a_text_without_its_end_is_found(text: str, mark: str) -> None:
    assert STANDARD.open_end(f"SELECT 'a\nb',\n{text}") == (2, mark)
    assert STANDARD.open_end(f"SELECT {text} {mark[::-1]}") is None


@pytest.mark.parametrize("kind", kinds())
def test_each_engine_states_forms_that_exist(kind: str) -> None:
    assert lexer_of(database(kind).dialects) in {STANDARD, *lexers_of(ANSI)}


def test_a_form_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no form 'tex' of quotes or comments"):
        lexer_with("tex, name")


@pytest.mark.parametrize(
    ("given", "lexer", "written"),
    [
        ("orders", PG, "orders"),
        ('sales."Orders"', PG, 'sales."Orders"'),
        ('sales."Orders"', MY, "sales.`Orders`"),
        ('sales."Orders"', MS, "sales.[Orders]"),
        ("[a]].b].`c``d`", PG, '"a].b"."c`d"'),
        ('"x"";DROP"', PG, '"x"";DROP"'),
        ('"a`b"', MY, "`a``b`"),
        ('"a]b"', MS, "[a]]b]"),
        ("Größe", PG, "Größe"),
    ],
)
def test_a_name_has_the_quotes_of_the_engine(given: str, lexer: Lexer, written: str) -> None:
    assert identifier(given).written(lexer) == written


@settings(max_examples=100, deadline=None)
@given(st.text(min_size=1, max_size=20), st.sampled_from([STANDARD, PG, MY, LITE, MS, ORA]))
def test_a_quoted_name_is_one_token_whatever_is_in_it(name: str, lexer: Lexer) -> None:
    (token,) = lexer.tokens(lexer.written(name))
    assert (token.kind, token.closed) == (TokenKind.QUOTED, True)


@pytest.mark.parametrize(
    "given", ["", "a.", ".a", "a b", "a;b", "a.b.c.d", '"a', '""', "a-b", '"a\nb"', "1a", "a'b", '"a"b']
)
def test_what_is_no_name_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match="is not a name such as"):
        identifier(given)


@pytest.mark.parametrize("text", ["'a\\", "E'a\\"])
def test_an_open_text_that_ends_in_a_backslash_is_one_token(text: str) -> None:
    lexer = PG if text.startswith("E") else MY
    token = list(lexer.tokens(f"SELECT {text}"))[-1]
    assert (token.kind, token.text, token.closed) == (TokenKind.QUOTED, text, False)
