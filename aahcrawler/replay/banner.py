"""The banner above a replayed page: what the page is, when it was captured, and links to other captures.

It is in a declarative shadow root, so that the page's style sheets do not apply to it, without any script.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Final, Literal

from lxml.etree import _Element as Element

from aahcrawler.replay.addresses import PAGES, Address, Modifier
from aahcrawler.replay.capture_lookup import date_of
from aahcrawler.replay.own_pages import markup_of
from aahcrawler.replay.page_marks import FIRST_WORD
from aahcrawler.replay.recorded_responses import RecordedResponse

# The negative margin does nothing where blocks stand one above the other. Where a page sets its parts side by side, it
# keeps the banner from taking their room.
_HOST: Final = ";".join(
    f"{each}!important"
    for each in (
        "all:initial",
        "display:block",
        "position:relative",
        "z-index:2147483647",
        "flex:none",
        "align-self:start",
        "justify-self:start",
        "width:100%",
        "grid-column:1/-1",
        "order:-2147483648",
        "clear:both",
        "margin:0 0 8px",
        "margin-inline-end:-100%",
        "contain:content",
    )
)
STYLE: Final = """
:host{all:initial}
*{box-sizing:border-box}
section{font:14px/1.45 system-ui,-apple-system,"Segoe UI",sans-serif;color:#1b2733;background:#eef3f8;
border:1px solid #9fb3c8;border-left:6px solid #0b5a8f;padding:8px 12px;text-align:left;direction:ltr;
display:flex;flex-wrap:wrap;gap:2px 20px;align-items:baseline}
strong{font-weight:600}
p{margin:0;flex:1 1 100%;min-width:0;overflow-wrap:anywhere}
.what{flex:1 1 auto}
nav{display:flex;flex-wrap:wrap;gap:2px 16px}
a{color:#0b4f80;text-decoration:underline;text-underline-offset:2px}
a:focus-visible{outline:3px solid #0b4f80;outline-offset:2px}
.off{color:#566573}
.url{font:13px/1.45 ui-monospace,Menlo,Consolas,monospace;color:#33424f;unicode-bidi:isolate}
.note{color:#33424f;line-height:1.7}
"""
_MAX_URL_LENGTH: Final = 200


Made = Literal["", "rendered", "data", "sent"]
"""Which document of a page is shown where the archive holds several; empty where it holds one."""


@dataclass(frozen=True, slots=True)
class BannerInfo:
    """What the banner says beside the capture itself.

    ``objects`` are the numbers of web objects that were outlined and that the page has, None where none were to be
    outlined. ``scored`` adds an explanation of the colours of links. ``refresh`` is the URL that the page sends its
    readers on to, ``cut`` says that only a part of the page is shown. ``made`` says which document is shown where the
    archive holds several: the one that a browser left (``rendered``), the one made of the page's ``data``, or the one
    that was ``sent``. ``words`` are the words looked for, and how many places were marked.
    """

    objects: tuple[int, int] | None = None
    scored: bool = False
    refresh: str = ""
    cut: bool = False
    made: Made = ""
    words: tuple[str, int] | None = None


def banner(asked: Address, response: RecordedResponse, told: BannerInfo) -> str:
    """Return the banner of a response shown at an address, as HTML."""
    lines = [
        f'<p class="url">{markup_of(response.url, _MAX_URL_LENGTH)}</p>',
        *(f'<p class="note">{line}</p>' for line in _notes(asked, response, told)),
    ]
    what = (
        f'<span class="what"><strong>Archived page</strong> · captured {_written(response.date)} · '
        f"crawl {markup_of(asked.crawl, 80)} · status {response.status}</span>"
    )
    inner = f'<section aria-label="Archived page">{what}{_ways(asked, response)}{"".join(lines)}</section>'
    return (
        f'<div id="aah-banner" style="{_HOST}"><template shadowrootmode="closed">'
        f"<style>{STYLE}</style>{inner}</template></div>"
    )


def _ways(asked: Address, response: RecordedResponse) -> str:
    ways = []
    for moment, name in ((response.earlier, "← earlier capture"), (response.later, "later capture →")):
        if moment:
            path = markup_of(replace(asked, moment=moment, url=response.url).path, 1 << 14)
            ways.append(f'<a href="{path}" title="{_written(date_of(moment))}">{name}</a>')
        else:
            ways.append(f'<span class="off">no {name.strip("←→ ")}</span>')
    return f"<nav>{''.join(ways)}</nav>"


def _notes(asked: Address, response: RecordedResponse, told: BannerInfo) -> list[str]:
    notes = []
    apart = date_of(asked.moment) - date_of(response.moment)
    if apart:
        side = "before" if apart > timedelta() else "after"
        notes.append(
            f"The nearest to the moment asked for, {_written(date_of(asked.moment))}: {_duration(apart)} {side} it."
        )
    if told.made:
        notes.append(_made(asked, response, told.made))
    if told.refresh:
        modifier = asked.modifier if asked.modifier in PAGES else Modifier.PAGE
        path = Address(asked.crawl, response.moment, modifier, told.refresh).path
        notes.append(
            f'The page sends its readers on to <a href="{markup_of(path, 1 << 14)}">'
            f"{markup_of(told.refresh, _MAX_URL_LENGTH)}</a>."
        )
    if told.cut:
        shown = "a part of it" if response.status == HTTPStatus.PARTIAL_CONTENT else "its beginning"
        notes.append(
            f"Only {shown} is shown: the archive holds no more of it, its body is not in the chunks that its head "
            "names, or it is too large."
        )
    if told.objects is not None:
        found, number = told.objects
        noun = "web object" if number == 1 else "web objects"
        missing = "" if found == number else "; what is missing was not found on the page as shown"
        notes.append(f"{found} of {number} {noun} outlined{missing}.")
    if told.words is not None:
        words, places = told.words
        first = f' <a href="#{FIRST_WORD}">{"Go there" if places == 1 else "The first of them"}</a>' if places else ""
        noun = "place has" if places == 1 else "places have"
        notes.append(f"{places} {noun} what was looked for, marked: {markup_of(words, 300)}.{first}")
    if told.scored:
        notes.append(LEGEND)
    return notes


def _made(asked: Address, response: RecordedResponse, made: Made) -> str:
    """Return a note on which document of a page is shown, with a link to the other."""
    modifier, said, way = {
        "rendered": (
            Modifier.SENT,
            "Shown as a browser left it, after its scripts had run.",
            "Show what the server sent",
        ),
        "data": (
            Modifier.SENT,
            "Made of its data as scripts make pages like it; no browser was shown this one.",
            "Show what the server sent",
        ),
        "sent": (Modifier.PAGE, "Shown as the server sent it, without its scripts.", "Show it as it was read"),
    }[made]
    path = Address(asked.crawl, response.moment, modifier, response.url).path
    return f'{said} <a href="{markup_of(path, 1 << 14)}">{way}</a>'


def _written(date: datetime) -> str:
    return f"{date.day} {_MONTHS[date.month - 1]} {date.year:04}, {date:%H:%M:%S} UTC"


def _duration(apart: timedelta) -> str:
    """Return a duration in words, in its largest unit.

    >>> _duration(timedelta(hours=-25)), _duration(timedelta(seconds=1))
    ('1 day', '1 second')
    """
    seconds = int(abs(apart).total_seconds())
    for unit, length in (("year", 31_556_952), ("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            number = seconds // length
            return f"{number} {unit}{'' if number == 1 else 's'}"
    return f"{seconds} second{'' if seconds == 1 else 's'}"


_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


# Background, text, thickness of the line below. Lightness falls evenly, so that no sense of colour is needed.
_STEPS: Final = (
    ("#f7f4d9", "#1a1a1a", 1),
    ("#cfe1c3", "#1a1a1a", 2),
    ("#8fc1bd", "#1a1a1a", 3),
    ("#2f6f9f", "#ffffff", 4),
    ("#22305f", "#ffffff", 5),
)


def _style(score: float) -> str:
    back, text, line = _STEPS[min(len(_STEPS) - 1, max(0, int(score * len(_STEPS))))]
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
    """Colour a link by its score from 0 to 1, and show the score in its title."""
    style, title = link.get("style", "").strip().rstrip(";"), link.get("title", "").strip()
    link.set("style", f"{style};{_style(score)}" if style else _style(score))
    link.set("title", f"score {score:.3f}" + (f" · {title}" if title else ""))
