"""Generated web forums: boards of several subjects each, threads with tags, members, and similar threads."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from benchmarks.worlds.prose import ArchivedPage, Subject, Writer, count_of, escaped, given_name, pager, pages_of, slug

_POSTS, _THREADS = 8, 25
"""The posts of a page of a thread, and the threads of a page of a list."""
_MEMBERS = 150
_ALIKE = 0.75
"""The share of similar threads, and of a member's threads, that have the same subject."""


@dataclass(frozen=True, slots=True)
class Skin:
    """A forum software: how it writes the URLs of lists (by kind, number and name) and of threads, and its markup."""

    host: str
    listed: Callable[[str, int, str, int], str]
    threaded: Callable[[int, str, int], str]
    classes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread with its posts: the author of each, and its paragraphs."""

    number: int
    title: str
    subject: Subject
    board: int
    posts: tuple[tuple[int, str], ...]


@dataclass(slots=True)
class Forum:
    """A forum with all of its threads."""

    skin: Skin
    boards: Sequence[str]
    threads: Sequence[Thread]
    random: Random
    by_subject: dict[str, list[Thread]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for thread in self.threads:
            self.by_subject.setdefault(thread.subject.name, []).append(thread)

    def pages(self) -> Iterator[ArchivedPage]:
        """Yield all pages: the front page, lists of boards, tags and members, and threads."""
        rows = "".join(f"<li>{self._link('board', n, name)}</li>" for n, name in enumerate(self.boards))
        yield self._page("/", "Board index", f'<ul class="{self._class("list")}">{rows}</ul>', ())
        for number, name in enumerate(self.boards):
            yield from self._list("board", number, name, [each for each in self.threads if each.board == number])
        for number, (name, threads) in enumerate(self.by_subject.items()):
            yield from self._list("tag", number, name, threads)
        for member in range(_MEMBERS):
            wrote = [each for each in self.threads if any(author == member for author, _ in each.posts)]
            yield from self._list("member", member, given_name(member), wrote)
        for thread in self.threads:
            yield from self._thread(thread)

    def _list(self, kind: str, number: int, name: str, threads: Sequence[Thread]) -> Iterator[ArchivedPage]:
        count = count_of(len(threads), _THREADS)
        for page, shown in pages_of(threads, _THREADS):
            rows = "".join(f'<li class="{self._class("row")}">{self._title(each)}</li>' for each in shown)
            links = pager(page, count, lambda n: self.skin.listed(kind, number, name, n), self._class("pager"))
            content = f'{links}<ul class="{self._class("list")}">{rows}</ul>{links}'
            yield self._page(self.skin.listed(kind, number, name, page), f"{name} - {kind}", content, ())

    def _thread(self, thread: Thread) -> Iterator[ArchivedPage]:
        count = count_of(len(thread.posts), _POSTS)
        tag = self._link("tag", list(self.by_subject).index(thread.subject.name), thread.subject.name)
        for page, shown in pages_of(thread.posts, _POSTS):
            posts = "".join(self._post(author, text) for author, text in shown)
            links = pager(page, count, lambda n: self._address(thread, n), self._class("pager"))
            board = self._link("board", thread.board, self.boards[thread.board])
            way = f'<p class="{self._class("way")}">{board} {tag}</p>'
            content = f"{way}{links}{posts}{links}{self._similar(thread)}"
            labels = (thread.subject.name, f"{self.skin.host}/{self.boards[thread.board]}")
            yield self._page(self._address(thread, page), thread.title, content, labels)

    def _post(self, author: int, text: str) -> str:
        by = self._link("member", author, given_name(author))
        body = f'<div class="{self._class("body")}"><p>{escaped(text)}</p></div>'
        return f'<div class="{self._class("post")}"><p class="{self._class("by")}">{by}</p>{body}</div>'

    def _similar(self, thread: Thread) -> str:
        own = self.by_subject[thread.subject.name]
        picked = [self.random.choice(own if self.random.random() < _ALIKE else self.threads) for _ in range(5)]
        rows = "".join(f"<li>{self._title(each)}</li>" for each in picked)
        return f'<div class="{self._class("similar")}"><h3>Similar threads</h3><ul>{rows}</ul></div>'

    def _page(self, path: str, title: str, content: str, labels: tuple[str, ...]) -> ArchivedPage:
        latest = "".join(f"<li>{self._title(self.random.choice(self.threads))}</li>" for _ in range(6))
        boards = "".join(f"<li>{self._link('board', n, name)}</li>" for n, name in enumerate(self.boards))
        body = (
            f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
            f"<title>{escaped(title)} - {self.skin.host}</title>"
            f'</head><body><div class="{self._class("menu")}"><a href="/">Board index</a><ul>{boards}</ul></div>'
            f'<div id="{self._class("main")}"><h1>{escaped(title)}</h1>{content}</div>'
            f'<div class="{self._class("side")}"><h3>Latest threads</h3><ul>{latest}</ul></div></body></html>'
        )
        return ArchivedPage(f"https://{self.skin.host}{path}", body.encode(), labels)

    def _title(self, thread: Thread) -> str:
        return (
            f'<a class="{self._class("title")}" href="{escaped(self._address(thread, 1))}">{escaped(thread.title)}</a>'
        )

    def _address(self, thread: Thread, page: int) -> str:
        return self.skin.threaded(thread.number, slug(thread.title), page)

    def _link(self, kind: str, number: int, name: str) -> str:
        return f'<a href="{escaped(self.skin.listed(kind, number, name, 1))}">{escaped(name)}</a>'

    def _class(self, name: str) -> str:
        return self.skin.classes.get(name, name)


def forums(subjects: Sequence[Subject], threads: int, random: Random) -> Iterator[ArchivedPage]:
    """Yield the pages of four forums of different software with equally many threads, each on half of the subjects."""
    for skin in SKINS:
        own = random.sample(subjects, max(1, len(subjects) // 2))
        count = len(own) // 4
        boards = [", ".join(subject.name for subject in own[number::count][:2]) for number in range(count)]
        writer = Writer(random, subjects)
        made = [_written(number, own, len(boards), writer) for number in range(threads)]
        yield from Forum(skin, boards, made, random).pages()


def _written(number: int, subjects: Sequence[Subject], boards: int, writer: Writer) -> Thread:
    random = writer.random
    at = random.randrange(len(subjects))
    subject, board = subjects[at], at % boards if random.random() < _ALIKE else random.randrange(boards)
    posts = min(40, 1 + int(random.expovariate(0.15)))
    written = ((_author(at, random), text) for text in writer.paragraphs(subject, posts))
    return Thread(number, writer.title(subject), subject, board, tuple(written))


def _author(subject: int, random: Random) -> int:
    """Return an author: mostly one of those who like the subject."""
    return (subject * 5 + random.randrange(5)) % _MEMBERS if random.random() < _ALIKE else random.randrange(_MEMBERS)


def _numbered(first: str, page: int, more: str) -> str:
    return first if page == 1 else f"{first}{more}"


SKINS = (
    Skin(
        "boards-one.test",
        lambda kind, n, _, page: _numbered(
            {"board": f"/viewforum.php?f={n}", "tag": f"/tags.php?tag={n}"}.get(kind, f"/memberlist.php?u={n}"),
            page,
            f"&start={(page - 1) * _THREADS}",
        ),
        lambda n, _, page: _numbered(f"/viewtopic.php?t={n}", page, f"&start={(page - 1) * _POSTS}"),
        {
            "post": "post bg2",
            "body": "content",
            "by": "author",
            "pager": "pagination",
            "row": "row",
            "title": "topictitle",
        },
    ),
    Skin(
        "boards-two.test",
        lambda kind, n, name, page: _numbered(f"/{kind}s/{slug(name)}.{n}/", page, f"page-{page}"),
        lambda n, title, page: _numbered(f"/threads/{title}.{n}/", page, f"page-{page}"),
        {"post": "message", "body": "message-body", "by": "message-user", "pager": "pageNav", "row": "structItem"},
    ),
    Skin(
        "boards-three.test",
        lambda kind, n, name, page: _numbered(f"/{kind[0]}/{slug(name)}/{n}", page, f"?page={page}"),
        lambda n, title, page: _numbered(f"/t/{title}/{n}", page, f"?page={page}"),
        {"post": "topic-body", "body": "cooked", "by": "names", "row": "topic-list-item", "similar": "suggested"},
    ),
    Skin(
        "boards-four.test",
        lambda kind, n, _, page: f"/index.php/{kind}/{n}/{page}.html",
        lambda n, _, page: f"/index.php/message/{n}/{page}.html",
        {
            name: f"x{number}"
            for number, name in enumerate(("post", "body", "by", "pager", "row", "list", "side", "menu"))
        },
    ),
)
"""The forum software: one like phpBB, one like XenForo, one like Discourse, and one unlike any."""
