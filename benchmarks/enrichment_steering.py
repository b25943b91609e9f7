"""Measures whether steering leads a crawl to more relevant pages: crawls with and without it, paired by world.

    python -m benchmarks.enrichment_steering --json FILE [--seeds 20]

A world has pages of twelve subjects, one of which is wanted. The definition knows two words of that subject,
and none of the names in the texts of its pages. Some links of each page lead to its own subject. The anchor of a link
is the title of the page behind it, which may hold a word or a name of its subject, or neither. A crawl
fetches best first: a link is worth the mean of whether its page and its anchor have a known word. With steering it
stops after each 25 pages, has the names found in what it fetched (without a model), and raises what waits, by the
rules and bounds of `aah enrich --steer`.

Three kinds of worlds: titles with ``named`` have the subject's names, those with ``plain`` none, and in ``shared`` ones
all subjects have the same names. ``off`` and ``on`` are the mean shares of wanted pages among as many fetched ones as
there are wanted (harvest at R), ``gain`` is the mean difference, and ``interval`` the half width of its 95 % confidence
interval (Student's t).
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from random import Random
from statistics import fmean, stdev
from typing import Final

from scipy.stats import t as student

from aahcrawler.annotations import Annotation
from benchmarks.results import Row, report
from offline.enrichment.annotator import ObjectText
from offline.enrichment.crawl_steering import SteeringBounds, distinctive_names, named_links
from offline.enrichment.entity_annotator import EntityAnnotator

KINDS: Final = ("named", "plain", "shared")
_PAGES, _SUBJECTS, _LINKS = 1_200, 12, 10
_EVERY: Final = 25
_BEGINNINGS: Final = ("Bar", "Cal", "Dor", "Fen", "Gal", "Hol", "Kel", "Lam", "Mer", "Nor", "Pel", "Ros", "Sol", "Tal")
_ENDINGS: Final = ("holm", "minster", "ford", "wick", "stead", "mouth", "ham", "dale", "combe", "burgh")
_PLAIN: Final = (
    "people said they had seen it before and that nothing much would come of it",
    "in the evening the light was low and most of the shops were closed",
    "there was a long letter in the paper which hardly anybody had read",
    "somebody should write all of this down while it is still remembered",
    "the road was mended last summer and is already full of holes again",
)


@dataclass(frozen=True, slots=True)
class Page:
    """A page: whether it is wanted, whether it has a known word, its title, its text, and the pages it links to."""

    url: str
    is_wanted: bool
    is_known: bool
    title: str
    text: str
    links: tuple[int, ...]


def world(kind: str, seed: int) -> Sequence[Page]:
    """Return the pages of a world; the first subject is the wanted one."""
    rng = Random(f"{kind}-{seed}")
    names = rng.sample([first + last for first in _BEGINNINGS for last in _ENDINGS], 5 * _SUBJECTS)
    subjects = [rng.randrange(_SUBJECTS) for _ in range(_PAGES)]
    of_subject = [[page for page, each in enumerate(subjects) if each == subject] for subject in range(_SUBJECTS)]
    return [_page(number, subject, of_subject[subject], names, kind, rng) for number, subject in enumerate(subjects)]


def _page(number: int, subject: int, alike: Sequence[int], names: Sequence[str], kind: str, rng: Random) -> Page:
    own = names if kind == "shared" else names[5 * subject : 5 * subject + 5]
    words = [f"word{subject}x", f"word{subject}y"] if rng.random() < 0.6 else []
    said = [f"They came to {rng.choice(own)} at noon, {rng.choice(_PLAIN)}." for _ in range(rng.randint(0, 3))]
    told = [*said, *(f"It was about {word} again, {rng.choice(_PLAIN)}." for word in words)]
    told += [f"{rng.choice(_PLAIN).capitalize()}." for _ in range(3)]
    rng.shuffle(told)
    drawn = rng.random()
    title = f"part {number}"
    if drawn < 0.25 and words:
        title = f"on {words[0]}, {title}"
    elif drawn < 0.65 and kind != "plain":
        title = f"seen in {rng.choice(own)}, {title}"
    links = tuple(rng.choice(alike) if rng.random() < 0.3 else rng.randrange(_PAGES) for _ in range(_LINKS))
    is_wanted = subject == 0
    return Page(f"http://world.test/{number}", is_wanted, is_wanted and bool(words), title, " ".join(told), links)


def harvest(pages: Sequence[Page], *, steered: bool) -> float:
    """Crawl as many pages as are wanted; return the share of wanted pages among them."""
    wanted = [number for number, page in enumerate(pages) if page.is_wanted]
    waiting = dict.fromkeys(wanted[:3], 1.0)
    fetched: dict[int, None] = {}
    found: list[Annotation] = []
    risen: dict[str, float] = {}
    annotator = EntityAnnotator((), {})
    while waiting and len(fetched) < len(wanted):
        number = max(waiting, key=lambda each: (waiting[each], -each))
        del waiting[number]
        fetched[number] = None
        page = pages[number]
        found += annotator.annotate(ObjectText(page.url, page.url, "article", page.url, page.text, language="en"))
        for target in page.links:
            if target not in fetched:
                score = (page.is_known + ("word0" in pages[target].title)) / 2
                waiting[target] = max(score, waiting.get(target, 0.0))
        if steered and len(fetched) % _EVERY == 0:
            _steer(pages, list(fetched), found, waiting, risen)
    return fmean(pages[number].is_wanted for number in fetched)


def _steer(
    pages: Sequence[Page],
    fetched: Sequence[int],
    found: Sequence[Annotation],
    waiting: dict[int, float],
    risen: dict[str, float],
) -> None:
    """Raise the scores of queued pages that the terms of relevant pages name, as steering does."""
    bounds = SteeringBounds()
    judged = [(pages[number].url, pages[number].is_known) for number in fetched]
    terms = distinctive_names(found, judged, ("word0x", "word0y"), bounds.terms)
    links = [(pages[target].url, pages[target].title) for number in fetched for target in pages[number].links]
    changed = 0
    for url, named in named_links(links, terms):
        number = int(url.rpartition("/")[2])
        move = max(terms[term] for term in named) * bounds.move - risen.get(url, 0.0)
        if number in waiting and move > 0 and changed < bounds.urls:
            after = min(1.0, waiting[number] + move)
            risen[url] = risen.get(url, 0.0) + after - waiting[number]
            waiting[number] = after
            changed += 1


def main() -> None:
    """Measure all kinds of worlds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seeds", type=int, default=20)
    given = parser.parse_args()
    rows: list[Row] = []
    for kind in KINDS:
        worlds = [world(kind, seed) for seed in range(1, given.seeds + 1)]
        off, on = ([harvest(each, steered=steered) for each in worlds] for steered in (False, True))
        gains = [after - before for before, after in zip(off, on, strict=True)]
        spread = student.ppf(0.975, len(gains) - 1) * stdev(gains) / sqrt(len(gains)) if len(gains) > 1 else None
        rows.append(
            {
                "world": kind,
                "seeds": given.seeds,
                "off": fmean(off),
                "on": fmean(on),
                "gain": fmean(gains),
                "interval": None if spread is None else float(spread),
                "worse": sum(gain < 0 for gain in gains),
            }
        )
    report(rows, given.json)


if __name__ == "__main__":
    main()
