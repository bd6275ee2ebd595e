"""Streams: the order of the queries (TPC-H appendix A), and their parameters (clauses 2.4.1.3 to 2.4.22.3)."""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

from hdbkit.config.specs.tproc_h import REFRESHES, TprocHLoad

_ORDERS: Final = (
    "14 2 9 20 6 17 18 8 21 13 3 22 16 4 11 15 1 10 19 5 7 12",
    "21 3 18 5 11 7 6 20 17 12 16 15 13 10 2 8 14 19 9 22 1 4",
    "6 17 14 16 19 10 9 2 15 8 5 22 12 7 13 18 1 4 20 3 11 21",
    "8 5 4 6 17 7 1 18 22 14 9 10 15 11 20 2 21 19 13 16 12 3",
    "5 21 14 19 15 17 12 6 4 9 8 16 11 2 10 18 1 13 7 22 3 20",
    "21 15 4 6 7 16 19 18 14 22 11 13 3 1 2 5 8 20 12 17 10 9",
    "10 3 15 13 6 8 9 7 4 11 22 18 12 1 5 16 2 14 19 20 17 21",
    "18 8 20 21 2 4 22 17 1 11 9 19 3 13 5 7 10 16 6 14 15 12",
    "19 1 15 17 5 8 9 12 14 7 4 3 20 16 6 22 10 13 2 21 18 11",
    "8 13 2 20 17 3 6 21 18 11 19 10 15 4 22 1 7 12 9 14 5 16",
    "6 15 18 17 12 1 7 2 22 13 21 10 14 9 3 16 20 19 11 4 8 5",
    "15 14 18 17 10 20 16 11 1 8 4 22 5 12 3 9 21 2 13 6 19 7",
    "1 7 16 17 18 22 12 6 8 9 11 4 2 5 20 21 13 10 19 3 14 15",
    "21 17 7 3 1 10 12 22 9 16 6 11 2 4 5 14 8 20 13 18 15 19",
    "2 9 5 4 18 1 20 15 16 17 7 21 13 14 19 8 22 11 10 3 12 6",
    "16 9 17 8 14 11 10 12 6 21 7 3 15 5 22 20 1 13 19 2 4 18",
    "1 3 6 5 2 16 14 22 17 20 4 9 10 11 15 8 12 19 18 13 7 21",
    "3 16 5 11 21 9 2 15 10 18 17 7 8 19 14 13 1 4 22 20 6 12",
    "14 4 13 5 21 11 8 6 3 17 2 20 1 19 10 9 12 18 15 7 22 16",
    "4 12 22 14 5 15 16 2 8 10 17 9 21 7 3 6 13 18 11 20 19 1",
    "16 15 14 13 4 22 18 19 7 1 12 17 5 10 20 3 9 21 11 2 6 8",
    "20 14 21 12 15 17 4 19 13 10 11 1 16 5 18 7 8 22 9 6 3 2",
    "16 14 13 2 21 10 11 4 1 22 18 12 19 5 7 8 6 3 15 20 9 17",
    "18 15 9 14 12 2 8 11 22 21 16 1 6 17 5 10 19 4 20 13 3 7",
    "7 3 10 14 13 21 18 6 20 4 9 8 22 15 2 1 5 12 19 17 11 16",
    "18 1 13 7 16 10 14 2 19 5 21 11 22 15 8 17 20 3 4 12 6 9",
    "13 2 22 5 11 21 20 14 7 10 4 9 19 18 6 3 1 8 15 12 17 16",
    "14 17 21 8 2 9 6 4 5 13 22 7 15 3 1 18 16 11 10 12 20 19",
    "10 22 1 12 13 18 21 20 2 14 16 7 15 3 4 17 5 19 6 8 9 11",
    "10 8 9 18 12 6 1 5 20 11 17 22 16 3 13 2 15 21 14 19 7 4",
    "7 17 22 5 3 10 13 18 9 1 14 15 21 19 16 12 8 6 11 20 4 2",
    "2 9 21 3 4 7 1 11 16 5 20 19 18 8 17 13 10 12 15 6 14 22",
    "15 12 8 4 22 13 16 17 18 3 7 5 6 1 9 11 21 10 14 20 19 2",
    "15 16 2 11 17 7 5 14 20 4 21 3 10 9 12 8 13 6 18 19 22 1",
    "1 13 11 3 4 21 6 14 15 22 18 9 7 5 10 20 12 16 17 8 19 2",
    "14 17 22 20 8 16 5 10 1 13 2 21 12 9 4 18 3 7 6 19 15 11",
    "9 17 7 4 5 13 21 18 11 3 22 1 6 16 20 14 15 10 8 2 12 19",
    "13 14 5 22 19 11 9 6 18 15 8 10 7 4 17 16 3 1 12 2 21 20",
    "20 5 4 14 11 1 6 16 8 22 7 3 2 12 21 19 17 13 10 15 18 9",
    "3 7 14 15 6 5 21 20 18 10 4 16 19 1 13 9 8 17 11 12 22 2",
    "13 15 17 1 22 11 3 4 7 20 14 21 9 8 2 18 16 6 10 12 5 19",
)
"""By stream: its queries in order. Stream 0 is that of a power run, the others those of throughput runs."""
_REGIONS: Final = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
_NATIONS: Final = {
    "AFRICA": ("ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE"),
    "AMERICA": ("ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES"),
    "ASIA": ("CHINA", "INDIA", "INDONESIA", "JAPAN", "VIETNAM"),
    "EUROPE": ("FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM"),
    "MIDDLE EAST": ("EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA"),
}
_ALL_NATIONS: Final = tuple(name for names in _NATIONS.values() for name in names)
_SEGMENTS: Final = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
_MODES: Final = ("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK")
_TYPES: Final = (
    ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"),
    ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"),
    ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER"),
)
_CONTAINERS: Final = (
    ("SM", "LG", "MED", "JUMBO", "WRAP"),
    ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"),
)
_COLOR_WORDS: Final = """
almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished chartreuse
chiffon chocolate coral cornflower cornsilk cream cyan dark deep dim dodger drab firebrick floral forest frosted
gainsboro ghost goldenrod green grey honeydew hot indian ivory khaki lace lavender lawn lemon light lime linen
magenta maroon medium metallic midnight mint misty moccasin navajo navy olive orange orchid pale papaya peach
peru pink plum powder puff purple red rose rosy royal saddle salmon sandy seashell sienna sky slate smoke snow
spring steel tan thistle tomato turquoise violet wheat white yellow
"""
_COLORS: Final = tuple(_COLOR_WORDS.split())
_WORDS: Final = (("special", "pending", "unusual", "express"), ("packages", "requests", "accounts", "deposits"))
SubstitutionValues = dict[str, Any]


