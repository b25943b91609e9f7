"""Generated weblogs: entries in categories, archives with teasers, tags, authors, and related entries."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from benchmarks.worlds.prose import ArchivedPage, Subject, Writer, count_of, escaped, given_name, pager, pages_of, slug

_SHOWN = 10
"""The number of entries on a page of a list."""
_ALIKE = 0.75
_BLOGS, _SUBJECTS = 8, 7


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a weblog. ``tags`` are words of its subject; ``month`` counts from the first one."""

    host: str
    number: int
    title: str
    subject: Subject
    tags: tuple[str, ...]
    author: str
    month: int
    paragraphs: tuple[str, ...]

    @property
    def url(self) -> str:
        """The URL of its page."""
        return (
            f"https://{self.host}/{2020 + self.month // 12}/{self.month % 12 + 1:02}/{slug(self.title)}-{self.number}/"
        )


@dataclass(frozen=True, slots=True)
class Weblog:
    """A weblog with its entries, the newest first, and the entries of all weblogs, to which it sometimes links."""

    host: str
    entries: Sequence[Entry]
    everywhere: Sequence[Entry]
    random: Random

    def pages(self) -> Iterator[ArchivedPage]:
        """Yield all pages: the front page and its archive, those of categories, tags, authors, months, and entries."""
        yield from self._list("", "Home", self.entries)
        for kind, names in self._lists():
            for name, entries in names.items():
                yield from self._list(f"{kind}/{slug(name)}/", name, entries)
        for entry in self.entries:
            yield self._entry(entry)

    def _lists(self) -> Iterator[tuple[str, dict[str, list[Entry]]]]:
        for kind in ("category", "tag", "author"):
            named: dict[str, list[Entry]] = {}
            for entry in self.entries:
                of = {"category": (entry.subject.name,), "tag": entry.tags, "author": (entry.author,)}
                for name in of[kind]:
                    named.setdefault(name, []).append(entry)
            yield kind, named

    def _list(self, path: str, name: str, entries: Sequence[Entry]) -> Iterator[ArchivedPage]:
        count = count_of(len(entries), _SHOWN)
        for page, shown in pages_of(entries, _SHOWN):
            teasers = "".join(map(self._teaser, shown))
            links = pager(page, count, lambda n: self._paged(path, n), "nav-links")
            yield self._page(self._paged(path, page), name, f"{teasers}{links}", ())

    def _paged(self, path: str, page: int) -> str:
        return f"/{path}" if page == 1 else f"/{path}page/{page}/"

    def _teaser(self, entry: Entry) -> str:
        words = " ".join(entry.paragraphs[0].split()[:35])
        return (
            f'<article class="post"><h2 class="entry-title">{_link(entry)}</h2>'
            f'<div class="entry-summary"><p>{escaped(words)} ... <a href="{entry.url}">Continue reading</a></p></div>'
            f"</article>"
        )

    def _entry(self, entry: Entry) -> ArchivedPage:
        text = "".join(f"<p>{escaped(each)}</p>" for each in entry.paragraphs)
        alike = [each for each in self.entries if each.subject is entry.subject]
        related = [self.random.choice(alike if self.random.random() < _ALIKE else self.entries) for _ in range(4)]
        elsewhere = self.random.choice(self.everywhere)
        mention = f"<p>See also {_link(elsewhere)}.</p>" if elsewhere.subject is entry.subject else ""
        tags = " ".join(f'<a rel="tag" href="/tag/{slug(tag)}/">{escaped(tag)}</a>' for tag in entry.tags)
        at = self.entries.index(entry)
        beside = " ".join(_link(each) for each in (*self.entries[max(0, at - 1) : at], *self.entries[at + 1 : at + 2]))
        content = (
            f'<article class="post"><h1 class="entry-title">{escaped(entry.title)}</h1>'
            f'<p class="byline"><a href="/author/{slug(entry.author)}/">{entry.author}</a></p>'
            f'<div class="entry-content">{text}{mention}</div><footer class="entry-meta">'
            f'<a rel="category" href="/category/{slug(entry.subject.name)}/">{escaped(entry.subject.name)}</a> {tags}'
            f'</footer></article><nav class="post-navigation">{beside}</nav><div class="related"><h3>Related</h3>'
            f"<ul>{''.join(f'<li>{_link(each)}</li>' for each in related)}</ul></div>"
        )
        labels = (entry.subject.name, *(f"tag {tag}" for tag in entry.tags))
        return self._page(entry.url.removeprefix(f"https://{self.host}"), entry.title, content, labels)

    def _page(self, path: str, title: str, content: str, labels: tuple[str, ...]) -> ArchivedPage:
        categories = sorted({entry.subject.name for entry in self.entries})
        recent = "".join(f"<li>{_link(each)}</li>" for each in self.entries[:5])
        listed = "".join(f'<li><a href="/category/{slug(name)}/">{escaped(name)}</a></li>' for name in categories)
        roll = "".join(f'<li><a href="https://{host}/">{_title(host)}</a></li>' for host in HOSTS)
        name = _title(self.host)
        body = (
            f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escaped(title)} | {name}</title>'
            f'</head><body class="blog"><header><a href="/">{name}</a></header><main id="main">{content}</main>'
            f'<aside id="secondary"><section class="widget"><h2>Recent posts</h2><ul>{recent}</ul></section>'
            f'<section class="widget"><h2>Categories</h2><ul>{listed}</ul></section>'
            f'<section class="widget"><h2>Blogroll</h2><ul>{roll}</ul></section></aside></body></html>'
        )
        return ArchivedPage(f"https://{self.host}{path}", body.encode(), labels)


HOSTS = tuple(f"{given_name(number)}.test" for number in range(_BLOGS))


def weblogs(subjects: Sequence[Subject], entries: int, random: Random) -> Iterator[ArchivedPage]:
    """Yield the pages of eight weblogs with equally many entries, each about a few of the subjects."""
    writer = Writer(random, subjects)
    written = {host: _entries(host, random.sample(subjects, _SUBJECTS), entries, writer) for host in HOSTS}
    everywhere = [entry for own in written.values() for entry in own]
    for host, own in written.items():
        yield from Weblog(host, own, everywhere, random).pages()


def _entries(host: str, subjects: Sequence[Subject], number: int, writer: Writer) -> Sequence[Entry]:
    random, made = writer.random, []
    for at in range(number):
        subject = random.choice(subjects)
        tags = tuple(sorted({random.choice(subject.senses[:40]).name for _ in range(random.randint(1, 4))}))
        text = writer.paragraphs(subject, random.randint(2, 8))
        author, month = given_name(20 + random.randrange(4)), (number - at) // 10
        made.append(Entry(host, at, writer.title(subject), subject, tags, author, month, text))
    return made


def _link(entry: Entry) -> str:
    return f'<a href="{entry.url}">{escaped(entry.title)}</a>'


def _title(host: str) -> str:
    return host.partition(".")[0].capitalize()
