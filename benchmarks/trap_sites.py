"""Made-up sites with an ordinary part, forum, wiki and blog, and a trap beside it, served on loopback.

Each answers whatever is asked. ``Grounds.worthwhile`` names the pages that a crawl should find; all of the others are
lists, forms, stubs, or the trap.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from threading import Thread
from urllib.parse import parse_qsl, urlsplit

THREADS, ARTICLES, POSTS, PRODUCTS = 60, 50, 40, 30
A_PAGE = 20
"""Entries on a page of a list."""
FILTERS: Mapping[str, tuple[str, ...]] = {
    "colour": ("red", "green", "blue", "white"),
    "size": ("small", "medium", "large"),
    "brand": ("north", "south", "east", "west"),
    "sort": ("price", "name", "newest"),
    "stock": ("yes", "no"),
}

Answer = tuple[int, str]
"""Status and HTML."""
Page = Callable[[str, Mapping[str, str]], Answer | None]
"""Answers a path and the parameters of its query; None where it has no page."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """A site: its handlers, in order, and the paths (with their queries) that are worth a visit.

    ``entries`` are links on every page, the entry of the trap among them; ``decorate`` rewrites each page's links.
    """

    pages: tuple[Page, ...]
    worthwhile: frozenset[str]
    entries: tuple[str, ...] = ()
    decorate: Callable[[str], str] = field(default=lambda html: html)

    def answer(self, target: str) -> Answer:
        """Return the site's answer to a path with its query."""
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        found = (page(parts.path, query) for page in self.pages)
        status, body = next((each for each in found if each is not None), (404, "<h1>Not found</h1>"))
        menu = "".join(f'<li><a href="{path}">{path.strip("/")}</a></li>' for path in ("/", *self.entries))
        html = f"<!doctype html><html><body><nav><ul>{menu}</ul></nav><main>{body}</main></body></html>"
        return status, self.decorate(html)


@cache
def words() -> tuple[str, ...]:
    """Return the vocabulary of all sites: 4,000 words that are no words."""
    chance = random.Random("words")
    syllables = [consonant + vowel for consonant, vowel in product("bcdfghklmnprstvw", "aeiou")]
    return tuple("".join(chance.choices(syllables, k=chance.randint(1, 4))) for _ in range(4000))


def prose(name: str, length: int) -> str:
    """Return a text that is the same for the same name, and shares little with any other."""
    return " ".join(random.Random(name).choices(words(), k=length)).capitalize() + "."


def link(path: str, text: str = "") -> str:
    """Return a link."""
    return f'<a href="{path.replace("&", "&amp;")}">{text or path}</a>'


def listed(paths: list[str]) -> str:
    """Return a list of links, each called by words of its own."""
    return "<ul>" + "".join(f"<li>{link(path, prose(path, 4))}</li>" for path in paths) + "</ul>"


# The ordinary part


def front(path: str, _: Mapping[str, str]) -> Answer | None:
    """Lead to all that is ordinary."""
    ordinary = ["/forum/index.php", "/wiki/Main", "/blog/"]
    return (200, "<h1>Welcome</h1>" + listed(ordinary)) if path == "/" else None


