"""The picture of the page of results: our best figure of each kind of network beside that of others, as SVG inside the page."""

from html import escape

LEFT, WIDTH, ROW, TOP, BOTTOM = 290, 330, 26, 34, 26  # pixels: names, scale, one network, legend, figures under the scale
STEP = 0.02
OURS, OTHERS = "#00897b", "#8d6e63"


def results_plot(rows: list[tuple[str, float, float]]) -> str:
    """Return the picture, one line of HTML, empty for no row.

    Args:
        rows: network, our test accuracy and that of others, both as shares.
    """
    if not rows:
        return ""
    low = min(int(accuracy / STEP) for _, *both in rows for accuracy in both) * STEP
    high = max(int(accuracy / STEP) + 1 for _, *both in rows for accuracy in both) * STEP
    height = TOP + ROW * len(rows) + BOTTOM

    def at(accuracy: float) -> float:
        return LEFT + WIDTH * (accuracy - low) / (high - low)

    marks = [low + STEP * index for index in range(round((high - low) / STEP) + 1)]
    span = f'y1="{TOP}" y2="{height - BOTTOM}" stroke="currentColor" opacity="0.15"'
    parts = [f'<line x1="{at(x):.1f}" x2="{at(x):.1f}" {span}/>' for x in marks]
    parts += [_text(at(x), height - 8, f"{x:.2f}", "middle") for x in marks]
    parts += [_dot(LEFT, 14, "ours"), _text(LEFT + 12, 18, "ours"), _dot(LEFT + 70, 14, "others"), _text(LEFT + 82, 18, "others")]
    for index, (network, ours, others) in enumerate(rows):
        y = TOP + ROW * index + ROW / 2
        colour = OURS if ours >= others else OTHERS
        line = f'<line x1="{at(ours):.1f}" x2="{at(others):.1f}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="3" opacity="0.5"/>'
        parts += [_text(LEFT - 14, y + 4, network, "end"), line, _dot(at(others), y, "others"), _dot(at(ours), y, "ours")]
    said = "; ".join(f"{network}: ours {ours:.4f}, others {others:.3f}" for network, ours, others in rows)
    size = f'viewBox="0 0 {LEFT + WIDTH + 30} {height}" width="{LEFT + WIDTH + 30}"'
    style = 'style="max-width: 100%; font-size: 12px"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style} role="img" aria-label="{escape(said)}">{"".join(parts)}</svg>'


def _dot(x: float, y: float, whose: str) -> str:
    look = f'fill="{OURS}"' if whose == "ours" else f'fill="none" stroke="{OTHERS}" stroke-width="2"'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" {look}/>'


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor">{escape(text)}</text>'
