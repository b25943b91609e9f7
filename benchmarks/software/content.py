"""The content that applications are filled with, and changes of it; nothing here needs more than the standard library.

A site module reads it in the environment of its application, the benchmark makes and scores it.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from html import escape
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a post: a ``paragraph``, a ``quote`` of what ``by`` wrote, ``items``, ``code`` or a ``file``.

    Items have a line each. The text of a file is its name.
    """

    kind: str
    text: str
    by: str = ""

    @property
    def plain(self) -> str:
        """The words of the block as they are read."""
        return f"{self.by} wrote: {self.text}" if self.by else self.text


@dataclass(frozen=True, slots=True)
class Post:
    """One contribution. ``date`` is ISO 8601 in UTC, to the minute. A ``revised`` one has a former version."""

    id: str
    author: str
    date: str
    blocks: tuple[Block, ...]
    revised: bool = False

    @property
    def former(self) -> "Post":
        """The version before the last one."""
        return replace(self, blocks=(*self.blocks[:1], Block("paragraph", "More about it will follow tomorrow.")))

    @property
    def plain(self) -> str:
        """The text of the post without markup."""
        return "\n".join(block.plain for block in self.blocks)


@dataclass(frozen=True, slots=True)
class Thread:
    """A title with its contributions: the first one opens it. Software that has no threads shows them as it can."""

    id: str
    title: str
    forum: str
    posts: tuple[Post, ...]


def hangs(place: int) -> bool:
    """Return whether the post at a place of a thread, from 0, is a comment on the one before it where there are any."""
    return place > 0 and place % 3 == 0


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who writes, with the date of the first visit, ISO 8601, and a signature that may be empty."""

    name: str
    joined: str
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Content:
    """All that a site holds; ``address`` is the one under which it is public, as ``http://127.0.0.1:8000/``."""

    people: tuple[Person, ...]
    forums: tuple[str, ...]
    threads: tuple[Thread, ...]
    address: str = ""

    def posts(self) -> Iterator[tuple[Thread, Post]]:
        """Yield each post with its thread."""
        return ((thread, post) for thread in self.threads for post in thread.posts)

    def write(self, target: Path) -> Path:
        """Write the content as JSON; return where it was written."""
        target.write_text(json.dumps(asdict(self)), "utf-8")
        return target

    @classmethod
    def read(cls, source: Path) -> "Content":
        """Read what `write` wrote."""
        said = json.loads(source.read_text("utf-8"))
        people = tuple(Person(**person) for person in said["people"])
        return cls(people, tuple(said["forums"]), tuple(map(_thread, said["threads"])), said["address"])


@dataclass(frozen=True, slots=True)
class Place:
    """Where a post is shown: the path of its page, and the fields that the software shows nowhere, or not exactly."""

    url: str
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a site: a post of ``thread`` is ``edited`` into this one, ``deleted``, or ``added`` at its end."""

    kind: str
    thread: str
    post: Post


def write_places(places: Mapping[str, Place], target: Path) -> None:
    """Write the places of posts, by their ids, as JSON."""
    target.write_text(json.dumps({name: asdict(place) for name, place in places.items()}), "utf-8")


def read_places(source: Path) -> dict[str, Place]:
    """Read what `write_places` wrote."""
    rows = json.loads(source.read_text("utf-8"))
    return {name: Place(row["url"], tuple(row["hidden"])) for name, row in rows.items()}


def write_edits(edits: tuple[Edit, ...], target: Path) -> Path:
    """Write changes as JSON; return where they were written."""
    target.write_text(json.dumps([asdict(edit) for edit in edits]), "utf-8")
    return target


def read_edits(source: Path) -> tuple[Edit, ...]:
    """Read what `write_edits` wrote."""
    rows = json.loads(source.read_text("utf-8"))
    return tuple(Edit(row["kind"], row["thread"], _post(row["post"])) for row in rows)


def edited(content: Content, edits: tuple[Edit, ...]) -> Content:
    """Return the content after some changes."""
    threads = {thread.id: thread for thread in content.threads}
    for edit in edits:
        thread = threads[edit.thread]
        match edit.kind:
            case "added":
                posts = (*thread.posts, edit.post)
            case "deleted":
                posts = tuple(post for post in thread.posts if post.id != edit.post.id)
            case _:
                posts = tuple(edit.post if post.id == edit.post.id else post for post in thread.posts)
        threads[thread.id] = replace(thread, posts=posts)
    return replace(content, threads=tuple(threads.values()))


def _thread(said: dict[str, Any]) -> Thread:
    return Thread(said["id"], said["title"], said["forum"], tuple(map(_post, said["posts"])))


def _post(said: dict[str, Any]) -> Post:
    blocks = tuple(Block(**block) for block in said["blocks"])
    return Post(said["id"], said["author"], said["date"], blocks, said["revised"])


def markdown(post: Post, files: str = "/files/") -> str:
    """Return a post in Markdown; ``files`` is the address below which attached files are."""
    return "\n\n".join(_markdown(block, files) for block in post.blocks) + "\n"


def _markdown(block: Block, files: str) -> str:
    lines = block.text.splitlines()
    match block.kind:
        case "quote":
            return f"{block.by} wrote:\n\n" + "\n".join(f"> {line}" for line in lines)
        case "items":
            return "\n".join(f"* {line}" for line in lines)
        case "code":
            return "\n".join(("```", *lines, "```"))
        case "file":
            return f"[{block.text}]({files}{block.text})"
        case _:
            return block.text


def html(post: Post, files: str = "/files/") -> str:
    """Return a post in HTML; ``files`` is the address below which attached files are."""
    return "\n".join(_html(block, files) for block in post.blocks)


def _html(block: Block, files: str) -> str:
    text = escape(block.text)
    match block.kind:
        case "quote":
            return f"<p>{escape(block.by)} wrote:</p><blockquote><p>{text}</p></blockquote>"
        case "items":
            return "<ul>" + "".join(f"<li>{line}</li>" for line in text.splitlines()) + "</ul>"
        case "code":
            return f"<pre>{text}</pre>"
        case "file":
            return f'<p><a href="{escape(files)}{text}">{text}</a></p>'
        case _:
            return f"<p>{text}</p>"


def lines(post: Post) -> str:
    """Return a post as people write where there is no markup."""
    return "\n\n".join(map(_lines, post.blocks)) + "\n"


def _lines(block: Block) -> str:
    match block.kind:
        case "quote":
            return f"{block.by} wrote:\n" + "\n".join(f"> {line}" for line in block.text.splitlines())
        case "items":
            return "\n".join(f"- {line}" for line in block.text.splitlines())
        case _:
            return block.text