def ordered(stream: int) -> tuple[str, ...]:
    """The queries of a stream in order; stream 41 is in the order of stream 1."""
    numbers = _ORDERS[stream if stream < len(_ORDERS) else (stream - 1) % (len(_ORDERS) - 1) + 1].split()
    return tuple(f"q{int(number):02d}" for number in numbers)


def queries_of(load: TprocHLoad, index: int) -> tuple[str, ...]:
    """The queries of a virtual user in order; none if it runs only refresh functions."""
    runs_queries = index < load.query_streams
    return tuple(name for name in ordered(load.stream_of(index)) if name in load.selected) if runs_queries else ()


def operations_in_stream(load: TprocHLoad, index: int) -> tuple[str, ...]:
    """A set of a virtual user in order: queries, the pair of refresh functions, or one within the other."""
    before, after = REFRESHES
    queries = queries_of(load, index)
    return (before, *queries, after) if load.refreshes_in(index) else queries


def first_set(stream: int, selected: Container[str], seed: int, scale_factor: float) -> dict[str, SubstitutionValues]:
    """The first set of queries of a stream in order, with their parameters."""
    source = random.Random(seed)
    return {name: drawn(name, source, scale_factor) for name in ordered(stream) if name in selected}


def drawn(query: str, source: random.Random, scale_factor: float) -> SubstitutionValues:
    """The parameters of a query by name, drawn by the rules of its clause."""
    return _DRAW[query](source, scale_factor)


def _quarter(source: random.Random, first: date, last: date, months: int) -> SubstitutionValues:
    """The first day of a month between two, and the day ``months`` later."""
    number = source.randint(first.year * 12 + first.month - 1, last.year * 12 + last.month - 1)
    return {"first_day": _month(number), "end_day": _month(number + months)}


