"""Measure precision, recall, speed and memory of annotators on generated texts with planted annotations.

    python -m benchmarks.enrichment --json FILE [--step NAME ...] [--seeds 20] [--documents 200]

Each step runs in a process of its own, on held-out worlds (``enrichment_world.py``); with ``--building``, on the worlds
with which annotators may be developed. ``precision``, ``recall`` and ``f1`` are means over worlds, ``interval`` is the
half width of f1's 95 % confidence interval (Student's t); a step without results in a language has no precision there.
``docs_per_second`` is per processor time, over all languages, ``peak_mib`` that of the whole process with the world.
"""

import argparse
import io
import json
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import sqrt
from pathlib import Path
from random import Random
from statistics import fmean, stdev

from PIL import ExifTags, Image, ImageDraw, ImageFilter

from aahcrawler.annotations import REFINES, Annotation, Kind, annotation_iri
from benchmarks.enrichment_world import Planted, World, world
from benchmarks.process_memory import run
from benchmarks.results import Row, report
from offline.enrichment.annotator import Annotator, CollectionAnnotator, Medium
from offline.enrichment.conversations import Conversations
from offline.enrichment.entity_annotator import EntityAnnotator
from offline.enrichment.events import Events, JoinedEvents
from offline.enrichment.media import LookAlikes, Media
from offline.enrichment.media_metadata import describe
from offline.enrichment.name_joining import Consolidation
from offline.enrichment.opinions import Opinions
from offline.enrichment.related_texts import NearDuplicates, RelatedTexts
from offline.enrichment.sentences import SentenceAnnotator, installed_models, sentences_in
from offline.enrichment.topics import Topics

SIZE = (480, 320)


@dataclass(frozen=True, slots=True)
class PlantedPicture:
    """A picture, the number of the scene that it shows, and what its file says, as annotations should say it."""

    medium: Medium
    shows: int
    said: tuple[tuple[str, str], ...]


def pictures(seed: int, number: int) -> Iterator[PlantedPicture]:
    """Yield pictures of so many scenes, each scene one to four times; the same seed yields the same."""
    rng = Random(f"pictures-{seed}")
    for scene in range(number):
        drawn = _scene(rng)
        for copy in range(rng.choice((1, 1, 2, 4))):
            url = f"https://gallery{copy}.test/{scene}.jpg"
            body, said = _saved(_changed(drawn, rng) if copy else drawn, rng)
            yield PlantedPicture(Medium(url, f"urn:uuid:{scene}-{copy}", url, body), scene, tuple(sorted(said.items())))