def forum(path: str, query: Mapping[str, str]) -> Answer | None:
    """Show lists of threads, threads, forms to reply, printed threads, and members of whom nothing is known."""
    number = query.get("tid", query.get("uid", ""))
    if path == "/forum/index.php":
        first = (int(query.get("page", "1")) - 1) * A_PAGE
        threads = [f"/forum/showthread.php?tid={n}" for n in range(first + 1, min(first + A_PAGE, THREADS) + 1)]
        pages = [f"/forum/index.php?page={n}" for n in range(1, THREADS // A_PAGE + 1)]
        return 200, listed(threads) + " ".join(map(link, pages))
    if path == "/forum/member.php" and number.isdigit():
        return 200, f"<h1>Member {number}</h1><p>Joined in 2024. Posts: {number}</p>"
    if not number.isdigit() or not 1 <= int(number) <= THREADS:
        return None
    posts = "".join(_post(int(number), n) for n in range(random.Random(number).randint(2, 7)))
    views = [f"/forum/{view}.php?tid={number}" for view in ("respond", "onpaper")]
    match path:
        case "/forum/showthread.php":
            return 200, f"<h1>{prose(f't{number}', 5)}</h1>{posts}{' '.join(map(link, views))}"
        case "/forum/respond.php":
            return 200, f"<h1>Reply</h1>{posts}<form><textarea></textarea></form>{link(views[1])}"
        case "/forum/onpaper.php":
            return 200, f"{posts}{link(f'/forum/showthread.php?tid={number}')}"
    return None


def _post(thread: int, number: int) -> str:
    author = random.Random(f"{thread}/{number}").randint(1, 40)
    by = link(f"/forum/member.php?uid={author}", f"Member {author}")
    day = f"2024-05-{number + 1:02}"
    text = prose(f"post {thread} {number}", 60)
    return f'<div class="post"><div class="by">{by} <time datetime="{day}">{day}</time></div><p>{text}</p></div>'


def _article(number: int) -> str:
    return "_".join(random.Random(f"article {number}").sample(words(), 2)).title()


def wiki(path: str, query: Mapping[str, str]) -> Answer | None:
    """Show articles that lead to one another, to their edit pages, and to their histories."""
    names = [_article(number) for number in range(ARTICLES)]
    if path == "/wiki/Main":
        return 200, "<h1>Main page</h1>" + listed([f"/wiki/{name}" for name in names[:8]])
    name = path.removeprefix("/wiki/")
    if not path.startswith("/wiki/") or name not in names:
        return None
    if query.get("action") == "edit":
        return 200, f"<h1>Editing {name}</h1><textarea>{prose(name, 250)}</textarea>"
    if query.get("action") == "history":
        return 200, f"<h1>History of {name}</h1><ul><li>12 May 2024 by somebody (250 words)</li></ul>"
    at = names.index(name)
    near = " ".join(link(f"/wiki/{names[(at + step) % ARTICLES]}", prose(name + str(step), 2)) for step in (1, 7, 19))
    views = " ".join(link(f"{path}?action={view}", view) for view in ("edit", "history"))
    return 200, f"<h1>{name}</h1><article><p>{prose(name, 250)}</p><p>{near}</p></article>{views}"


def _slug(number: int) -> str:
    chance = random.Random(f"slug {number}")
    day = f"2024/{chance.randint(1, 12):02}/{chance.randint(1, 28):02}"
    return f"/blog/{day}/{'-'.join(chance.sample(words(), 3))}/"


def blog(path: str, _: Mapping[str, str]) -> Answer | None:
    """Show posts, and pages with the beginnings of ten of them."""
    slugs = [_slug(number) for number in range(POSTS)]
    if path in slugs:
        return 200, f"<article><h1>{prose(path, 5)}</h1><p>{prose('body' + path, 180)}</p></article>{link('/blog/')}"
    number = path.removeprefix("/blog/").removeprefix("page/").rstrip("/") or "1"
    if not path.startswith("/blog/") or not number.isdigit() or not 1 <= int(number) <= POSTS // 10:
        return None
    shown = slugs[(int(number) - 1) * 10 : int(number) * 10]
    entries = "".join(
        f"<h2>{link(slug, prose(slug, 5))}</h2><p>{prose('body' + slug, 180)[:200]}</p>" for slug in shown
    )
    return 200, entries + link(f"/blog/page/{int(number) + 1}/", "Older")


ORDINARY = (front, forum, wiki, blog)
WORTHWHILE = frozenset(
    {f"/forum/showthread.php?tid={number}" for number in range(1, THREADS + 1)}
    | {f"/wiki/{_article(number)}" for number in range(ARTICLES)}
    | {_slug(number) for number in range(POSTS)}
)


# The traps


def calendar(path: str, _: Mapping[str, str]) -> Answer | None:
    """Show months that lead to the next and the last one, and to days on which nothing happens, for ever."""
    parts = path.strip("/").split("/")
    if parts[0] != "whatson" or not all(part.isdigit() for part in parts[1:]) or len(parts) > 4:
        return None
    year, month, day = [*map(int, parts[1:]), *(2024, 5, 0)[len(parts) - 1 :]]
    months = [f"/whatson/{at // 12}/{at % 12 + 1:02}/" for at in (year * 12 + month - 2, year * 12 + month)]
    if day:
        return 200, f"<h1>{day} {month} {year}</h1><p>There are no events on this day.</p>" + listed(months[1:])
    days = " ".join(link(f"/whatson/{year}/{month:02}/{n:02}/", str(n)) for n in range(1, 29))
    return 200, f"<h1>Events in {month}/{year}</h1><p>Mo Tu We Th Fr Sa Su</p>{days}" + " ".join(map(link, months))


def shop(path: str, query: Mapping[str, str]) -> Answer | None:
    """Show products, and lists of them by any combination of filters."""
    number = path.removeprefix("/shop/product/")
    if number.isdigit() and int(number) < PRODUCTS:
        return 200, f"<article><h1>{prose('name' + number, 3)}</h1><p>{prose('product' + number, 90)}</p></article>"
    if path != "/shop/":
        return None
    chance = random.Random(str(sorted((name, value) for name, value in query.items() if name != "sort")))
    chosen = [n for n in range(PRODUCTS) if not query or chance.random() < 0.6]
    more = [{**query, name: value} for name, values in FILTERS.items() for value in values]
    combined = ["/shop/?" + "&".join(f"{name}={value}" for name, value in each.items()) for each in more]
    shown = "".join(f"<li>{link(f'/shop/product/{n}', prose(f'name{n}', 3))} EUR {n}</li>" for n in chosen)
    return 200, f"<h1>Shop: {' '.join(query.values())}</h1><ul>{shown}</ul>" + " ".join(map(link, combined))


def repeating(path: str, _: Mapping[str, str]) -> Answer | None:
    """Answer any path below ``/docs/`` with a page whose relative links lead deeper."""
    if not path.startswith("/docs/"):
        return None
    return 200, f"<h1>Documentation</h1><p>{prose('docs', 60)}</p>" + " ".join(
        map(link, ("help/", "help/more/", "faq/"))
    )


def lost(path: str, _: Mapping[str, str]) -> Answer | None:
    """Answer 200 for whatever there is not, with links to more of it."""
    chance = random.Random(path)
    more = [f"/blog/archive-{chance.randrange(10**9)}/" for _ in range(8)]
    return 200, f"<h1>Sorry</h1><p>There is no such page. {prose('sorry', 50)}</p>" + " ".join(map(link, more))


def _with_id(html: str) -> str:
    """Write a new session id into every link, as for a first-time visitor each time."""
    name = "".join(random.choices("abcdefghijkmnpqrstuvwxyz23456789", k=23)) + "7"
    parts = html.split('<a href="')
    with_id = []
    for part in parts[1:]:
        path, quote, rest = part.partition('"')
        with_id.append(f"{path}{'&amp;' if '?' in path else '?'}visit={name}{quote}{rest}")
    return '<a href="'.join((parts[0], *with_id))


SITES: Mapping[str, Grounds] = {
    "ordinary": Grounds(ORDINARY, WORTHWHILE),
    "calendar": Grounds((*ORDINARY, calendar), WORTHWHILE, ("/whatson/",)),
    "shop": Grounds(
        (*ORDINARY, shop), WORTHWHILE | {f"/shop/product/{number}" for number in range(PRODUCTS)}, ("/shop/",)
    ),
    "repeating": Grounds((*ORDINARY, repeating), WORTHWHILE, ("/docs/",)),
    "sessions": Grounds(ORDINARY, WORTHWHILE, decorate=_with_id),
    "soft 404": Grounds((*ORDINARY, lost), WORTHWHILE, ("/blog/archive-1/",)),
}


# Serving


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "_Server"

    def do_GET(self) -> None:
        """Answer, and note the request."""
        if self.path == "/robots.txt":
            status, html = 404, ""
        else:
            self.server.asked.append(self.path)
            status, html = self.server.grounds.answer(self.path)
        body = html.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, grounds: Grounds) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.grounds = grounds
        self.asked: list[str] = []


@contextmanager
def serving(grounds: Grounds) -> Iterator[tuple[str, list[str]]]:
    """Serve a site until the block ends; yield its URL, and the requests so far, robots.txt apart."""
    server = _Server(grounds)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/", server.asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
