"""Draws lines against axes, as SVG: text that any browser shows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from math import ceil, floor, log10

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 76, 196, 46, 54  # around the field in which lines are drawn
# Distinct to those who do not see all colours, in this order (after Okabe and Ito).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#8c6d31")
STEPS = (1.0, 2.0, 5.0)
MOST_DOTS = 12
LABEL_APART = 15.0  # between the names of two lines, so that both can be read


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its name, its points, and whether it is only there to compare with.

    Lines with one ``family`` have one colour; those without one have each its own.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    is_dashed: bool = False
    family: str = ""

    @property
    def is_curve(self) -> bool:
        """Whether it stands for many figures, rather than for each of a few."""
        return len(self.points) > MOST_DOTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    log_x: bool = True
    log_y: bool = True


class Scale:
    """From figures to places on one axis."""

    def __init__(self, figures: Sequence[float], begin: float, end: float, *, is_log: bool) -> None:
        self._is_log = is_log
        self._begin, self._end = begin, end
        self.ticks = ticks(figures, is_log=is_log)
        edges = [self._turned(one) for one in (self.ticks[0], self.ticks[-1])]
        self._low, self._high = edges[0], edges[1] if edges[1] > edges[0] else edges[0] + 1

    def __call__(self, figure: float) -> float:
        share = (self._turned(figure) - self._low) / (self._high - self._low)
        return self._begin + share * (self._end - self._begin)

    def _turned(self, figure: float) -> float:
        return log10(figure) if self._is_log else figure


def ticks(figures: Sequence[float], *, is_log: bool) -> list[float]:
    """Return round figures that enclose all of ``figures``, not many and not few."""
    low, high = min(figures), max(figures)
    if is_log:
        return _decades(low, high)
    step = _round_up((high - min(low, 0.0)) / 6 or 1.0)
    first, last = floor(min(low, 0.0) / step), ceil(high / step)
    return [number * step for number in range(first, last + 1)]


def _decades(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 of every decade in between; over many decades only their first."""
    first, last = floor(log10(low)), ceil(log10(high))
    steps = STEPS if last - first <= 2 else (1.0,)
    all_of_them = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    begin = max((one for one in all_of_them if one <= low * 1.0001), default=all_of_them[0])
    end = min((one for one in all_of_them if one >= high * 0.9999), default=all_of_them[-1])
    return [one for one in all_of_them if begin <= one <= end]


def _round_up(step: float) -> float:
    power = 10.0 ** floor(log10(step))
    return next(one * power for one in (*STEPS, 10.0) if one * power >= step * 0.9999)


def drawable(plot: Plot) -> Plot | None:
    """Return ``plot`` without what cannot be drawn on its axes; None if nothing is left."""
    lines = tuple(
        replace(line, points=kept)
        for line in plot.lines
        if (
            kept := tuple(
                (x, y)
                for x, y in line.points
                if (x > 0 or not plot.log_x) and (y > 0 or not plot.log_y)
            )
        )
    )
    return replace(plot, lines=lines) if lines else None


def svg(plot: Plot) -> str:
    """Return the drawing; ``plot`` has something that can be drawn."""
    xs = [x for line in plot.lines for x, _ in line.points]
    ys = [y for line in plot.lines for _, y in line.points]
    across = Scale(xs, LEFT, WIDTH - RIGHT, is_log=plot.log_x)
    upward = Scale(ys, HEIGHT - BOTTOM, TOP, is_log=plot.log_y)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img" font-family="sans-serif" font-size="12">',
        f"<title>{escape(plot.title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        _text(LEFT, 24, plot.title, size=15, weight="bold"),
        *_grid(across, upward),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, plot.x_label, anchor="middle"),
        f'<g transform="translate(18 {(TOP + HEIGHT - BOTTOM) / 2:.1f}) rotate(-90)">'
        f"{_text(0, 0, plot.y_label, anchor='middle')}</g>",
    ]
    ends = _apart([upward(line.points[-1][1]) for line in plot.lines])
    colours = _colours(plot.lines)
    for line, colour, place in zip(plot.lines, colours, ends, strict=True):
        places = [(across(x), upward(y)) for x, y in line.points]
        parts += _line(line, places, colour)
        parts.append(_pointer(line, places[-1], place, colour))
        parts.append(_text(WIDTH - RIGHT + 22, place + 4, line.name, colour=colour))
    return "\n".join([*parts, "</svg>", ""])


def _colours(lines: Sequence[Line]) -> list[str]:
    families = list(dict.fromkeys(line.family or line.name for line in lines))
    return [COLOURS[families.index(line.family or line.name) % len(COLOURS)] for line in lines]


def _pointer(line: Line, end: tuple[float, float], place: float, colour: str) -> str:
    """Lead from a line to its name; show a piece of it where many would cross."""
    begin = (WIDTH - RIGHT + 4, place) if line.is_curve else (end[0] + 5, end[1])
    look = f'stroke-width="2"{_dashes(line)}' if line.is_curve else 'stroke-width="0.7"'
    path = f"M{begin[0]:.1f} {begin[1]:.1f}L{WIDTH - RIGHT + 18} {place:.1f}"
    return f'<path d="{path}" stroke="{colour}" {look} fill="none"/>'


def _grid(across: Scale, upward: Scale) -> list[str]:
    parts = []
    for tick in across.ticks:
        x = across(tick)
        parts.append(_rule(x, TOP, x, HEIGHT - BOTTOM))
        parts.append(_text(x, HEIGHT - BOTTOM + 18, _written(tick), anchor="middle"))
    for tick in upward.ticks:
        y = upward(tick)
        parts.append(_rule(LEFT, y, WIDTH - RIGHT, y))
        parts.append(_text(LEFT - 8, y + 4, _written(tick), anchor="end"))
    return parts


def _line(line: Line, places: Sequence[tuple[float, float]], colour: str) -> list[str]:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    look = f'fill="none" stroke="{colour}" stroke-width="2"{_dashes(line)}'
    drawn = f'<polyline points="{points}" {look}/>'
    if line.is_curve:
        return [drawn]
    dots = (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{colour}"/>' for x, y in places)
    return [drawn, *dots]


def _dashes(line: Line) -> str:
    return ' stroke-dasharray="5 3"' if line.is_dashed else ""


def _apart(wanted: Sequence[float]) -> list[float]:
    """Move names away from each other, as little as they have to be, in the order they have."""
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    placed = list(wanted)
    for above, below in pairwise(order):
        placed[below] = max(placed[below], placed[above] + LABEL_APART)
    too_low = max(0.0, max(placed) - (HEIGHT - BOTTOM))
    if too_low:
        placed[order[-1]] -= too_low
        for below, above in pairwise(order[::-1]):
            placed[above] = min(placed[above], placed[below] - LABEL_APART)
    return placed


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="#dddddd" fill="none"/>'


def _text(  # one element has that many sides
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    size: int = 12,
    weight: str = "normal",
    colour: str = "#222222",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'font-weight="{weight}" fill="{colour}">{escape(text)}</text>'
    )


def _written(tick: float) -> str:
    return f"{tick:,.0f}" if tick >= 1000 else f"{tick:.4g}"
