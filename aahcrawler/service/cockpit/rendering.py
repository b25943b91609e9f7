"""Turns values into pages: templates, and the words for numbers, times and sizes that all of them share."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse

from aahcrawler import __version__
from aahcrawler.overview.periods import worded as worded_period
from aahcrawler.report.reason_words import ROLES, worded
from aahcrawler.tallies import plural

_PACKAGE: Final = "aahcrawler.service.cockpit"
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB")
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def visible(text: str) -> str:
    r"""Return a text with each control and direction character spelt out, so that none changes how a page is read.

    Those that join letters or emoji stay.

    >>> visible("gpj.\u202eexe")
    'gpj.‹U+202E›exe'
    """
    return _UNSEEN.sub(lambda found: f"‹U+{ord(found[0]):04X}›", text)


def as_typed(text: str) -> Markup:
    """Return a text for a field that is sent back: escaped, and every character kept."""
    return escape(text)


def number(value: float | None, digits: int = 0) -> str:
    """Return a number with its thousands apart, a dash for None."""
    return "–" if value is None else f"{value:,.{digits}f}"


def percent(value: float | None) -> str:
    """Return a share as a percentage, a dash for None.

    >>> percent(0.4037), percent(None)
    ('40 %', '–')
    """
    return "–" if value is None else f"{100 * value:.0f} %"


def score(value: float | None) -> str:
    """Return a score with three decimals; what has none is unscored."""
    return "unscored" if value is None or value < 0 else f"{value:.3f}"


def size(value: float | None) -> str:
    """Return a number of bytes in decimal units.

    >>> size(999), size(1_234_567)
    ('999 bytes', '1.2 MB')
    """
    if value is None:
        return "–"
    amount, unit = float(value), 0
    while amount >= 999.5 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.0f} {_UNITS[0]}" if unit == 0 else f"{amount:.1f} {_UNITS[unit]}"


def span(seconds: float | None) -> str:
    """Return a span of time in its two largest units.

    >>> span(42), span(3_725), span(200_000)
    ('42 s', '1 h 2 min', '2 d 7 h')
    """
    if seconds is None:
        return "–"
    whole = max(0, round(seconds))
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"


def moment(value: datetime | str | float | None) -> Markup:
    """Return a moment as an element ``time``, to the second and in UTC; a text that is no moment as it is."""
    if value is None or value == "":
        return Markup("–")
    try:
        read = _moment(value)
    except (ValueError, OverflowError, OSError):
        return escape(visible(str(value)))
    shown = read.astimezone(UTC)
    return Markup('<time datetime="{0:%Y-%m-%dT%H:%M:%SZ}">{0:%Y-%m-%d %H:%M:%S}</time>').format(shown)


def _moment(value: datetime | str | float) -> datetime:
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    elif not isinstance(value, datetime):
        value = datetime.fromtimestamp(value, UTC)
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def breakable(url: str) -> Markup:
    """Return a URL in which a browser may break the line at signs that part it."""
    pieces = re.split(r"([/?&=._-]+)", visible(url))
    return Markup("").join(
        Markup("{}<wbr>").format(piece) if n % 2 else escape(piece) for n, piece in enumerate(pieces)
    )


def sentence(text: str) -> str:
    """Return a text as a sentence: with a capital, unless it begins with a name or a URL, and a full stop.

    >>> sentence("the crawl is over"), sentence("https://a.test/ is blocked"), sentence("Which?")
    ('The crawl is over.', 'https://a.test/ is blocked.', 'Which?')
    """
    first = text.partition(" ")[0]
    begun = text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text
    return begun if begun.endswith((".", "!", "?", "…")) or not begun else f"{begun}."


def reason(name: str) -> str:
    """Return why a link was not followed in words, those of its name where there are no others."""
    return worded(name).words


def same(values: Iterable[str]) -> list[tuple[str, str]]:
    """Return the options of a choice whose values are their own names."""
    return [(value, value) for value in values]


class Pages:
    """Renders the cockpit's templates. Every text that a template writes is escaped and made visible."""

    def __init__(self, shared: Mapping[str, object]) -> None:
        """Set up the templates; ``shared`` has the values that all of them may name."""
        self._templates = Environment(
            loader=PackageLoader(_PACKAGE, "templates"),
            autoescape=select_autoescape(default=True),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=_finalised,
        )
        self._templates.filters.update(
            as_typed=as_typed,
            breakable=breakable,
            moment=moment,
            number=number,
            percent=percent,
            period=worded_period,
            plural=plural,
            reason=reason,
            score=score,
            sentence=sentence,
            size=size,
            span=span,
        )
        self._templates.globals.update(shared, same=same, roles=ROLES, version=__version__)

    def text(self, name: str, values: Mapping[str, object]) -> str:
        """Return a template filled with values."""
        return self._templates.get_template(name).render(values)

    def answer(self, name: str, values: Mapping[str, object], status: int = 200) -> HTMLResponse:
        """Return a template filled with values as a response."""
        return HTMLResponse(self.text(name, values), status)


def _finalised(value: object) -> object:
    """Make what a template writes visible, unless it is markup."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value)
    return value
