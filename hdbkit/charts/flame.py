"""Flame graphs as SVG: a box is a function, as wide as its share of the samples, upon the function that called it."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from hdbkit.analysis.run.waits import WAIT_PARTS, self_shares, stacks
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.text import many, share

_WIDTH, _ROW, _LETTER = 1200.0, 17, 6.4
_NARROW = 0.001
"""A box with a smaller share is left out."""
_CLEAR = 0.05
"""A share that differs by this much has the full colour."""
_KEY = 60
"""The letters of a name in that of a file, which a sum tells from others."""
_NAMED = 5
"""The number of functions that a text names."""

_Run = tuple[RunFolder, Manifest]


@dataclass(frozen=True)
class Flame:
    """A flame graph with its title and its text alternative."""

    key: str
    title: str
    svg: str
    alternative: str


def flames(runs: Sequence[_Run]) -> list[Flame]:
    """The flame graphs of server and clients in runs; none where no stacks were sampled."""
    return [_flame(part, counts) for part in WAIT_PARTS if (counts := _counts(runs, part, None))]


def flame_differences(
    base: Sequence[_Run],
    new: Sequence[_Run],
    names: tuple[str, str],
    positions: tuple[int | None, int | None] = (None, None),
) -> list[Flame]:
    """The flame graphs of ``new``, with what is more and less than in ``base``; none where a side has no stacks."""
    both = ((part, _counts(base, part, positions[0]), _counts(new, part, positions[1])) for part in WAIT_PARTS)
    return [_difference(part, before, after, names) for part, before, after in both if before and after]


def _counts(runs: Sequence[_Run], part: str, position: int | None) -> dict[str, int]:
    return dict(sum((Counter(stacks(*run, part, position)) for run in runs), Counter()))


def _flame(part: str, counts: dict[str, int]) -> Flame:
    title = f"Where did the processors' time of the {part} go?"
    most = ", ".join(f"{name} {share(of)}" for name, of in self_shares(counts).head(_NAMED).items())
    words = f"{many(sum(counts.values()), 'sample')}; the functions that were executed most often: {most}."
    return Flame(f"flame-{part}", title, flame_svg(title, counts), words)


def _difference(part: str, base: dict[str, int], new: dict[str, int], names: tuple[str, str]) -> Flame:
    title = f"What do processors execute otherwise in the {part}: {names[1]} against {names[0]}?"
    apart = self_shares(new).sub(self_shares(base), fill_value=0.0)
    most = apart.reindex(apart.abs().sort_values(ascending=False).index).head(_NAMED)
    said = ", ".join(f"{name} {'+' if of > 0 else '-'}{share(abs(of))}" for name, of in most.items())
    words = f"{names[1]}; red: a larger share than in {names[0]}, blue: a smaller one. Largest differences: {said}."
    named = re.sub(r"\W+", "-", f"flame-{part}-{names[1]}")[:_KEY]
    key = f"{named}-{zlib.crc32(names[1].encode()):08x}"
    return Flame(key, title, flame_svg(title, new, base), words)


@dataclass
class _Box:
    count: float = 0.0
    base: float = 0.0
    inner: dict[str, _Box] = field(default_factory=dict)


def flame_svg(title: str, counts: Mapping[str, int], base: Mapping[str, int] | None = None) -> str:
    """The flame graph of sampled stacks.

    Args:
        title: what was sampled.
        counts: how often each stack was sampled, as ``analysis.run.waits.stacks`` gives them.
        base: those of another configuration: boxes whose share is larger than there are red, others blue.
    """
    root = _Box()
    _add(root, counts, "count")
    _add(root, base or {}, "base")
    boxes: list[tuple[float, float, int, str, _Box]] = []
    _place(root, 0.0, 0, title, boxes)
    height = _ROW * (1 + max(depth for *_, depth, _, _ in boxes))
    drawn = "".join(_drawn(box, height, base is not None) for box in boxes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {height}" width="100%" role="img" '
        f'aria-label="{escape(title)}" font-family="monospace" font-size="11">{drawn}</svg>'
    )


def _add(root: _Box, counts: Mapping[str, int], name: str) -> None:
    """Add stacks as shares of all their samples."""
    total = sum(counts.values())
    for stack, count in counts.items():
        box = root
        setattr(box, name, getattr(box, name) + count / total)
        for function in stack.split(";"):
            box = box.inner.setdefault(function, _Box())
            setattr(box, name, getattr(box, name) + count / total)


def _place(box: _Box, x: float, depth: int, name: str, found: list[tuple[float, float, int, str, _Box]]) -> None:
    found.append((x, box.count, depth, name, box))
    for function, inner in sorted(box.inner.items()):
        if inner.count >= _NARROW:
            _place(inner, x, depth + 1, function, found)
        x += inner.count


def _drawn(placed: tuple[float, float, int, str, _Box], height: int, compared: bool) -> str:
    x, of_all, depth, name, box = placed
    left, wide, top = x * _WIDTH, of_all * _WIDTH, height - _ROW * (depth + 1)
    change = f" instead of {share(box.base)}" if compared else ""
    letters = int((wide - 4) / _LETTER)
    text = name if len(name) <= letters else f"{name[: letters - 1]}\u2026"
    label = f'<text x="{left + 2:.1f}" y="{top + 12}" fill="#14171d">{escape(text)}</text>' if letters > 2 else ""
    return (
        f"<g><title>{escape(name)}: {share(of_all)}{change}</title>"
        f'<rect x="{left:.1f}" y="{top}" width="{wide:.1f}" height="{_ROW - 1}" rx="1" '
        f'fill="{_compared(box) if compared else _warm(name)}"/>{label}</g>'
    )


def _warm(name: str) -> str:
    """A colour that a function has in every graph."""
    number = zlib.crc32(name.encode())
    return f"hsl({18 + number % 34}, 85%, {66 + number // 34 % 10}%)"


def _compared(box: _Box) -> str:
    strength = min(abs(box.count - box.base) / _CLEAR, 1.0)
    return f"hsl({8 if box.count > box.base else 212}, 80%, {94 - 30 * strength:.0f}%)"