def _month(number: int) -> date:
    return date(number // 12, number % 12 + 1, 1)


def _year(source: random.Random) -> SubstitutionValues:
    year = source.randint(1993, 1997)
    return {"first_day": date(year, 1, 1), "end_day": date(year + 1, 1, 1)}


def _brand(source: random.Random) -> str:
    return f"Brand#{source.randint(1, 5)}{source.randint(1, 5)}"


def _syllables(source: random.Random, lists: tuple[tuple[str, ...], ...]) -> str:
    return " ".join(source.choice(one) for one in lists)


def _q06(source: random.Random, _: float) -> SubstitutionValues:
    discount = Decimal(source.randint(2, 9)) / 100
    cent = Decimal("0.01")
    limits = {"min_discount": discount - cent, "max_discount": discount + cent}
    return {**_year(source), **limits, "quantity": source.randint(24, 25)}


def _q07(source: random.Random, _: float) -> SubstitutionValues:
    return dict(zip(("nation1", "nation2"), source.sample(_ALL_NATIONS, 2), strict=True))


def _q08(source: random.Random, _: float) -> SubstitutionValues:
    region = source.choice(_REGIONS)
    return {"nation": source.choice(_NATIONS[region]), "region": region, "type": _syllables(source, _TYPES)}


def _q12(source: random.Random, _: float) -> SubstitutionValues:
    return {**dict(zip(("mode1", "mode2"), source.sample(_MODES, 2), strict=True)), **_year(source)}


def _q16(source: random.Random, _: float) -> SubstitutionValues:
    sizes = {f"size{number}": size for number, size in enumerate(source.sample(range(1, 51), 8), 1)}
    return {"brand": _brand(source), "type": f"{_syllables(source, _TYPES[:2])}%", **sizes}


def _q19(source: random.Random, _: float) -> SubstitutionValues:
    quantities = {
        f"quantity{number}": source.randint(low, low + (9 if number == 1 else 10))
        for number, low in ((1, 1), (2, 10), (3, 20))
    }
    return {**quantities, **{f"brand{number}": _brand(source) for number in (1, 2, 3)}}


def _q22(source: random.Random, _: float) -> SubstitutionValues:
    return {f"code{number}": str(code) for number, code in enumerate(source.sample(range(10, 35), 7), 1)}


_DRAW: Final[Mapping[str, Callable[[random.Random, float], SubstitutionValues]]] = {
    "q01": lambda source, _: {"last_shipdate": date(1998, 12, 1) - timedelta(days=source.randint(60, 120))},
    "q02": lambda source, _: {
        "size": source.randint(1, 50),
        "type": f"%{source.choice(_TYPES[2])}",
        "region": source.choice(_REGIONS),
    },
    "q03": lambda source, _: {"segment": source.choice(_SEGMENTS), "day": date(1995, 3, source.randint(1, 31))},
    "q04": lambda source, _: _quarter(source, date(1993, 1, 1), date(1997, 10, 1), 3),
    "q05": lambda source, _: {"region": source.choice(_REGIONS), **_year(source)},
    "q06": _q06,
    "q07": _q07,
    "q08": _q08,
    "q09": lambda source, _: {"color": f"%{source.choice(_COLORS)}%"},
    "q10": lambda source, _: _quarter(source, date(1993, 2, 1), date(1995, 1, 1), 3),
    "q11": lambda source, scale: {
        "nation": source.choice(_ALL_NATIONS),
        "fraction": (Decimal("0.0001") / Decimal(f"{scale:g}")).quantize(Decimal("1e-10")),
    },
    "q12": _q12,
    "q13": lambda source, _: {"words": "%" + "%".join(source.choice(one) for one in _WORDS) + "%"},
    "q14": lambda source, _: _quarter(source, date(1993, 1, 1), date(1997, 12, 1), 1),
    "q15": lambda source, _: _quarter(source, date(1993, 1, 1), date(1997, 10, 1), 3),
    "q16": _q16,
    "q17": lambda source, _: {"brand": _brand(source), "container": _syllables(source, _CONTAINERS)},
    "q18": lambda source, _: {"quantity": source.randint(312, 315)},
    "q19": _q19,
    "q20": lambda source, _: {
        "color": f"{source.choice(_COLORS)}%",
        **_year(source),
        "nation": source.choice(_ALL_NATIONS),
    },
    "q21": lambda source, _: {"nation": source.choice(_ALL_NATIONS)},
    "q22": _q22,
}
