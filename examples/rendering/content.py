"""The content of the demo world as its authors write it: YAML files, read and checked by pydantic."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from examples.rendering.prose import Prose

FOLDER = Path(__file__).resolve().parent.parent / "content"

When = Annotated[datetime, AfterValidator(lambda moment: moment.replace(tzinfo=UTC))]
"""A moment written without a zone; the world keeps UTC."""


class Written(BaseModel):
    """What all pieces of content have in common: unknown fields are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Site(Written):
    """A site: host, name, one line about it, language."""

    host: str
    name: str
    description: str = ""
    language: str = "en"


class Section(Written):
    """A forum of a board."""

    id: int
    name: str
    description: str


class Topic(Written):
    """A thread: its first post's opening, how many posts it has, and sentences added to the post at an index."""

    forum: int
    title: str
    start: When
    posts: int = Field(ge=1)
    themes: tuple[str, ...]
    open: str
    language: str = "en"
    image: bool = False
    spam: bool = False
    add: dict[int, str] = Field(default_factory=dict)


class Board(Site):
    """A phpBB or MyBB board. ``per_page`` counts posts of a topic page."""

    per_page: int
    topics_per_page: int = 20
    users: tuple[str, ...]
    forums: tuple[Section, ...]
    topics: tuple[Topic, ...]


class Post(Written):
    """A post or page of the blog."""

    slug: str
    title: str
    date: When
    author: str
    category: str | None = None
    tags: tuple[str, ...] = ()
    themes: tuple[str, ...]
    open: str
    language: str = "en"
    comments: int = 0
    image: bool = False
    add: tuple[str, ...] = ()


class Blog(Site):
    """The WordPress blog. ``authors`` maps login names to display names."""

    per_page: int
    authors: dict[str, str]
    commenters: tuple[str, ...]
    categories: dict[str, str]
    blogroll: tuple[tuple[str, str], ...]
    pages: tuple[Post, ...]
    posts: tuple[Post, ...]


class Article(Written):
    """An article of a site of no known application."""

    slug: str
    title: str
    date: When
    prose: tuple[str, ...]
    open: str | None = None
    theme: str = ""
    section: str = ""
    language: str = "en"
    image: bool = False
    see: tuple[str, ...] = ()
    add: tuple[str, ...] = ()


class Chronicle(Site):
    """The wiki-like site. ``aliases`` redirect; ``dead`` are paths that it links to and does not have."""

    themes: dict[str, str]
    contributors: tuple[str, ...]
    articles: tuple[Article, ...]
    aliases: dict[str, str]
    dead: tuple[str, ...]


class News(Site):
    """The newspaper. ``subscribers`` name pages behind the folder that its robots.txt forbids."""

    per_page: int
    sections: dict[str, str]
    reporters: tuple[str, ...]
    partners: tuple[tuple[str, str], ...]
    articles: tuple[Article, ...]
    subscribers: tuple[str, ...]
    redirects: dict[str, str]
    dead: tuple[str, ...]


class TownHall(Site):
    """The town hall with its endless calendar."""

    office: str
    crawl_delay: float
    notices: tuple[Article, ...]


class Magazine(Site):
    """A site about something else."""

    folder: str
    author: str
    pages: tuple[Article, ...]


class Farm(Site):
    """A link farm."""

    links_a_page: int
    products: tuple[str, ...]


class Elsewhere(Written):
    """Everything that has nothing to do with the topic."""

    sites: tuple[Magazine, ...]
    farm: Farm


C = TypeVar("C", bound=Written)


def load(kind: type[C], name: str) -> C:
    """Return ``content/name.yaml``; a pydantic error names the field that is wrong."""
    return kind.model_validate(yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8")))


class _Sentences(Written):
    topic: frozenset[str]
    fillers: dict[str, tuple[str, ...]]
    themes: dict[str, tuple[str, ...]]
    openers: dict[str, tuple[str, ...]]


def load_prose() -> Prose:
    """Return the sentences that texts are composed of."""
    read = load(_Sentences, "prose")
    return Prose(themes=read.themes, openers=read.openers, fillers=read.fillers, topic=read.topic)
