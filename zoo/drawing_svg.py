"""Boxes and arrows as an SVG document, laid out from the top down."""

from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT, _GAP, _LANE, _MARGIN, _HEAD = 300, 58, 26, 44, 24, 66
_COLOURS = {
    "input": ("#f4f4f2", "#8a8a8a"),
    "convolution": ("#dfeaf8", "#3b6fb6"),
    "pooling": ("#eeeeee", "#6f6f6f"),
    "recurrence": ("#e0f0e3", "#3d8a50"),
    "attention": ("#fbe8da", "#c4622d"),
    "dense": ("#ece3f5", "#7a4fa3"),
    "other": ("#fbfbfa", "#a9a9a9"),
}
_STYLE = (
    "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:#222}"
    ".name{font-size:13px;font-weight:600}.what{font-size:11px;fill:#444}"
    ".shape{font-size:11px;font-family:ui-monospace,'DejaVu Sans Mono',monospace}"
    ".title{font-size:17px;font-weight:600}.subtitle{font-size:12px;fill:#555}.edge{fill:none;stroke:#777;stroke-width:1.4}"
    ".box{stroke-width:1.4}" + "".join(f".{kind}{{fill:{fill};stroke:{line}}}" for kind, (fill, line) in _COLOURS.items())
)


@dataclass(frozen=True)
class Box:
    """One box of a drawing.

    Args:
        number: its place in the list of boxes, which goes from the inputs to the outputs.
        name: name of the layer.
        what: what it is.
        shape: output shape.
        parameters: trainable parameters, all of them where it stands for several layers.
        kind: decides its colour.
        sources: numbers of the boxes that lead to it.
        count: how many layers it stands for.
    """

    number: int
    name: str
    what: str
    shape: str
    parameters: int
    kind: str
    sources: tuple[int, ...]
    count: int = 1


def picture(boxes: list[Box], title: str, subtitle: str) -> str:
    """Return an SVG document with a box for each layer and an arrow from each to those that take its output.

    Args:
        boxes: from the inputs to the outputs.
        title: above the picture.
        subtitle: below the title, in smaller letters; "" for none.
    """
    ranks = _ranks(boxes)
    lanes = _lanes(boxes, ranks)
    position = [(_MARGIN + lane * (_WIDTH + _LANE), _HEAD + rank * (_HEIGHT + _GAP)) for rank, lane in zip(ranks, lanes, strict=True)]
    subtitle = _short(subtitle, 150)
    width = max([x + _WIDTH + _MARGIN for x, _ in position] + [2 * _MARGIN + 10 * len(title), 2 * _MARGIN + round(6.6 * len(subtitle))])
    height = max(y for _, y in position) + _HEIGHT + _MARGIN
    edges = [_edge(source, box.number, ranks, lanes, position) for box in boxes for source in box.sources]
    words = f"Architecture of {title}: " + ", ".join(box.name for box in boxes)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        f"<title>{escape(title)}</title><desc>{escape(words)}</desc><style>{_STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#777"/></marker></defs>',
        f'<rect width="{width}" height="{height}" rx="8" fill="#fff"/>',
        f'<text class="title" x="{_MARGIN}" y="30">{escape(title)}</text>',
        f'<text class="subtitle" x="{_MARGIN}" y="49">{escape(subtitle)}</text>',
        *edges,
        *(_drawn(box, *place) for box, place in zip(boxes, position, strict=True)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _ranks(boxes: list[Box]) -> list[int]:
    """Return the row of each box: below all its sources; an input stands right above the first that takes it."""
    ranks: list[int] = []
    for box in boxes:
        ranks.append(max((ranks[source] + 1 for source in box.sources), default=0))
    for box in boxes:
        takers = [ranks[other.number] for other in boxes if box.number in other.sources]
        if not box.sources and takers:
            ranks[box.number] = min(takers) - 1
    return ranks


def _lanes(boxes: list[Box], ranks: list[int]) -> list[int]:
    """Return the column of each box: the longest way through the model is the first, what is left of it goes where it has room."""
    lanes: dict[int, int] = {}
    taken: list[tuple[int, int, int]] = []
    while len(lanes) < len(boxes):
        lengths: dict[int, tuple[int, int]] = {}
        for box in boxes:
            if box.number not in lanes:
                lengths[box.number] = max(((lengths[s][0] + 1, s) for s in box.sources if s in lengths), default=(1, -1))
        step = max(lengths, key=lambda number: (lengths[number][0], number))
        way = []
        while step >= 0:
            way.append(step)
            step = lengths[step][1]
        first, last = ranks[way[-1]], ranks[way[0]]
        lane = next(n for n in range(len(boxes)) if all(n != other or last < start or first > end for other, start, end in taken))
        taken.append((lane, first - 1, last + 1))
        lanes.update(dict.fromkeys(way, lane))
    return [lanes[box.number] for box in boxes]


def _edge(start: int, end: int, ranks: list[int], lanes: list[int], position: list[tuple[int, int]]) -> str:
    (x1, y1), (x2, y2) = position[start], position[end]
    middle1, middle2 = y1 + _HEIGHT // 2, y2 + _HEIGHT // 2
    if lanes[start] != lanes[end]:  # from side to side
        x1, x2 = (x1 + _WIDTH, x2 - 2) if lanes[start] < lanes[end] else (x1, x2 + _WIDTH + 2)
        bend = _LANE if x2 > x1 else -_LANE
        way = f"M{x1} {middle1}C{x1 + bend} {middle1} {x2 - bend} {middle2} {x2} {middle2}"
    elif ranks[end] > ranks[start] + 1:  # past the boxes between, on their right
        right, out = x1 + _WIDTH, round(x1 + _WIDTH + _LANE * 0.7)
        way = f"M{right} {middle1}C{out} {y1 + _HEIGHT} {out} {y2 - 2} {right} {middle2}"
    else:
        way = f"M{x1 + _WIDTH // 2} {y1 + _HEIGHT}V{y2 - 2}"
    return f'<path class="edge" marker-end="url(#tip)" d="{way}"/>'


def _drawn(box: Box, x: int, y: int) -> str:
    behind = f'<rect class="{box.kind}" x="{x + 5}" y="{y + 5}" width="{_WIDTH}" height="{_HEIGHT}" rx="6"/>' if box.count > 1 else ""
    repeated = f'<text class="name" x="{x + _WIDTH - 12}" y="{y + 20}" text-anchor="end">x {box.count}</text>' if box.count > 1 else ""
    size = f'<text class="what" x="{x + _WIDTH - 12}" y="{y + 50}" text-anchor="end">{box.parameters:,}</text>' if box.parameters else ""
    return (
        f'{behind}<rect class="box {box.kind}" x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="6"/>'
        f'<text class="name" x="{x + 12}" y="{y + 20}">{escape(_short(box.name, 34))}</text>{repeated}'
        f'<text class="what" x="{x + 12}" y="{y + 35}">{escape(_short(box.what, 48))}</text>'
        f'<text class="shape" x="{x + 12}" y="{y + 50}">{escape(box.shape)}</text>{size}'
    )


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
