"""Hearthstead, a forum software that nobody has described; its template can be changed while it is served."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlsplit

from benchmarks.software.content import Post, Thread
from benchmarks.software.writing import FORUMS, Size, Writer
from tests.crawl.site import Reply
from tests.studio.made_up.published import Published, absent, away, page, sheet, slug

ENTRY = Path(__file__).with_suffix(".xml")
"""What describes it, for tests that begin where somebody has written that."""
EMBER, SLATE = "hearthstead", "hearthstead_slate"
"""The theme that comes with the software, and one that hides what software it is."""
_SIZE = Size(single=2, few=8, overhanging=1, long=2)
_A_PAGE, _A_LIST = 5, 4
_DEEDS = re.compile(r"/(?:d/\d+-[^/]+/reply|post/\d+/(?:like|report))")


@dataclass(frozen=True, slots=True)
class Shown:
    """A post in its place: its number on the board, its place in the thread from 1, and its thread's number."""

    number: int
    place: int
    thread: int
    post: Post

    @property
    def edited(self) -> str:
        """When it was changed last."""
        return (datetime.fromisoformat(self.post.date) + timedelta(days=1)).isoformat()


@dataclass(frozen=True)
class Discussion:
    """A thread with its number and its posts."""

    number: int
    thread: Thread
    posts: tuple[Shown, ...]

    @property
    def path(self) -> str:
        """The path of its first page."""
        return f"/d/{self.number}-{slug(self.thread.title)}"

    @property
    def pages(self) -> int:
        """How many pages it has."""
        return -(-len(self.posts) // _A_PAGE)

    def page(self, number: int) -> tuple[Shown, ...]:
        """Return the posts of a page."""
        return self.posts[(number - 1) * _A_PAGE : number * _A_PAGE]

    def page_path(self, number: int) -> str:
        """Return the path of a page as it is best known."""
        return self.path if number == 1 else f"{self.path}?page={number}"


class Hearthstead:
    """A board with forums, threads over several pages, and links to all that members may do.

    Pages are there under ``?page=1`` as well, threads in other orders and for printing, posts by links of their own.
    """

    def __init__(self, seed: int = 4, host: str = "shed.test", theme: str = EMBER) -> None:
        """Draw what the board holds."""
        self.host, self.theme = host, theme
        self._content = Writer(seed).content(_A_PAGE, _SIZE)
        self.forums = tuple((3 + 2 * place, name) for place, name in enumerate((*FORUMS, "House Rules")))

    @cached_property
    def discussions(self) -> tuple[Discussion, ...]:
        """The threads in the order of their numbers."""
        found: list[Discussion] = []
        last = 100
        for place, thread in enumerate(self._content.threads):
            number = 11 + 3 * place
            posts = tuple(Shown(last + at, at, number, post) for at, post in enumerate(thread.posts, 1))
            last += len(posts)
            found.append(Discussion(number, thread, posts))
        return tuple(found)

    def holds(self) -> Sequence[Published]:
        """Return all posts."""
        return [self._published(each, shown) for each in self.discussions for shown in each.posts]

    def answer(self, path: str) -> Reply:
        """Answer a request."""
        found = sheet(path)
        if found is not None:
            return found
        address = urlsplit(path)
        asked = dict(parse_qsl(address.query))
        if _DEEDS.fullmatch(address.path):
            return away(f"/account/sign-in?back={quote(path, safe='')}")
        parts = address.path.strip("/").split("/")
        match parts:
            case [""]:
                return self._page("boards", "/")
            case ["c", name]:
                return self._forum(name, asked, address.path)
            case ["d", name, *rest] if rest in ([], ["print"]):
                return self._thread(name, asked, bool(rest))
            case ["post", number, *rest] if rest in ([], ["revisions"]):
                return self._post(number, bool(rest))
            case _:
                return self._aside(parts, path)

    def _forum(self, name: str, asked: dict[str, str], path: str) -> Reply:
        forum = next((each for each in self.forums if name == f"{each[0]}-{slug(each[1])}"), None)
        if forum is None:
            return absent()
        order = asked.get("order", "active")
        threads = sorted(
            (each for each in self.discussions if each.thread.forum == forum[1]),
            key=lambda each: len(each.posts) if order == "replies" else each.number,
            reverse=order != "oldest",
        )
        pages, at = max(1, -(-len(threads) // _A_LIST)), int(asked.get("page", "1"))
        if not 1 <= at <= pages:
            return absent()
        kept = f"order={order}&" if "order" in asked else ""
        shown = threads[(at - 1) * _A_LIST : at * _A_LIST]
        return self._page("forum", path, forum=forum, threads=shown, at=at, pages=pages, kept=kept)

    def _thread(self, name: str, asked: dict[str, str], is_print: bool) -> Reply:
        found = next((each for each in self.discussions if each.path == f"/d/{name}"), None)
        at = int(asked.get("page", "1"))
        if found is None or not 1 <= at <= found.pages:
            return absent()
        if is_print:
            return self._page("print", found.path, discussion=found)
        return self._page("thread", found.page_path(at), discussion=found, at=at, posts=found.page(at))

    def _post(self, number: str, is_history: bool) -> Reply:
        pairs = ((each, shown) for each in self.discussions for shown in each.posts if str(shown.number) == number)
        found = next(pairs, None)
        if found is None:
            return absent()
        discussion, shown = found
        if is_history:
            return self._page("revisions", f"/post/{number}/revisions", discussion=discussion, shown=shown)
        return away(f"{discussion.page_path(-(-shown.place // _A_PAGE))}#m{number}")

    def _aside(self, parts: list[str], path: str) -> Reply:
        match parts:
            case ["u", name]:
                person = next((each for each in self._content.people if slug(each.name) == name), None)
                posts = [(each, shown) for each in self.discussions for shown in each.posts]
                own = [pair for pair in posts if person and pair[1].post.author == person.name]
                return self._page("member", path, person=person, own=own[-3:]) if person else absent()
            case ["members" | "search" | "latest" as name] | ["account", "sign-in" | "join" as name]:
                return self._page(name.replace("-", "_"), f"/{parts[0]}" if len(parts) == 1 else "/")
            case _:
                return absent()

    def _page(self, name: str, path: str, **told: object) -> Reply:
        said: dict[str, object] = {"board": self, "people": self._content.people, "here": quote(path, safe="")}
        signatures = {each.name: each.signature for each in self._content.people}
        return page(self.theme, name, **said, signatures=signatures, **told)

    def _published(self, discussion: Discussion, shown: Shown) -> Published:
        at = -(-shown.place // _A_PAGE)
        also = (f"{discussion.path}?page=1",) if at == 1 < discussion.pages else ()
        pages = (discussion.page_path(at), *also, f"{discussion.path}/print")
        opens = shown.place == 1
        post = shown.post
        return Published(
            f"http://{self.host}{discussion.page_path(at)}#m{shown.number}",
            "post" if opens else "reply",
            pages,
            post.plain,
            discussion.thread.title if opens else None,
            post.author,
            post.date,
        )
