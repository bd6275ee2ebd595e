"""The values of variables against the distributions that they are named after, and their seeds."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, cast

import numpy as np
import pytest
import scipy

from hdbkit.config.specs.definition import Variable
from hdbkit.contracts import Session
from hdbkit.errors import ErrorClass, InputError, TransactionError
from hdbkit.lexer import SqlName, identifier
from hdbkit.workloads.custom.variables import Drawing, ZipfRanks, spread

COUNT = 40_000


def draw(
    count: int = COUNT, seed: int = 1, index: int = 0, users: int = 1, name: str = "v", **variable: Any
) -> list[Any]:
    drawing = Drawing({"rows": 1000}, np.random.default_rng(seed), index, users)
    return drawing.of(name, Variable(**variable))(count)


def fits(values: list[int], expected: np.ndarray, first: int = 0) -> bool:
    """Whether the counts of values from ``first`` on are what these shares give (chi-squared, 1 in 10,000)."""
    counts = np.bincount(np.array(values) - first, minlength=len(expected))
    return bool(scipy.stats.chisquare(counts, expected / expected.sum() * len(values)).pvalue > 1e-4)


class Keys:
    """A session with a table of these lowest and highest keys."""

    def __init__(self, *ends: Any) -> None:
        self._ends = ends

    def ask(self, operation: str, **words: SqlName) -> list[tuple[Any, ...]]:
        assert (operation, words) == ("key_range", {"table": identifier("things"), "column": identifier("id")})
        return [self._ends]


def draw_keys(*ends: Any, **options: Any) -> list[Any]:
    variable = Variable(key={"table": "things", "column": "id", **options})
    session = cast(Session, Keys(*ends))
    return Drawing({}, np.random.default_rng(1)).of("v", variable, session)(COUNT)


@pytest.mark.parametrize("options", [{}, {"exponent": 1.0}, {"exponent": 0.5}], ids=str)
def test_keys_are_drawn_between_the_ends_that_the_table_has(options: dict[str, float]) -> None:
    for low, high in ((7, 26), (Decimal(-3), Decimal(3)), (5, 5), (2**62, 2**62 + 40)):
        values = draw_keys(low, high, **options)
        assert (min(values), max(values)) >= (low, low)
        assert max(values) <= high
        assert all(type(value) is int for value in values)
        assert len(set(values)) > 1 or low == high


@pytest.mark.parametrize(
    ("ends", "options", "error"),
    [
        ((1, 10**15 + 1), {"exponent": 1.0}, "the keys things.id: 1 to 1000000000000001 has more than 1,"),
        ((1, 2**63), {}, "the keys things.id: 9223372036854775808 is beyond the range of 64-bit integers"),
        ((None, None), {}, "the table things has no row, so id has no range to draw keys from"),
        (("a", "b"), {}, "the keys things.id are not whole numbers, so none can be drawn"),
    ],
    ids=["zipf", "64 bits", "empty", "text"],
)
def test_keys_that_cannot_be_drawn_are_refused(ends: tuple[Any, ...], options: dict[str, float], error: str) -> None:
    with pytest.raises(InputError, match=re.escape(error)):
        draw_keys(*ends, **options)


class QuotedKeys(Keys):
    """A server that knows the column ``"Id"`` and no ``id``."""

    def ask(self, operation: str, **words: SqlName) -> list[tuple[Any, ...]]:
        if words["column"] != identifier('"Id"'):
            raise TransactionError(ErrorClass.OTHER, "42703", "no such column")
        assert words["table"] == identifier('sales."Orders"')
        return [self._ends]


def test_a_key_whose_name_needs_quotes_is_found() -> None:
    for column in ("Id", '"Id"'):
        variable = Variable(key={"table": 'sales."Orders"', "column": column})
        session = cast(Session, QuotedKeys(3, 3))
        assert Drawing({}, np.random.default_rng(1)).of("v", variable, session)(2) == [3, 3]


def test_a_key_that_is_not_there_is_named_with_the_servers_reason() -> None:
    variable = Variable(key={"table": 'sales."Orders"', "column": "no"})
    with pytest.raises(InputError, match=r'the keys sales\."Orders"\.no cannot be read: no such column'):
        Drawing({}, np.random.default_rng(1)).of("v", variable, cast(Session, QuotedKeys(3, 3)))


def test_uniform_numbers_are_equally_likely_up_to_both_ends() -> None:
    values = draw(uniform={"min": -3, "max": 6})
    assert fits(values, np.ones(10), -3)
    assert all(type(value) is int for value in values)


def test_uniform_numbers_may_have_digits_after_the_point() -> None:
    values = draw(uniform={"min": 0, "max": 1, "decimals": 2})
    assert {round(100 * value) for value in values} == set(range(101))


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({"min": 0.01, "max": 0.04, "decimals": 2}, [0.01, 0.02, 0.03, 0.04]),
        ({"min": 0.285, "max": 0.309, "decimals": 2}, [0.29, 0.3]),
        ({"min": 1.5, "max": 3.5}, [2, 3]),
        ({"min": -1.5, "max": 0.5}, [-1, 0]),
        ({"min": "rows / 300", "max": "rows / 200"}, [4, 5]),
    ],
)
def test_bounds_are_kept_to_their_last_digit(bounds: dict[str, Any], expected: list[float]) -> None:
    assert sorted({*draw(1000, uniform=bounds)}) == expected


@pytest.mark.parametrize(
    ("bounds", "error"),
    [
        ({"min": "2 * rows", "max": "rows"}, r"min \(2000\) is above max \(1000\)"),
        ({"min": 0.2, "max": 0.8}, r"no whole number from 0\.2 to 0\.8"),
        ({"min": 0.001, "max": 0.009, "decimals": 2}, "no number with 2 decimals"),
        ({"max": "rowz"}, "'rowz' is not a parameter"),
        ({"max": "1 / (rows - rows)"}, "divides by zero"),
        ({"max": "rows < 5"}, "is not a number"),
        ({"max": 1e10, "decimals": 9}, "64-bit"),
    ],
)
def test_bounds_without_a_value_between_them_are_refused(bounds: dict[str, Any], error: str) -> None:
    with pytest.raises(InputError, match=error):
        draw(1, uniform=bounds)


def test_bounds_are_expressions_of_the_parameters() -> None:
    assert max(draw(uniform={"max": "rows / 10"})) == 100


@pytest.mark.parametrize("exponent", [0.5, 0.99, 1.0, 1.5, 3.0])
def test_zipf_ranks_have_the_probabilities_of_the_law(exponent: float) -> None:
    ranks = ZipfRanks(50, exponent, np.random.default_rng(2)).draw(COUNT)
    assert fits(ranks.tolist(), np.arange(1, 51) ** -exponent, 1)


def test_a_large_range_needs_no_table() -> None:
    ranks = ZipfRanks(10**12, 0.99, np.random.default_rng(2)).draw(1000)
    assert ranks.min() >= 1
    assert ranks.max() <= 10**12


def test_shuffled_keys_keep_the_law_and_leave_the_start_of_the_range() -> None:
    plain, shuffled = (
        np.sort(np.bincount(draw(zipf={"max": 1000, "exponent": 1.2, "shuffled": on}), minlength=1001))[::-1]
        for on in (False, True)
    )
    assert plain[:5] == pytest.approx(shuffled[:5], rel=0.1)
    assert sorted(spread(np.arange(1, 6), 1000).tolist()) != [0, 1, 2, 3, 4]


def test_normal_numbers_have_mean_and_deviation_and_stay_within() -> None:
    values = draw(normal={"min": 0, "max": 100, "mean": 50, "stddev": 10})
    assert np.mean(values) == pytest.approx(49.5, abs=0.3)
    assert np.std(values) == pytest.approx(10, rel=0.03)
    narrow = draw(normal={"min": 45, "max": 55, "mean": 50, "stddev": 10})
    assert {*narrow} == set(range(45, 56))


def test_exponential_numbers_begin_at_the_minimum_and_have_the_mean() -> None:
    values = draw(exponential={"min": 10, "max": 10_000, "mean": 20})
    assert min(values) == 10
    assert np.mean(values) == pytest.approx(29.5, rel=0.03)


def test_a_distribution_that_hardly_meets_its_range_is_refused() -> None:
    with pytest.raises(InputError, match="almost no value"):
        draw(normal={"min": 1000, "max": 1001, "mean": 0, "stddev": 1})


def test_nurand_is_that_of_clause_2_1_6() -> None:
    values = draw(nurand={"min": 1, "max": 3000, "a": 1023, "c": 259})
    assert min(values) >= 1
    assert max(values) <= 3000
    assert np.bincount(values).max() > 10 * COUNT / 3000


def test_a_sequence_gives_each_number_to_one_user() -> None:
    drawn = [draw(100, index=index, users=3, name="own", sequence={"start": 5}) for index in range(3)]
    assert sorted(value for one in drawn for value in one) == list(range(5, 305))


def test_a_sequence_continues_after_a_new_connection_and_begins_again_after_its_maximum() -> None:
    first, second = (draw(3, name="again", sequence={"step": 10}) for _ in range(2))
    assert first + second == [1, 11, 21, 31, 41, 51]
    assert draw(5, name="round", sequence={"max": 3}) == [1, 2, 3, 1, 2]


def test_texts_have_the_lengths_and_letters() -> None:
    values = draw(2000, text={"min": 2, "max": 5, "alphabet": "xyz"})
    assert {len(value) for value in values} == {2, 3, 4, 5}
    assert {*"".join(values)} == {*"xyz"}


def test_a_list_is_drawn_by_its_weights() -> None:
    values = draw(list={"values": ["a", 2, "c"], "weights": [1, 0, 3]})
    assert {*values} == {"a", "c"}
    assert values.count("c") == pytest.approx(0.75 * COUNT, rel=0.03)


def test_equal_seeds_give_equal_values_and_others_differ() -> None:
    kinds: list[dict[str, Any]] = [
        {"zipf": {"max": 100}},
        {"text": {"max": 9}},
        {"normal": {"max": 9, "mean": 5, "stddev": 2}},
    ]
    for kind in kinds:
        assert draw(50, seed=3, **kind) == draw(50, seed=3, **kind)
        assert draw(50, seed=3, **kind) != draw(50, seed=4, **kind)
