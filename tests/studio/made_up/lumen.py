"""Lumen, a gallery software that nobody has described."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from urllib.parse import urlsplit

from benchmarks.software.content import Post
from benchmarks.software.writing import Size, Writer
from tests.crawl.site import Reply
from tests.studio.made_up.published import Published, absent, away, page, sheet, slug

_SIZE = Size(single=5, few=14, overhanging=1, long=0)
_ALBUMS = (("Workshop", ""), ("Garden", ""), ("First Frost", "Garden"), ("Old Machines", ""), ("Under the Roof", ""))
_A_WALL = 4


@dataclass(frozen=True)
class Picture:
    """A picture with what is said of it; its caption is at least a sentence long."""

    number: int
    title: str
    caption: str
    author: str
    date: str
    album: str
    voices: tuple[tuple[int, Post], ...]

    @property
    def path(self) -> str:
        """The path of its page."""
        return f"/picture/{self.number}"

    @property
    def name(self) -> str:
        """The name of its file."""
        return slug(self.title)

    @property
    def sent(self) -> str:
        """When it was put into the gallery: some days after it was taken."""
        return (datetime.fromisoformat(self.date) + timedelta(days=12)).isoformat()


@dataclass(frozen=True)
class Album:
    """An album; ``upper`` names the one that it is in, and is empty for one of the front page."""

    title: str
    upper: str
    pictures: tuple[Picture, ...]

    @property
    def path(self) -> str:
        """The path of its first page."""
        upper = f"{slug(self.upper)}/" if self.upper else ""
        return f"/albums/{upper}{slug(self.title)}"


class Lumen:
    """A gallery: albums, some within others, and a page for each picture; sizes, slideshows, a map and a calendar.

    Captions stand on the pages of pictures, and in the slideshow for those without scripts.
    """

    def __init__(self, seed: int = 21, host: str = "lightroom.test") -> None:
        """Draw what the gallery holds."""
        self.host = host
        self._content = Writer(seed).content(5, _SIZE)

    @cached_property
    def pictures(self) -> tuple[Picture, ...]:
        """The pictures in the order of their numbers."""
        found: list[Picture] = []
        voice = 300
        for place, thread in enumerate(self._content.threads):
            first = thread.posts[0]
            caption = next(block.text for block in first.blocks if block.kind == "paragraph")
            voices = tuple((voice + at, post) for at, post in enumerate(thread.posts[1:]))
            voice += len(voices)
            album = _ALBUMS[place % len(_ALBUMS)][0]
            found.append(Picture(1041 + 7 * place, thread.title, caption, first.author, first.date, album, voices))
        return tuple(found)

    @cached_property
    def albums(self) -> tuple[Album, ...]:
        """The albums, those within others included."""
        return tuple(
            Album(title, upper, tuple(each for each in self.pictures if each.album == title))
            for title, upper in _ALBUMS
        )

    def holds(self) -> Sequence[Published]:
        """Return all pictures and comments."""
        found: list[Published] = []
        for each in self.pictures:
            url = f"http://{self.host}{each.path}"
            found.append(Published(url, "photo", (each.path,), each.caption, each.title, each.author, each.date))
            found += (
                Published(f"{url}#v{number}", "comment", (each.path,), post.plain, author=post.author, date=post.date)
                for number, post in each.voices
            )
        return found

    def answer(self, path: str) -> Reply:
        """Answer a request."""
        found = sheet(path)
        if found is not None:
            return found
        parts = urlsplit(path).path.strip("/").split("/")
        match parts:
            case [""]:
                return self._page("front")
            case ["albums", *names]:
                return self._album(names)
            case ["picture", number, *rest]:
                return self._picture(number, rest)
            case ["random"]:
                return away(self.pictures[len(self.pictures) // 2].path)
            case ["calendar", month]:
                taken = [each for each in self.pictures if each.date.startswith(month)]
                return self._page("calendar", month=month, taken=taken) if taken else absent()
            case ["map" | "search" | "sign-in" as name]:
                return self._page(name)
            case ["by", name]:
                own = [each for each in self.pictures if slug(each.author) == name]
                return self._page("photographer", own=own) if own else absent()
            case _:
                return absent()

    def _album(self, names: Sequence[str]) -> Reply:
        *kept, last = names or [""]
        is_show, at = last == "slideshow", int(last[1:]) if last[:1] == "p" and last[1:].isdecimal() else 0
        path = "/".join(("/albums", *(kept if is_show or at else names)))
        album = next((each for each in self.albums if each.path == path), None)
        if album is None:
            return absent()
        if is_show:
            return self._page("slideshow", album=album)
        at, pages = at or 1, max(1, -(-len(album.pictures) // _A_WALL))
        if at > pages:
            return absent()
        inner = [each for each in self.albums if each.upper == album.title]
        shown = album.pictures[(at - 1) * _A_WALL : at * _A_WALL]
        return self._page("album", album=album, inner=inner, shown=shown, at=at, pages=pages)

    def _picture(self, number: str, rest: Sequence[str]) -> Reply:
        found = next((each for each in self.pictures if str(each.number) == number), None)
        match rest:
            case _ if found is None:
                return absent()
            case []:
                album = next(each for each in self.albums if each.title == found.album)
                at = album.pictures.index(found)
                near = (album.pictures[at - 1] if at else None, album.pictures[at + 1 : at + 2])
                return self._page("picture", picture=found, album=album, near=near)
            case ["size", "small" | "large" | "full" as size]:
                return self._page("size", picture=found, size=size)
            case ["love" | "say"]:
                return away("/sign-in")
            case _:
                return absent()

    def _page(self, name: str, **told: object) -> Reply:
        months = sorted({each.date[:7] for each in self.pictures})
        return page("lumen", name, gallery=self, months=months, **told)
