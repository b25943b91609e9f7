"""Makes the content of a site from a seed: threads of all lengths that matter, and texts that repeat.

Lengths are told by the posts that one page of a thread shows: threads of a single post, of a few, of one full page, of
one more post than a page holds, of several pages. Posts quote others, share boilerplate, and some short ones are word
for word the same as others.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from typing import Final

from benchmarks.software.content import Block, Content, Edit, Person, Post, Thread, hangs

NAMES: Final = (
    *("Anna Keller", "bramble", "Carlos Ortega", "dim_lantern", "Edith Moore", "farrier", "Giulia Conti", "Henrik"),
    *("iris", "Jonas Weber", "kestrel77", "Léa Martin", "Mads Holm", "nightjar", "Olga Petrova", "pine.marten"),
)
FORUMS: Final = ("Workshop", "Network and Security", "Gardening", "Old Machines")
SUBJECTS: Final = (
    *("printer", "kernel", "router", "greenhouse", "gearbox", "database", "compressor", "orchard", "battery"),
    *("archive", "scanner", "firewall", "lathe", "beehive", "cable", "keyboard", "mirror", "turbine", "window"),
    *("backup", "package", "sensor", "driver", "valve", "engine", "camera", "carburettor", "password", "partition"),
)
QUALITIES: Final = (
    *("old", "noisy", "second", "rusty", "reliable", "cheap", "broken", "wooden", "slow", "careful", "recent"),
    *("heavy", "spare", "empty", "hidden", "local", "separate", "curious", "ordinary", "dusty", "loose", "patient"),
)
DEEDS: Final = (
    *("stopped", "worked", "failed", "started", "leaked", "returned", "moved", "rattled", "recovered", "waited"),
    *("answered", "disappeared", "improved", "vibrated", "changed", "arrived", "melted", "survived", "stalled"),
)
TIMES: Final = (
    *("last winter", "after the update", "on Monday", "for two weeks", "without any warning", "during the night"),
    *("again", "at home", "in the basement", "before lunch", "since the storm", "while I was away", "near the door"),
)
SENTENCES: Final = (
    "The {q} {s} {d} {t}.",
    "I had a {q} {s} that {d} {t}, and the {q2} {s2} never {d2}.",
    "Has anybody seen a {s} that {d} {t}?",
    "When the {s} {d}, the {q} {s2} beside it {d2} as well.",
    "My neighbour says that every {q} {s} with a {q2} {s2} has {d} {t}.",
    "We replaced the {s} by a {q} one, but it {d} {t}.",
    "You could take the {q} {s} apart and look whether its {s2} {d}.",
    "It is not the {s}: mine {d} {t} although the {s2} was {q}.",
    "If a {q} {s} costs more than the {s2}, I would rather keep what {d} {t}.",
    "Nobody in the {s} club knew why the {q} {s2} {d} {t}.",
)
TITLES: Final = (
    "The {q} {s} {d} {t}",
    "Which {s} for a {q} {s2}?",
    "{S} and {s2}: what I learned",
    "How to repair a {q} {s}",
    "Question about my {q} {s}",
    "A {q} {s} without {s2}",
)
SHORT: Final = (
    "Thanks, that solved it for me!",
    "Same here, no idea why.",
    "Could you post a picture of it, please?",
    "Bump. Nobody?",
    "I agree with what was said above.",
)
BOILERPLATE: Final = (
    "Please read the rules of this board before you answer, and search for older questions first.",
    "I am new here, so please be patient with me. Thanks in advance for any help!",
)
SIGNATURES: Final = (
    "Sent from a machine that should have been retired years ago.",
    "Measure twice, cut once. My projects are on the wall of the shed.",
    "All that I write is my own opinion and no advice of my employer.",
)
_START: Final = datetime(2024, 1, 8, 7, 30, tzinfo=UTC)
_EDITED, _DELETED, _ADDED = 6, 4, 4


@dataclass(frozen=True, slots=True)
class Size:
    """How many threads there are: of one post, of a few, one post longer than a page, and of several pages."""

    single: int = 14
    few: int = 28
    overhanging: int = 4
    long: int = 8


QUICK: Final = Size(single=4, few=8, overhanging=2, long=2)


class Writer:
    """Draws texts: the same seed draws the same."""

    def __init__(self, seed: int) -> None:
        self._drawn = random.Random(seed)
        self._titles: set[str] = set()

    def content(self, page_size: int, size: Size, names: Sequence[str] = NAMES) -> Content:
        """Return the content of a site on which a page of a thread shows ``page_size`` posts."""
        people = tuple(self._person(name, number) for number, name in enumerate(names))
        lengths = list(self._lengths(page_size, size))
        self._drawn.shuffle(lengths)
        threads = [self._thread(number, length, people) for number, length in enumerate(lengths, 1)]
        return Content(people, FORUMS, tuple(threads))

    def edits(self, content: Content, page_size: int) -> tuple[Edit, ...]:
        """Return changes of a site: texts are edited and posts deleted on first and on later pages, replies are added.

        No thread is changed twice, first posts are only edited, and what is deleted is there once, and no other post
        hangs on it.
        """
        texts = [post.plain for _, post in content.posts()]
        threads = [thread for thread in content.threads if len(thread.posts) > 2]
        self._drawn.shuffle(threads)
        long = [thread for thread in threads if len(thread.posts) > page_size]
        short = [thread for thread in threads if len(thread.posts) <= page_size]
        # Of each kind of change some are done to long threads, and some to short ones.
        mixed = [thread for pair in zip_longest(long, short) for thread in pair if thread is not None]
        changes: list[Edit] = []
        for number, thread in enumerate(mixed[: _EDITED + _DELETED + _ADDED]):
            if number < _EDITED:
                post = thread.posts[0] if number == 0 else self._drawn.choice(thread.posts)
                changes.append(Edit("edited", thread.id, self._rewritten(post)))
            elif number < _EDITED + _DELETED:
                alone = [post for place, post in enumerate(thread.posts) if place and not hangs(place + 1)]
                unique = [post for post in alone if texts.count(post.plain) == 1]
                changes += [Edit("deleted", thread.id, self._drawn.choice(unique))] if unique else []
            else:
                last = thread.posts[-1]
                later = _moment(datetime.fromisoformat(last.date) + timedelta(hours=5, minutes=number))
                author = self._drawn.choice(content.people).name
                added = Post(f"{thread.id}-added", author, later, tuple(self._paragraphs(2)))
                changes.append(Edit("added", thread.id, added))
        return tuple(changes)

    def _lengths(self, page_size: int, size: Size) -> Iterator[int]:
        yield from (1 for _ in range(size.single))
        yield from (self._drawn.randint(2, max(3, min(9, page_size - 1))) for _ in range(size.few))
        yield from (page_size + 1 for _ in range(size.overhanging))
        yield from (self._drawn.randint(page_size + 3, 3 * page_size) for _ in range(size.long))
        yield page_size
        yield 2 * page_size + 1

    def _person(self, name: str, number: int) -> Person:
        joined = _moment(_START - timedelta(days=30 + 17 * number, minutes=11 * number))
        return Person(name, joined, SIGNATURES[number % 4] if number % 4 < len(SIGNATURES) else "")

    def _thread(self, number: int, length: int, people: Sequence[Person]) -> Thread:
        moment = _START + timedelta(days=9 * number, minutes=37 * number)
        posts: list[Post] = []
        for place in range(length):
            author = self._drawn.choice(people).name
            blocks = tuple(self._opening() if place == 0 else self._reply(posts))
            revised = self._drawn.random() < 0.04
            posts.append(Post(f"t{number}-{place + 1}", author, _moment(moment), blocks, revised))
            moment += timedelta(minutes=self._drawn.randint(2, 1900))
        return Thread(f"t{number}", self._title(), self._drawn.choice(FORUMS), tuple(posts))

    def _opening(self) -> Iterator[Block]:
        yield from self._paragraphs(self._drawn.randint(1, 4))
        if self._drawn.random() < 0.3:
            yield Block("items", "\n".join(self._sentence() for _ in range(3)))
        if self._drawn.random() < 0.2:
            yield Block("code", f"mount /dev/{self._drawn.choice(SUBJECTS)}{self._drawn.randint(0, 9)} /mnt")
        if self._drawn.random() < 0.3:
            yield Block("paragraph", self._drawn.choice(BOILERPLATE))
        if self._drawn.random() < 0.15:
            yield Block("file", f"{self._drawn.choice(SUBJECTS)}-{self._drawn.randint(10, 99)}.txt")

    def _reply(self, before: Sequence[Post]) -> Iterator[Block]:
        drawn = self._drawn.random()
        if drawn < 0.08:
            yield Block("paragraph", self._drawn.choice(SHORT))
            return
        if drawn < 0.35:
            post = self._drawn.choice(before[-3:])
            quoted = next((block.text for block in post.blocks if block.kind == "paragraph"), SHORT[0])
            yield Block("quote", quoted, post.author)
        yield from self._paragraphs(self._drawn.randint(1, 3))
        if self._drawn.random() < 0.1:
            yield Block("paragraph", self._drawn.choice(BOILERPLATE))
        if self._drawn.random() < 0.06:
            yield Block("file", f"{self._drawn.choice(SUBJECTS)}-{self._drawn.randint(10, 99)}.txt")

    def _rewritten(self, post: Post) -> Post:
        kept = post.blocks[:1] if post.blocks[0].kind == "quote" else ()
        return replace(post, blocks=(*kept, *self._paragraphs(2)))

    def _paragraphs(self, number: int) -> Iterator[Block]:
        for _ in range(number):
            yield Block("paragraph", " ".join(self._sentence() for _ in range(self._drawn.randint(1, 4))))

    def _sentence(self) -> str:
        return self._filled(self._drawn.choice(SENTENCES))

    def _title(self) -> str:
        while (title := self._filled(self._drawn.choice(TITLES))) in self._titles:
            pass
        self._titles.add(title)
        return title

    def _filled(self, pattern: str) -> str:
        (s, s2), (q, q2) = self._drawn.sample(SUBJECTS, 2), self._drawn.sample(QUALITIES, 2)
        (d, d2), t = self._drawn.sample(DEEDS, 2), self._drawn.choice(TIMES)
        return pattern.format(s=s, s2=s2, S=s.capitalize(), q=q, q2=q2, d=d, d2=d2, t=t)


def _moment(moment: datetime) -> str:
    return moment.isoformat(timespec="minutes")
