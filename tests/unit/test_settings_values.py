"""Values of settings are parsed as by the server: units, switches, choices, limits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hdbkit.contracts import ApplyBy, Setting
from hdbkit.servers.values import (
    allowed,
    is_rounded,
    may_read_back_otherwise,
    number_of_value,
    plain_value,
    problem_in,
    repeated,
    same_value,
    with_unit,
)


def setting(kind: str, unit: str | None = None, low: float | None = None, high: float | None = None) -> Setting:
    choices = ("local", "remote_write", "on", "off") if kind == "enum" else ()
    return Setting("it", "", unit, None, ApplyBy.RELOAD, low, high, choices, kind)


PAGES = setting("integer", "8kB", 16, 1073741823)
SECONDS = setting("integer", "s", 30, 86400)
MILLISECONDS = setting("real", "ms", 0, 1000)
COUNT = setting("integer", None, -1, 100)
SIZE = setting("size", None, 1024, 2**64 - 1)


@pytest.mark.parametrize(
    ("kind", "text", "number"),
    [
        (PAGES, "1GB", 131072),
        (PAGES, "128MB", 16384),
        (PAGES, "4096", 4096),
        (PAGES, " 8 kB ", 1),
        (PAGES, "0.5GB", 65536),
        (PAGES, "0x10", 16),
        (SECONDS, "5min", 300),
        (SECONDS, "100ms", 0),
        (SECONDS, "1h", 3600),
        (MILLISECONDS, "500us", 0.5),
        (COUNT, "-1", -1),
        (PAGES, "1gb", None),
        (PAGES, "5ms", None),
        (SIZE, "1G", 2**30),
        (SIZE, "1GB", 2**30),
        (SIZE, "64mib", 2**26),
        (SIZE, "128k", 2**17),
        (SIZE, "1.5G", 3 * 2**29),
        (SIZE, "1X", None),
        (SIZE, "1s", None),
        (COUNT, "1kB", None),
        (COUNT, "many", None),
    ],
)
def test_a_number_is_read_in_the_unit_of_its_setting(kind: Setting, text: str, number: float | None) -> None:
    assert number_of_value(kind, text) == number


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (PAGES, "64kB"),
        (PAGES, "2TB"),
        (PAGES, "1gb"),
        (SECONDS, "2d"),
        (SECONDS, "100ms"),
        (COUNT, "101"),
        (COUNT, "1e999"),
        (COUNT, "9" * 400),
        (PAGES, "0x" + "f" * 400),
        (COUNT, ""),
        (setting("bool"), "o"),
        (setting("bool"), "maybe"),
        (setting("enum"), "remote"),
    ],
)
def test_a_wrong_value_is_reported_with_what_was_given_and_expected(kind: Setting, text: str) -> None:
    reported = problem_in(kind, text) if text != "2TB" else problem_in(setting("integer", "8kB", 16, 1000), text)
    assert reported is not None
    assert text in reported
    assert "must be" in reported


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (PAGES, "16"),
        (PAGES, "1GB"),
        (SECONDS, "1d"),
        (COUNT, "-1"),
        (setting("bool"), "YES"),
        (setting("bool"), "tr"),
        (setting("enum"), "LOCAL"),
        (setting("enum"), "true"),
        (setting("string"), "anything"),
    ],
)
def test_a_right_value_is_no_error(kind: Setting, text: str) -> None:
    assert problem_in(kind, text) is None


@pytest.mark.parametrize(
    ("kind", "wanted", "got", "same"),
    [
        (PAGES, "1GB", "131072", True),
        (PAGES, "1GB", "131071", False),
        (SECONDS, "5min", "300", True),
        (setting("bool"), "yes", "on", True),
        (setting("bool"), "no", "on", False),
        (setting("enum"), "false", "off", True),
        (setting("enum"), "local", "off", False),
        (setting("list"), "a,b", 'a, "b"', True),
        (setting("list"), "a", "a, b", False),
        (setting("string"), "a", "b", False),
        (setting("real"), "0.1", "0.1", True),
    ],
)
def test_units_and_names_of_switches_count_when_values_are_compared(
    kind: Setting, wanted: str, got: str, same: bool
) -> None:
    assert same_value(kind, wanted, got) is same


def test_only_a_text_and_an_automatic_number_may_be_read_back_otherwise() -> None:
    assert may_read_back_otherwise(setting("string"), "ISO")
    assert may_read_back_otherwise(COUNT, "-1")
    assert not may_read_back_otherwise(COUNT, "1")
    assert not may_read_back_otherwise(setting("list"), "a")


def test_a_number_that_the_server_makes_by_its_own_steps_is_rounded_and_another_one_is_not() -> None:
    assert is_rounded(PAGES, "197468kB", "24576")  # 192MB
    assert not is_rounded(PAGES, "1GB", "16384")  # it is as before
    assert not is_rounded(PAGES, "-1", "16384")
    assert not is_rounded(setting("enum"), "local", "off")


def test_a_value_in_other_words_is_the_same_value() -> None:
    (problem,) = repeated(PAGES, ["128MB", "1GB", "1048576kB"])
    assert "has the same value twice: 1GB and 1048576kB" in problem
    assert repeated(setting("bool"), ["on", "true"]) and not repeated(setting("bool"), ["on", "off"])


def test_on_may_stand_for_another_choice_but_never_for_off() -> None:
    compression = replace(setting("enum"), value="pglz")
    assert may_read_back_otherwise(compression, "on")
    assert not may_read_back_otherwise(compression, "off")
    assert not may_read_back_otherwise(replace(compression, value="off"), "on")


@pytest.mark.parametrize(
    ("unit", "number", "text"),
    [("8kB", "16384", "128MB"), ("kB", "4096", "4MB"), ("ms", "90000", "90s"), ("8kB", "-1", "-1"), (None, "7", "7")],
)
def test_a_value_is_written_with_the_largest_unit_that_fits(unit: str | None, number: str, text: str) -> None:
    one = setting("integer", unit)
    assert with_unit(one, number) == text
    assert number_of_value(one, text) == float(number)


@pytest.mark.parametrize(
    ("number", "text"), [("134217728", "128M"), ("1073741824", "1G"), ("1073741825", "1073741825"), ("2048", "2048")]
)
def test_a_size_is_written_with_m_g_or_t_where_it_is_a_multiple(number: str, text: str) -> None:
    assert with_unit(SIZE, number) == text
    assert number_of_value(SIZE, text) == float(number)


def test_what_is_allowed_is_reported_as_one_would_write_it() -> None:
    assert allowed(setting("size", None, 2**21, 2**40)) == "2M to 1T"
    assert allowed(SIZE) == "1024 or more"
    assert allowed(setting("integer", "8kB", 16, 1 << 30)) == "128kB to 8TB"
    assert allowed(setting("enum")) == "local, remote_write, on, off"
    assert allowed(setting("string")) == ""


@pytest.mark.parametrize(
    ("one", "text", "plain"),
    [
        (SIZE, "1G", "1073741824"),
        (SIZE, "18446744073709551615", "18446744073709551615"),
        (setting("bool"), "yes", "on"),
        (setting("bool"), "0", "off"),
        (PAGES, "128MB", "128MB"),
        (setting("string"), "1G", "1G"),
    ],
)
def test_a_command_takes_switches_and_sizes_without_our_ways_of_writing_them(
    one: Setting, text: str, plain: str
) -> None:
    assert plain_value(one, text) == plain


def test_a_wrong_size_is_reported_with_how_sizes_are_written() -> None:
    assert "alone, or with one of K, M, G, T" in str(problem_in(SIZE, "1X"))
    assert "between 1024 and" in str(problem_in(SIZE, "1"))
