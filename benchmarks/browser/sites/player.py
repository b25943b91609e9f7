"""Films below their descriptions: streams in the frame of a player (hls.js), and a file that is played as it comes."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Final

from benchmarks.browser.installing import environment, run_module
from benchmarks.browser.replies import HTML, SCRIPT, Reply, Request, not_found, page, ranged, reply
from benchmarks.browser.site import Act, Deed, Parts, Site, View
from benchmarks.software.content import Thread
from benchmarks.software.markup import html
from benchmarks.software.writing import Size, Writer

_SIZE: Final = Size(single=4, few=0, overhanging=0, long=0)
_TYPES: Final = {
    ".m3u8": "application/vnd.apple.mpegurl",
    ".ts": "video/mp2t",
    ".m4s": "video/iso.segment",
    ".mp4": "video/mp4",
}
_EMBED: Final = """<!doctype html><html><head><meta charset="utf-8"><title>Player</title><style>
body{{margin:0;background:#000}}video{{width:100%;height:340px}}button{{position:absolute;inset:35% 40%;font-size:2em}}
</style><script src="/lib/hls.js"></script></head><body><video playsinline></video>
<button class="start" aria-label="Play">Play</button><script>
document.querySelector('.start').addEventListener('click', event => {{
  event.target.remove();
  const video = document.querySelector('video');
  video.muted = true;
  const hls = new Hls();
  hls.loadSource('/media/{kind}/master.m3u8');
  hls.attachMedia(video);
  hls.on(Hls.Events.MANIFEST_PARSED, () => video.play());
}});
</script></body></html>
"""
_PARTS: Final = (Parts("article", ".about", heading="h1", author=".by", date="time"),)
_QUALITIES: Final = re.compile(r"(/media/\w+)/(?:low|high)(/.*)")
_KINDS: Final = ("ts", "fmp4", "file")


class Films:
    """Answers with the pages of films, and with films."""

    def __init__(self, threads: tuple[Thread, ...], films: Path, library: bytes) -> None:
        self._threads = dict(zip(_KINDS, threads, strict=False))
        self._media = _files(films)
        self._library = library

    def answer(self, request: Request) -> Reply:
        """Answer a request."""
        path = request.path
        if path == "/":
            links = "".join(f'<li><a href="/watch/{k}">{escape(t.title)}</a></li>' for k, t in self._threads.items())
            return page(f"<!doctype html><title>Films</title><h1>Films</h1><ul>{links}</ul>")
        if path == "/lib/hls.js":
            return reply(self._library, SCRIPT)
        if path in self._media:
            kind = _TYPES[Path(path).suffix]
            return ranged(reply(self._media[path], kind), request)
        if (found := re.fullmatch(r"/embed/(ts|fmp4)", path)) is not None:
            return reply(_EMBED.format(kind=found[1]), HTML)
        if (thread := self._threads.get(path.removeprefix("/watch/"))) is not None and path.startswith("/watch/"):
            return page(_watch(thread, path.removeprefix("/watch/")))
        return not_found()

    def views(self) -> Iterator[View]:
        """Yield the list of films, and the films as they are watched."""
        yield View("/")
        for kind in self._threads:
            played = "video" if kind == "file" else "button.start"
            yield View(f"/watch/{kind}", _PARTS, (Act(Deed.PLAY, played),))


def _files(folder: Path) -> Mapping[str, bytes]:
    files = (file for file in folder.rglob("*") if file.suffix in _TYPES)
    return {f"/media/{file.relative_to(folder).as_posix()}": file.read_bytes() for file in files}


def _watch(thread: Thread, kind: str) -> str:
    post = thread.posts[0]
    if kind == "file":
        film = '<video src="/media/film.mp4" controls preload="metadata" muted width="600" height="340"></video>'
    else:
        film = f'<iframe src="/embed/{kind}" width="600" height="340" allow="autoplay"></iframe>'
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<title>{escape(thread.title)}</title></head><body><p><a href="/">Films</a></p>{film}
<article><h1>{escape(thread.title)}</h1>
<p>Uploaded by <span class="by">{escape(post.author)}</span>,
<time datetime="{post.date}">{post.date[:10]}</time></p><div class="about">{html(post)}</div></article></body></html>"""


@contextmanager
def opened(folder: Path, origin: str) -> Iterator[Site]:  # noqa: ARG001 - others need it
    """Open the films; they are made anew. Raises ``InstallationError``."""
    installed = environment("player")
    films = folder / "films"
    run_module(installed, "benchmarks.browser.film_making", films)
    library = (installed / "node_modules" / "hls.js" / "dist" / "hls.min.js").read_bytes()
    site = Films(Writer(16).content(10, _SIZE).threads, films, library)
    yield Site("player", site.answer, tuple(site.views()), same=(_QUALITIES,))
