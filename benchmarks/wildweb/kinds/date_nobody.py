"""Texts that are no whole date: of them no date is made, and the posts and articles beside them stay."""

from collections.abc import Sequence
from typing import Final

from benchmarks.wildweb.case import Case, WantedObject
from benchmarks.wildweb.dated_pages import Board, article_page, block_board, posts, table_board
from benchmarks.wildweb.pages import html, prose
from benchmarks.wildweb.tongues import SENTENCES

KIND: Final = "dates nobody wrote"
_SEED: Final = "/topic.php?t=7"


def _thread(
    name: str, shown: str | Sequence[str], board: Board = table_board, lang: str = "en", *, aside: bool = False
) -> Case:
    """Return a thread without dates; ``{d}`` in what stands in their place is another day for each post.

    Where nothing is like a date, each post has a number with a link, by which readers tell posts.
    """
    each = [shown.replace("{d}", day) for day in ("13", "20", "27")] if isinstance(shown, str) else shown
    if isinstance(shown, str) and "{d}" not in shown:
        each = [f'{words} <a href="#m{number}">#{number}</a>' for number, words in enumerate(each, 1)]
    page = board(f"Boats, {name.replace('-', ' ')}", lang, posts(lang, each))
    wanted = [WantedObject(_SEED, words[:24].strip()) for words in SENTENCES[lang]]
    return Case(KIND, f"nobody-{name}", {_SEED: html(page)}, objects=wanted, seeds=(_SEED,), aside=aside)


def _article(name: str, shown: str, more: str = "", *fields: tuple[str, str], aside: bool = False) -> Case:
    """Return an article without a date."""
    title = f"Boats, {name.replace('-', ' ')}"
    page = article_page(title, shown).replace("</article>", f"</article>{more}")
    wanted = WantedObject("/boats.html", prose(f"{title} 0")[:60])
    site = {"/boats.html": html(page, *fields)}
    return Case(KIND, f"nobody-{name}", site, objects=(wanted,), seeds=("/boats.html",), aside=aside)


CASES: Final = (
    _thread("no-year", "Mar {d}"),
    _thread("no-year-slash", "on Tuesday March {d}, @02:05PM", block_board),
    _thread("no-year-nuke", "on Tuesday, March {d} @ 14:05:30 CET"),
    _thread("no-year-numbers", "{d}.3. 14:05 Uhr", lang="de"),
    _thread("no-year-japanese", "3月{d}日 14:05", lang="ja"),
    _thread("time-only", ["14:05", "15:20", "16:47"], block_board),
    _thread("time-only-pm", ["2:05 pm", "3:20 pm", "4:47 pm"]),
    _thread("no-day", "March 2001"),
    _thread("year-only", "2001", block_board),
    _thread("shown-epoch", "Posted: 01 Jan 1970 00:00"),
    _thread("shown-epoch-west", "Wed Dec 31, 1969 7:00 pm", block_board),
    _thread("zeros", "00.00.0000, 00:00 Uhr", lang="de"),
    _thread("script", "NaN/NaN/NaN"),
    _thread("invalid", "Invalid Date", block_board),
    _thread("template", "{{ post.date }}"),
    _thread("beats", "@587", block_board),
    _thread("made-up-month", "{d} Frostmoon 2001, 14:05"),
    _thread("address", "IP: 193.20.3.1", block_board),
    _article("copyright", "By Ada Keeper", '<div class="footer">Copyright &copy; 1998-2021 The Harbour Museum</div>'),
    _article("header", "By Ada Keeper", "", ("Last-Modified", "Sat, 20 Mar 2021 10:00:00 GMT")),
    _article("in-text", "By Ada Keeper, who saw it all in the year of the flood"),
    _article("no-year-byline", "By Ada Keeper, 20 March"),
    _thread("no-year-words", "{d} de marzo, 14:05", lang="es", aside=True),
    _thread("stardate", "Stardate 54868.6", aside=True),
    _thread("impossible", ["31 February 2001", "30 February 2001", "32 March 2001"], block_board, aside=True),
    _article("volume", "By Ada Keeper, volume 20, number 3, page 2001", aside=True),
)
