"""Inkwell, a blog software that nobody has described."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import parse_qsl, urlsplit

from benchmarks.software.content import Block, Post, Thread, hangs
from benchmarks.software.writing import Size, Writer
from tests.crawl.site import Reply
from tests.studio.made_up.published import Published, absent, away, page, sheet, slug

_SIZE = Size(single=3, few=8, overhanging=1, long=0)
_A_LIST = 4
_TAGS = ("repairs", "garden", "machines", "winter", "small things")


@dataclass(frozen=True)
class Remark:
    """A comment with its number, and those that answer it."""

    number: int
    post: Post
    answers: tuple["Remark", ...]


@dataclass(frozen=True)
class Entry:
    """An article with its tags and what was said to it."""

    title: str
    author: str
    date: str
    blocks: tuple[Block, ...]
    tags: tuple[str, ...]
    remarks: tuple[Remark, ...]

    @property
    def path(self) -> str:
        """The path of its page."""
        return f"/{self.date[:4]}/{self.date[5:7]}/{slug(self.title)}/"

    @property
    def plain(self) -> str:
        """Its text."""
        return "\n".join(block.plain for block in self.blocks)

    def said(self) -> Sequence[Remark]:
        """Return all comments."""
        return [each for remark in self.remarks for each in (remark, *remark.answers)]


class Inkwell:
    """A blog whose articles stand whole on their own pages alone; lists by page, month, tag and author show starts."""

    def __init__(self, seed: int = 9, host: str = "attic.test") -> None:
        """Draw what the blog holds."""
        self.host = host
        self._content, self._more = (Writer(seed + place).content(5, _SIZE) for place in range(2))

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The articles, the newest first."""
        writers = [person.name for person in self._content.people[:3]]
        found: list[Entry] = []
        number = 40
        for place, (thread, other) in enumerate(zip(self._content.threads, self._more.threads, strict=True)):
            remarks = _remarks(thread, number)
            number += len(thread.posts)
            blocks = (*thread.posts[0].blocks, *other.posts[0].blocks)
            tags = tuple(sorted({_TAGS[place % len(_TAGS)], _TAGS[place % 2 + 1]}))
            found.append(Entry(thread.title, writers[place % 3], thread.posts[0].date, blocks, tags, remarks))
        return tuple(reversed(found))

    def holds(self) -> Sequence[Published]:
        """Return all articles and comments."""
        found: list[Published] = []
        for entry in self.entries:
            url = f"http://{self.host}{entry.path}"
            found.append(Published(url, "post", (entry.path,), entry.plain, entry.title, entry.author, entry.date))
            found += (
                Published(
                    f"{url}#remark-{each.number}",
                    "comment",
                    (entry.path,),
                    each.post.plain,
                    author=each.post.author,
                    date=each.post.date,
                )
                for each in entry.said()
            )
        return found

    def answer(self, path: str) -> Reply:
        """Answer a request."""
        found = sheet(path)
        if found is not None:
            return found
        address = urlsplit(path)
        entry = next((each for each in self.entries if each.path == address.path), None)
        if entry is not None:
            return self._entry(entry, dict(parse_qsl(address.query)))
        parts = address.path.strip("/").split("/")
        match parts:
            case [""] | ["page", _]:
                return self._list("", self.entries, parts[1:], "/")
            case ["tag" | "author" as by, name, *rest]:
                return self._list(*self._chosen(by, name), rest[1:], f"/{by}/{name}/")
            case [year, month] if year.isdecimal():
                chosen = [each for each in self.entries if each.date.startswith(f"{year}-{month}")]
                return self._list(f"{year}/{month}", chosen, (), address.path)
            case ["archive" | "search" | "contact" as name]:
                return self._page(name)
            case ["account", "login"]:
                return self._page("login")
            case ["feed.xml"]:
                reply = self._page("feed")
                return Reply(reply.body, headers={"Content-Type": "application/rss+xml; charset=utf-8"})
            case _:
                return absent()

    def _entry(self, entry: Entry, asked: dict[str, str]) -> Reply:
        if "share" in asked:
            return away(f"https://{asked['share']}.example/share?u=http://{self.host}{entry.path}")
        at = self.entries.index(entry)
        near = (self.entries[at + 1] if at + 1 < len(self.entries) else None, self.entries[at - 1] if at else None)
        related = [each for each in self.entries if each is not entry and set(each.tags) & set(entry.tags)][:2]
        return self._page("entry", entry=entry, near=near, related=related, answering=asked.get("answer"))

    def _chosen(self, by: str, name: str) -> tuple[str, Sequence[Entry]]:
        names: Callable[[Entry], Sequence[str]] = _tags if by == "tag" else _author
        chosen = [each for each in self.entries if name in map(slug, names(each))]
        return next((said for each in chosen for said in names(each) if slug(said) == name), ""), chosen

    def _list(self, heading: str, entries: Sequence[Entry], page: Sequence[str], base: str) -> Reply:
        pages, at = -(-len(entries) // _A_LIST), int(page[0]) if page and page[0].isdecimal() else 1
        if not 1 <= at <= pages:
            return absent()
        shown = entries[(at - 1) * _A_LIST : at * _A_LIST]
        return self._page("list", heading=heading, entries=shown, at=at, pages=pages, base=base)

    def _page(self, name: str, **told: object) -> Reply:
        months = sorted({each.date[:7] for each in self.entries}, reverse=True)
        authors = sorted({each.author for each in self.entries})
        said: dict[str, object] = {"blog": self, "months": months, "tags": _TAGS, "authors": authors}
        return page("inkwell", name, **said, **told)


def _tags(entry: Entry) -> Sequence[str]:
    return entry.tags


def _author(entry: Entry) -> Sequence[str]:
    return (entry.author,)


def _remarks(thread: Thread, number: int) -> tuple[Remark, ...]:
    """Return the comments of an article: all posts of a thread but the first, some as answers to the one before."""
    found: list[Remark] = []
    for place, post in enumerate(thread.posts[1:], 1):
        remark = Remark(number + place, post, ())
        if hangs(place):
            upper = found.pop()
            found.append(Remark(upper.number, upper.post, (*upper.answers, remark)))
        else:
            found.append(remark)
    return tuple(found)
