"""The colours of links by their scores: light to dark blue, told apart without seeing colours, and by thickness."""

from typing import Final

from lxml.etree import _Element as Element

# Background, text, thickness of the line below. Lightness falls evenly, so that no sense of colour is needed.
_STEPS: Final = (
    ("#f7f4d9", "#1a1a1a", 1),
    ("#cfe1c3", "#1a1a1a", 2),
    ("#8fc1bd", "#1a1a1a", 3),
    ("#2f6f9f", "#ffffff", 4),
    ("#22305f", "#ffffff", 5),
)


def _step(score: float) -> tuple[str, str, int]:
    return _STEPS[min(len(_STEPS) - 1, max(0, int(score * len(_STEPS))))]


def _style(score: float) -> str:
    back, text, line = _step(score)
    return (
        f"background:{back}!important;color:{text}!important;"
        f"box-shadow:inset 0 -{line}px 0 0 #d55e00!important;text-decoration:none!important"
    )


_STEP: Final = "display:inline-block;white-space:nowrap;padding:0 6px 5px;margin-left:4px"
LEGEND: Final = "Links by score: " + "".join(
    f'<span style="{_style(at / len(_STEPS))};{_STEP}">{at / len(_STEPS):.1f}–{(at + 1) / len(_STEPS):.1f}</span>'
    for at in range(len(_STEPS))
)
"""An explanation of the colours, as HTML."""


def colour(link: Element, score: float) -> None:
    """Colour a link by its score from 0 to 1, and have its title tell the score."""
    style, title = link.get("style", "").strip().rstrip(";"), link.get("title", "").strip()
    link.set("style", f"{style};{_style(score)}" if style else _style(score))
    link.set("title", f"score {score:.3f}" + (f" · {title}" if title else ""))
