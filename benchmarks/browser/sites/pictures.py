"""Stories in pictures: the server writes the text, and the pictures come when they are scrolled to."""

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Final

from benchmarks.browser.replies import SCRIPT, Reply, Request, not_found, page, reply
from benchmarks.browser.site import Act, Deed, Parts, Site, View
from benchmarks.software.content import Content
from benchmarks.software.markup import html
from benchmarks.software.writing import Size, Writer

_ALBUMS, _PICTURES = 6, 18
_SIDE: Final = 24
_SCRIPT: Final = """
const shown = new IntersectionObserver(seen => {
  for (const {target, isIntersecting} of seen) {
    if (!isIntersecting) continue;
    shown.unobserve(target);
    if (target.dataset.src) { target.src = target.dataset.src; target.removeAttribute('data-src'); }
    if (target.dataset.background) target.style.backgroundImage = `url(${target.dataset.background})`;
  }
}, {rootMargin: '100px'});
document.querySelectorAll('[data-src], [data-background]').forEach(each => shown.observe(each));
"""
_PLACEHOLDER: Final = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="


class Albums:
    """Answers with albums and pictures: a third each is lazy by its attribute, by a script, and as a background."""

    def __init__(self, content: Content) -> None:
        self._threads = content.threads[:_ALBUMS]
        texts = (post.blocks[0].text for _, post in content.posts() if post.blocks[0].kind == "paragraph")
        self._texts = list(dict.fromkeys(texts))[: _ALBUMS * _PICTURES]

    def answer(self, request: Request) -> Reply:
        """Answer a request."""
        path = request.path
        if path == "/":
            named = enumerate(escape(thread.title) for thread in self._threads)
            links = "".join(f'<li><a href="/album/{number}">{title}</a></li>' for number, title in named)
            return page(f"<!doctype html><title>Albums</title><h1>Albums</h1><ul>{links}</ul>")
        if path == "/lazy.js":
            return reply(_SCRIPT, SCRIPT)
        kind, _, name = path.removeprefix("/").partition("/")
        if kind == "album" and name.isdigit() and int(name) < _ALBUMS:
            return page(self._album(int(name)))
        if kind == "pictures" and name.endswith(".png"):
            return reply(picture(zlib.crc32(name.encode())), "image/png")
        return not_found()

    def _album(self, number: int) -> str:
        figures = "".join(map(self._figure, range(number * _PICTURES, (number + 1) * _PICTURES)))
        title, post = escape(self._threads[number].title), self._threads[number].posts[0]
        when = f'<time datetime="{post.date}">{post.date[:10]}</time>'
        return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>img,.wide{{display:block;width:480px;height:360px;background-size:cover}}</style></head>
<body><article><h1>{title}</h1><p>Pictures by <span class="by">{escape(post.author)}</span>, {when}</p>
<div class="story">{html(post)}{figures}</div></article><p><a href="/">All albums</a></p>
<script src="/lazy.js"></script>
</body></html>"""

    def _figure(self, number: int) -> str:
        source = f"/pictures/{number}.png"
        match number % 3:
            case 0:
                shown = f'<img loading="lazy" src="{source}" alt="">'
            case 1:
                shown = f'<img src="{_PLACEHOLDER}" data-src="{source}" alt="">'
            case _:
                shown = f'<div class="wide" data-background="{source}"></div>'
        return f"<figure>{shown}<figcaption>{escape(self._texts[number])}</figcaption></figure>"

    def views(self) -> Iterator[View]:
        """Yield the list of albums, and each album as it is scrolled through."""
        parts = (Parts("article", ".story", heading="h1", author=".by", date="time", without="figure"),)
        yield View("/")
        for number in range(_ALBUMS):
            yield View(f"/album/{number}", parts, (Act(Deed.SCROLL),))


def picture(seed: int) -> bytes:
    """Return a PNG that no other seed gives."""
    colour = bytes((seed & 255, seed >> 8 & 255, seed >> 16 & 255))
    rows = b"".join(b"\0" + colour * _SIDE for _ in range(_SIDE))
    head = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 2, 0, 0, 0)
    text = b"Comment\0picture %d" % seed
    chunks = ((b"IHDR", head), (b"tEXt", text), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    packed = (struct.pack(">I", len(c)) + n + c + struct.pack(">I", zlib.crc32(n + c)) for n, c in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


@contextmanager
def opened(folder: Path, origin: str) -> Iterator[Site]:  # noqa: ARG001 - others need them
    """Open the albums."""
    albums = Albums(Writer(14).content(10, Size()))
    yield Site("pictures", albums.answer, tuple(albums.views()))
