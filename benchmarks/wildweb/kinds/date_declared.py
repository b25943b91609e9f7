"""Dates that pages declare: placeholders of software, other calendars, the future; and full ones beside short ones."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from benchmarks.wildweb.case import Case, WantedObject
from benchmarks.wildweb.dated_pages import Board, article_page, block_board, posts, table_board
from benchmarks.wildweb.pages import html, prose
from benchmarks.wildweb.tongues import SENTENCES

DECLARED: Final = "dates declared"
FULL: Final = "full dates beside short ones"
_SHOWN: Final = "By Ada Keeper, 20 March 2021"
_RIGHT: Final = ("2021-03-20",)
_SEED: Final = "/news/boats.html"
_DAYS: Final = (13, 20, 27)


def _meta(value: str) -> str:
    return f'<meta property="article:published_time" content="{value}">'


def _json(value: str) -> str:
    return (
        '<script type="application/ld+json">{"@context": "https://schema.org", "@type": "NewsArticle", '
        f'"headline": "Boats", "datePublished": "{value}"}}</script>'
    )


def _dublin(value: str) -> str:
    return f'<meta name="DC.date.issued" content="{value}">'


def _article(
    name: str,
    head: str = "",
    shown: str = _SHOWN,
    right: Sequence[str | None] = _RIGHT,
    *,
    aside: bool = False,
) -> Case:
    """Return an article; its title is that of its case."""
    title = f"Boats, {name.replace('-', ' ')}"
    says = prose(f"{title} 0")[:60]
    page = article_page(title, shown, head)
    wanted = WantedObject(_SEED, says, tuple(right))
    return Case(DECLARED, f"declared-{name}", {_SEED: html(page)}, objects=(wanted,), seeds=(_SEED,), aside=aside)


def _time(value: str, words: str = "lately") -> str:
    return f'{_SHOWN} <time datetime="{value}">{words}</time>'


def _thread(name: str, shown: Callable[[datetime], str], board: Board = table_board, *, aside: bool = False) -> Case:
    """Return a thread whose posts show their moments in some way."""
    moments = [datetime(2021, 3, day, 14, 5, tzinfo=UTC) for day in _DAYS]
    page = board(f"Boats, {name.replace('-', ' ')}", "en", posts("en", list(map(shown, moments))))
    wanted = [
        WantedObject("/topic.php?t=7", words[:40], (moment.strftime("%Y-%m-%d"),))
        for moment, words in zip(moments, SENTENCES["en"], strict=True)
    ]
    seed = "/topic.php?t=7"
    return Case(FULL, f"full-{name}", {seed: html(page)}, objects=wanted, seeds=(seed,), aside=aside)


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())


CASES: Final = (
    _article("good", _meta("2021-03-20T10:00:00Z")),
    _article("net-zero", _meta("0001-01-01T00:00:00")),
    _article("epoch", _meta("1970-01-01T00:00:00Z")),
    _article("epoch-west", _meta("1969-12-31T16:00:00-08:00")),
    _article("epoch-east", _json("1970-01-01T09:00:00+09:00")),
    _article("sql-zero", _meta("0000-00-00 00:00:00")),
    _article("php-zero", _json("-0001-11-30T00:00:00+00:00")),
    _article("windows-zero", _json("1601-01-01T00:00:00Z")),
    _article("sheet-zero", _meta("1899-12-30T00:00:00")),
    _article("sql-server-zero", _dublin("1753-01-01")),
    _article("last-of-all", _json("9999-12-31T23:59:59Z")),
    _article("future", _json("2099-01-01T00:00:00Z")),
    _article("persian-year", _json("1399-12-30T10:00:00")),
    _article("buddhist-year", _meta("2564-03-20T10:00:00+07:00")),
    _article("time-net-zero", shown=_time("0001-01-01T00:00:00")),
    _article("time-epoch", shown=_time("1970-01-01T00:00:00Z")),
    _article("time-persian", shown=_time("1399-12-30T10:00:00")),
    _article("epoch-alone", _meta("1970-01-01T00:00:00Z"), "By Ada Keeper", (None,)),
    _article("net-zero-alone", _json("0001-01-01T00:00:00"), "By Ada Keeper", (None,)),
    _article("persian-alone", _meta("1399-12-30T10:00:00"), "By Ada Keeper", (None, "2021-03-20")),
    _article("future-alone", _json("2099-01-01T00:00:00Z"), "By Ada Keeper", (None,)),
    _article("mail-form", _meta("Sat, 20 Mar 2021 10:00:00 +0000"), "By Ada Keeper"),
    _article("macintosh-zero", _json("1904-01-01T00:00:00Z"), aside=True),
    _article("unix-last", _meta("2038-01-19T03:14:07Z"), aside=True),
    _article("go-zero", _json("0001-01-01T00:00:00Z"), "By Ada Keeper", (None,), aside=True),
    _article("time-buddhist", shown=_time("2564-03-20"), aside=True),
    _thread("title", lambda m: f'<span title="{m:%d} March 2021 14:05">5 years ago</span>'),
    _thread("title-no-year", lambda m: f'<span title="{m:%A}, March {m.day}, 2021 2:05 PM">Mar {m.day}</span>'),
    _thread("datetime", lambda m: f'<time datetime="{m:%Y-%m-%dT%H:%M:%SZ}">5 years ago</time>', block_board),
    _thread("datetime-no-year", lambda m: f'<time datetime="{m:%Y-%m-%d %H:%M}">{m.day} March</time>'),
    _thread("abbr", lambda m: f'<abbr class="published" title="{m:%Y-%m-%dT%H:%M:%S}+00:00">Mar {m.day}</abbr>'),
    _thread("seconds", lambda m: f'<span class="DateTime" data-time="{_seconds(m)}">Saturday at 2:05 PM</span>'),
    _thread("milliseconds", lambda m: f'<span data-timestamp="{_seconds(m)}000">some time ago</span>', block_board),
    _thread("data-date", lambda m: f'<span data-date="{m:%Y-%m-%dT%H:%M:%SZ}">5 years ago</span>'),
    _thread("data-datetime", lambda m: f'<em data-datetime="{m:%Y-%m-%d %H:%M:%S}">Mar {m.day}</em>', block_board),
    _thread("link-title", lambda m: f'<a href="#p{m.day}" title="{m.day} March 2021, 14:05">5y</a>', block_board),
    _thread("time-only", lambda m: f'<span title="{m:%d.%m.%Y %H:%M}">14:05</span>', aside=True),
    _thread(
        "element",
        lambda m: f'<relative-time datetime="{m:%Y-%m-%dT%H:%M:%SZ}">on Mar {m.day}</relative-time>',
        aside=True,
    ),
)
