"""Ids that look like those of sessions and number contents: stories, commits, files, messages."""

from collections.abc import Callable, Sequence
from hashlib import md5, sha1
from typing import Final
from xml.sax.saxutils import escape

from benchmarks.wildweb.case import Case
from benchmarks.wildweb.pages import front, html, picture, plain_pages, text_page

KIND: Final = "ids of contents"
_STORIES: Final = range(1, 13)


def _hash(number: int, length: int = 40) -> str:
    return (sha1(f"content {number}".encode()).hexdigest() + md5(b"more").hexdigest())[:length]  # noqa: S324 - no secret


def _site(name: str, write: Callable[[int], str], *, aside: bool = False) -> Case:
    """Return a site whose front page links to all contents."""
    targets = [write(number) for number in _STORIES]
    pages = {"/": front("All of it", map(escape, targets)), **plain_pages(targets)}
    return Case(KIND, name, pages, targets, aside=aside)


def _chain(name: str, write: Callable[[int], str]) -> Case:
    """Return a site of which each content links to the next one alone."""
    targets = [write(number) for number in _STORIES]
    pages = {"/": front("Begin here", [escape(targets[0])])}
    for number, target in enumerate(targets):
        pages[target] = front(f"Part {number}", map(escape, targets[number + 1 : number + 2]))
    return Case(KIND, name, pages, targets)


def _alike(name: str, write: Callable[[int], str], *, aside: bool = False) -> Case:
    """Return a site whose contents are pictures below the same words."""
    targets = [write(number) for number in _STORIES]
    pages = {"/": front("All pictures", map(escape, targets))}
    for number, target in enumerate(targets):
        pages[target] = html(text_page("A picture", f'<img src="/pictures/{number}.gif" alt="picture {number}">'))
        pages[f"/pictures/{number}.gif"] = picture(f"{name} {number}")
    return Case(KIND, name, pages, targets, may=r"/pictures/\d+\.gif", aside=aside)


def _seeded(name: str, seeds: Sequence[str]) -> Case:
    """Return a site whose contents are seeds."""
    return Case(KIND, name, plain_pages(seeds), seeds, seeds=seeds)


CASES: Final = (
    _site("content-nuke", lambda n: f"/modules.php?name=News&file=article&sid={n}"),
    _site("content-nuke-old", lambda n: f"/article.php?sid={n + 200}&mode=thread&order=0"),
    _site("content-slash", lambda n: f"/article.pl?sid=01/03/{n:02}/14{n + 20}"),
    _chain("content-chain", lambda n: f"/story.php?sid={n * 7}"),
    _seeded("content-seeds", [f"/article.php?sid={n}" for n in (12, 13, 20)]),
    _site("content-date-sid", lambda n: f"/comments.pl?sid=200103{n:02}"),
    _site("content-fossil", lambda n: f"/info/{_hash(n)}"),
    _site("content-fossil-timeline", lambda n: f"/timeline?c={_hash(n)}"),
    _site("content-gitweb", lambda n: f"/?p=tool.git;a=commit;h={_hash(n)}"),
    _site("content-blob", lambda n: f"/blob/{_hash(n)}/readme"),
    _site("content-md5-query", lambda n: f"/file.php?id={_hash(n, 32)}"),
    _site("content-session-of-parliament", lambda n: f"/minutes.php?session={n}"),
    _site("content-conference", lambda n: f"/programme.php?session_id={n + 100}"),
    _site("content-token", lambda n: f"/dictionary.cgi?token=word{n}"),
    _site("content-s", lambda n: f"/index.php?s=chapter{n}"),
    _alike("content-pictures", lambda n: f"/photo/{_hash(n, 24)}"),
    _alike("content-pictures-query", lambda n: f"/show.cgi?file={_hash(n, 32)}"),
    _alike("content-numbered-pictures", lambda n: f"/show.php?sid={n * 3}"),
    _site("content-message", lambda n: f"/msgid.cgi?mid={_hash(n, 24)}", aside=True),
    _site("content-hex-sid", lambda n: f"/paste.php?sid={_hash(n, 32)}", aside=True),
    _site("content-uuid", lambda n: f"/doc?key={_hash(n, 8)}-{_hash(n + 1, 4)}-4000-8000-{_hash(n, 12)}", aside=True),
)