def _scene(rng: Random) -> Image.Image:
    """Return something like a photograph: soft shapes on a background that grows lighter."""
    dark, light = sorted((rng.randrange(256), rng.randrange(256)))
    picture = (
        Image.linear_gradient("L").resize(SIZE).point([dark + (light - dark) * each // 255 for each in range(256)])
    )
    if rng.random() < 0.5:
        picture = picture.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    pen = ImageDraw.Draw(picture)
    for _ in range(rng.randint(4, 14)):
        left, top = rng.randrange(-40, SIZE[0]), rng.randrange(-40, SIZE[1])
        box = (left, top, left + rng.randrange(30, 260), top + rng.randrange(30, 200))
        (pen.ellipse if rng.random() < 0.5 else pen.rectangle)(box, fill=rng.randrange(256))
    return picture.filter(ImageFilter.GaussianBlur(rng.uniform(0.5, 3))).convert("RGB")


def _changed(picture: Image.Image, rng: Random) -> Image.Image:
    """Return the picture as another site may show it: smaller, larger, brighter, or cropped a little."""
    scale = rng.uniform(0.3, 1.6)
    changed = picture.resize((int(SIZE[0] * scale), int(SIZE[1] * scale)))
    if rng.random() < 0.3:
        by = rng.uniform(0.8, 1.2)
        changed = changed.point([min(255, int(each * by)) for each in range(256)] * 3)
    if rng.random() < 0.3:
        edge = max(1, changed.width // 50)
        changed = changed.crop((edge, edge, changed.width - edge, changed.height - edge))
    return changed


def _saved(picture: Image.Image, rng: Random) -> tuple[bytes, dict[str, str]]:
    said = {"width": str(picture.width), "height": str(picture.height)}
    exif = Image.Exif()
    if rng.random() < 0.5:
        day, hour = rng.randint(1, 28), rng.randrange(24)
        exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = f"2016:05:{day:02} {hour:02}:15:00"
        said["taken"] = f"2016-05-{day:02}T{hour:02}:15:00"
    if rng.random() < 0.3:
        degrees, minutes = rng.randrange(80), rng.randrange(60)
        position: dict[int, object] = {
            ExifTags.GPS.GPSLatitude: (float(degrees), float(minutes), 0.0),
            ExifTags.GPS.GPSLatitudeRef: "S",
            ExifTags.GPS.GPSLongitude: (float(degrees), float(minutes), 0.0),
            ExifTags.GPS.GPSLongitudeRef: "E",
        }
        exif.get_ifd(ExifTags.IFD.GPSInfo).update(position)
        said |= {"latitude": f"{-degrees - minutes / 60:.6f}", "longitude": f"{degrees + minutes / 60:.6f}"}
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=rng.randint(40, 95), exif=exif)
    return file.getvalue(), said


_ALL = "all"
_TIMEOUT = 3600
_DOCUMENTS_FOR_SCENE = 8
"""The number of documents of a world for each scene, since pictures take longer to generate than to read."""


@dataclass
class Count:
    """The numbers of correct results, of all results, and of planted annotations."""

    right: int = 0
    found: int = 0
    planted: int = 0

    @property
    def precision(self) -> float | None:
        """The correct share of the results, None without results."""
        return self.right / self.found if self.found else None

    @property
    def recall(self) -> float:
        """The share of planted annotations that were found."""
        return self.right / self.planted if self.planted else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return 2 * self.right / (self.found + self.planted) if self.found + self.planted else 0.0


Counts = Mapping[str, Count]
"""Counts for each language, and for all together."""
Scorer = Callable[[World, Sequence[Annotation]], Counts]


@dataclass(frozen=True, slots=True)
class Step:
    """Annotators that are measured together: those for single objects, then those for all objects, in that order.

    Annotations of the kinds ``given`` are passed to the latter as they were planted, since other steps find them.
    """

    scorer: Scorer
    annotators: Callable[[], Iterable[Annotator]] = tuple
    collection: Callable[[], Iterable[CollectionAnnotator]] = tuple
    given: frozenset[Kind] = field(default=frozenset())


@dataclass(frozen=True, slots=True)
class PictureStep:
    """A step on pictures instead of texts: each is annotated, and then similar ones are grouped."""

    scorer: Callable[[Sequence[PlantedPicture], Sequence[Annotation]], Count]


def mentions(*kinds: Kind) -> Scorer:
    """Score annotations of kinds by their places: the same kind, and half of all characters of both in common."""

    def scored(within: World, annotations: Sequence[Annotation]) -> Counts:
        return _matched(within, annotations, frozenset(kinds), lambda found, meant: found.kind == meant.kind)

    return scored


def opinions(within: World, annotations: Sequence[Annotation]) -> Counts:
    """Score opinions by their sentences and the signs of their polarity."""

    def agree(found: Annotation, meant: Planted) -> bool:
        return (float(dict(found.values)["polarity"]) > 0) == (meant.meant == "positive")

    return _matched(within, annotations, frozenset({Kind.OPINION}), agree)


def dates(within: World, annotations: Sequence[Annotation]) -> Counts:
    """Score events by their sentences and dates, also those in text about which nothing else is known."""
    bare = World(within.objects, within.planted, {})
    return _matched(
        bare, annotations, frozenset({Kind.EVENT}), lambda found, meant: dict(found.values)["when"] == meant.when
    )


def same(*kinds: Kind) -> Scorer:
    """Score pairs of planted annotations of some kinds that mean the same, by the IRIs of the annotations found.

    A planted annotation that was not found is a group of its own. One without a place is found by its object.
    """

    def scored(within: World, annotations: Sequence[Annotation]) -> Counts:
        language = {each.object: each.language for each in within.objects}
        by_object = _by_object((each for each in annotations if each.iri), frozenset(kinds))
        meant: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        called: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for number, each in enumerate(each for each in within.planted if each.kind in kinds):
            match = next((one for one in by_object[each.object] if each.start < 0 or _is_there(one, each)), None)
            for code in (language[each.object], _ALL):
                meant[code][each.meant].append(number)
                if match is not None:
                    called[code][match.iri].append(number)
        return {code: _of_pairs(_pairs(groups), _pairs(called[code])) for code, groups in meant.items()}

    return scored


def topics(within: World, annotations: Sequence[Annotation]) -> Counts:
    """Score the first topic of each object: correct if most of its objects have the same planted topic (purity)."""
    language = {each.object: each.language for each in within.objects}
    best: dict[str, Annotation] = {}
    for each in annotations:
        known = best.get(each.object)
        if each.kind == Kind.TOPIC and (known is None or each.confidence > known.confidence):
            best[each.object] = each
    counts: dict[str, Count] = defaultdict(Count)
    within_topic: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for planted in within.planted:
        if planted.kind == Kind.TOPIC:
            code = language[planted.object]
            counts[code].planted += 1
            if planted.object in best:
                within_topic[code, best[planted.object].iri or best[planted.object].label][planted.meant] += 1
    for (code, _), found in within_topic.items():
        counts[code].right += max(found.values())
        counts[code].found += found.total()
    return _with_all(counts)


def related(within: World, annotations: Sequence[Annotation]) -> Counts:
    """Score pairs of objects that are said to be about the same: correct if both have the same planted topic."""
    meant = [replace(each, kind=Kind.RELATED) for each in within.planted if each.kind == Kind.TOPIC]
    return same(Kind.RELATED)(replace(within, planted=tuple(meant)), annotations)


def answers(within: World, annotations: Sequence[Annotation]) -> Counts:
    """Score who answers whom: the answered author is the label of the annotation or one of its values."""
    language = {each.object: each.language for each in within.objects}
    planted = {(each.object, each.meant) for each in within.planted if each.kind == Kind.CONVERSATION}
    counts: dict[str, Count] = defaultdict(Count)
    for iri, _ in planted:
        counts[language[iri]].planted += 1
    for each in annotations:
        if each.kind == Kind.CONVERSATION:
            said = {each.label, *(value for _, value in each.values)}
            counts[language[each.object]].found += 1
            counts[language[each.object]].right += any((each.object, name) in planted for name in said)
    return _with_all(counts)


def sentence_places(within: World, annotations: Sequence[Annotation]) -> Counts:
    """Score sentences by the exact characters at which they begin and end."""
    places: dict[str, set[tuple[int, int]]] = defaultdict(set)
    for each in within.planted:
        if each.kind == Kind.SENTENCES:
            places[each.object].add((each.start, each.end))
    found = {each.object: set(sentences_in(each)) for each in annotations if each.kind == Kind.SENTENCES}
    counts: dict[str, Count] = defaultdict(Count)
    for given in within.objects:
        count, meant, told = counts[given.language], places[given.object], found.get(given.object, set())
        count.right += len(meant & told)
        count.found += len(told)
        count.planted += len(meant)
    return _with_all(counts)


def properties(planted: Sequence[PlantedPicture], annotations: Sequence[Annotation]) -> Count:
    """Score the properties in the files of pictures one by one; further ones of the same names count as results."""
    told = {each.object: dict(each.values) for each in annotations if each.annotator == Media.name}
    count = Count()
    for each in planted:
        said, found = dict(each.said), told.get(each.medium.object, {})
        count.planted += len(said)
        count.found += sum(name in found for name in ("width", "height", "taken", "latitude", "longitude"))
        count.right += sum(found.get(name) == value for name, value in said.items())
    return count


def look_alikes(planted: Sequence[PlantedPicture], annotations: Sequence[Annotation]) -> Count:
    """Score pairs of pictures that show the same scene."""
    groups = {each.object: each.iri for each in annotations if each.iri}
    meant: dict[str, list[int]] = defaultdict(list)
    called: dict[str, list[int]] = defaultdict(list)
    for number, each in enumerate(planted):
        meant[str(each.shows)].append(number)
        if each.medium.object in groups:
            called[groups[each.medium.object]].append(number)
    return _of_pairs(_pairs(meant), _pairs(called))


NAMES = frozenset({Kind.PERSON, Kind.ORGANISATION, Kind.PLACE})


def named(within: World, annotations: Sequence[Annotation]) -> Counts:
    """Score names by their places alone, whatever their kinds."""
    return _matched(within, annotations, NAMES | {Kind.NAME}, lambda _found, _meant: True)


def joined(within: World, annotations: Sequence[Annotation]) -> Counts:
    """Score which names mean the same; of several annotations at a place, the last one counts."""
    return same(*NAMES, Kind.NAME)(within, annotations[::-1])


def of_crawl(within: World, annotations: Sequence[Annotation]) -> Counts:
    """Score names by places and kinds as they are shown: of several annotations of a name, the last one counts."""
    replaced = {dict(each.values).get(REFINES) for each in annotations}
    return mentions(*NAMES)(within, [each for each in annotations if annotation_iri(each) not in replaced])


def _without_models() -> list[Annotator]:
    return [EntityAnnotator((), {})]


def _with_models() -> list[Annotator]:
    return [EntityAnnotator((), installed_models())]


STEPS: dict[str, Step | PictureStep] = {
    "entities": Step(mentions(*NAMES), _with_models),
    "entities-of-crawl": Step(of_crawl, _with_models, lambda: [Consolidation()]),
    "entities-of-crawl-without-models": Step(of_crawl, _without_models, lambda: [Consolidation()]),
    "names": Step(named, _with_models),
    "names-without-models": Step(named, _without_models),
    "consolidation": Step(joined, _with_models, lambda: [Consolidation()]),
    "sentences": Step(sentence_places, lambda: [SentenceAnnotator()]),
    "opinions": Step(opinions, lambda: [Opinions()]),
    "events": Step(dates, lambda: [Events()]),
    "joined-events": Step(same(Kind.EVENT), lambda: [Events()], lambda: [JoinedEvents()], NAMES),
    "topics": Step(topics, collection=lambda: [Topics()]),
    "near-duplicates": Step(same(Kind.CLUSTER), collection=lambda: [NearDuplicates()]),
    "related-texts": Step(related, collection=lambda: [RelatedTexts(None)]),
    "conversations": Step(answers, collection=lambda: [Conversations()]),
    "media": PictureStep(properties),
    "look-alikes": PictureStep(look_alikes),
}
"""The steps by name."""


def _matched(
    within: World,
    annotations: Sequence[Annotation],
    kinds: frozenset[Kind],
    agree: Callable[[Annotation, Planted], bool],
) -> Counts:
    """Count annotations at the place of a planted one that agree with it; each planted one counts once."""
    by_object = _by_object(annotations, kinds)
    planted: dict[str, list[Planted]] = defaultdict(list)
    for each in within.planted:
        if each.kind in kinds:
            planted[each.object].append(each)
    counts: dict[str, Count] = defaultdict(Count)
    for given in within.objects:
        count, left = counts[given.language], list(planted[given.object])
        count.planted += len(left)
        for found in by_object[given.object]:
            match = next((each for each in left if _is_there(found, each) and agree(found, each)), None)
            unknown = within.unknown.get(given.object, ())
            if match is None and any(found.start < end and start < found.end for start, end in unknown):
                continue
            count.found += 1
            if match is not None:
                left.remove(match)
                count.right += 1
    return _with_all(counts)


def _by_object(annotations: Iterable[Annotation], kinds: frozenset[Kind]) -> Mapping[str, list[Annotation]]:
    found: dict[str, list[Annotation]] = defaultdict(list)
    for each in annotations:
        if each.kind in kinds:
            found[each.object].append(each)
    return found


def _is_there(found: Annotation, planted: Planted) -> bool:
    common = min(found.end, planted.end) - max(found.start, planted.start)
    return 2 * common >= max(found.end, planted.end) - min(found.start, planted.start) and common > 0


def _pairs(groups: Mapping[str, Sequence[int]]) -> set[tuple[int, int]]:
    return {pair for numbers in groups.values() for pair in combinations(sorted(numbers), 2)}


def _of_pairs(meant: set[tuple[int, int]], called: set[tuple[int, int]]) -> Count:
    return Count(len(meant & called), len(called), len(meant))


def _with_all(counts: Mapping[str, Count]) -> Counts:
    return {
        **counts,
        _ALL: Count(
            sum(each.right for each in counts.values()),
            sum(each.found for each in counts.values()),
            sum(each.planted for each in counts.values()),
        ),
    }


def _planted(within: World, kinds: frozenset[Kind]) -> Iterator[Annotation]:
    texts = {each.object: each for each in within.objects}
    for each in within.planted:
        if each.kind in kinds:
            of = texts[each.object]
            words = of.text[each.start : each.end] if each.start >= 0 else each.meant
            iri = f"https://planted.test/{each.meant}".replace(" ", "-")
            yield Annotation(
                of.object, of.capture, each.kind, words, "planted", "1", 1.0, iri, each.start, each.end, words
            )


def _measure_pictures(step: PictureStep, seed: int, number: int) -> dict[str, object]:
    """Measure a step on pictures in this process, without the time of passing them to another one."""
    planted = list(pictures(seed, number // _DOCUMENTS_FOR_SCENE))
    media, alike = Media(describe), LookAlikes()
    began = time.process_time()
    found = [annotation for each in planted for annotation in media.annotate(each.medium)]
    found += alike.annotate(lambda: iter(()), lambda: iter(list(found)))
    seconds = time.process_time() - began
    count = step.scorer(planted, found)
    return {
        "counts": {_ALL: (count.right, count.found, count.planted)},
        "documents": len(planted),
        "seconds": seconds,
    }


def _measure(step: Step, seed: int, documents: int, *, kept_aside: bool) -> dict[str, object]:
    """Measure a step on a world in this process; return counts by language, documents and seconds."""
    within = world(seed, documents, kept_aside=kept_aside)
    annotators, collection = list(step.annotators()), list(step.collection())
    found: list[Annotation] = []
    began = time.process_time()
    for given in within.objects:
        for annotator in annotators:
            found += annotator.annotate(given)
    seconds = time.process_time() - began
    known = [*found, *_planted(within, step.given)]
    began = time.process_time()
    for each in collection:
        found += each.annotate(lambda: iter(within.objects), lambda: iter(known))
    seconds += time.process_time() - began
    counts = {code: (each.right, each.found, each.planted) for code, each in step.scorer(within, found).items()}
    return {"counts": counts, "documents": len(within.objects), "seconds": seconds}


def _rows(name: str, seeds: Sequence[int], documents: int, *, building: bool) -> Iterator[Row]:
    from scipy.special import stdtrit  # noqa: PLC0415 - it takes long to import

    command = [sys.executable, "-m", "benchmarks.enrichment", "--within", name, "--documents", str(documents)]
    command += ["--building"] if building else []
    done = run([*command, "--seeds", str(len(seeds))], os.environ, _TIMEOUT)
    if done.code:
        raise SystemExit(f"{name}: {done.output}")
    worlds = [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]
    rate = sum(each["documents"] for each in worlds) / sum(each["seconds"] for each in worlds)
    for code in sorted({code for each in worlds for code in each["counts"]}, key=lambda code: (code != _ALL, code)):
        counts = [Count(*each["counts"][code]) for each in worlds if code in each["counts"]]
        precisions = [each.precision for each in counts if each.precision is not None]
        scores = [each.f1 for each in counts]
        spread = stdtrit(len(scores) - 1, 0.975) * stdev(scores) / sqrt(len(scores)) if len(scores) > 1 else None
        yield {
            "step": name,
            "language": code,
            "precision": fmean(precisions) if precisions else None,
            "recall": fmean(each.recall for each in counts),
            "f1": fmean(scores),
            "interval": None if spread is None else float(spread),
            "planted": sum(each.planted for each in counts),
            "docs_per_second": rate,
            "peak_mib": done.peak_mib,
        }


def main() -> None:
    """Measure the requested steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--step", action="append", choices=sorted(STEPS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--building", action="store_true")
    parser.add_argument("--within", choices=sorted(STEPS), help=argparse.SUPPRESS)
    given = parser.parse_args()
    seeds = range(1, given.seeds + 1)
    if given.within:
        for seed in seeds:
            step = STEPS[given.within]
            if isinstance(step, PictureStep):
                measured = _measure_pictures(step, seed if given.building else -seed, given.documents)
            else:
                measured = _measure(step, seed, given.documents, kept_aside=not given.building)
            sys.stdout.write(json.dumps(measured) + "\n")
        return
    rows: list[Row] = []
    for name in given.step or STEPS:
        rows += _rows(name, seeds, given.documents, building=given.building)
    report(rows, given.json)


if __name__ == "__main__":
    main()
