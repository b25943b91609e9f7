"""What opinions are about, and whose languages were judged, as annotations alone tell: nothing is judged here."""

from collections.abc import Iterable, Iterator

from aahcrawler.annotations import Annotation


def about(opinions: Iterable[Annotation], others: Iterable[Annotation]) -> Iterator[tuple[Annotation, Annotation]]:
    """Yield each opinion with each annotation whose words stand in its sentence, in the order of the text.

    ``others`` are entities, terms or topics that have offsets, of the same objects; those without are passed over.
    An opinion of a sentence is not always on all that it names: who shows it shows the sentence.
    """
    placed: dict[tuple[str, str], list[Annotation]] = {}
    for each in others:
        if each.start >= 0:
            placed.setdefault((each.object, each.capture), []).append(each)
    for named in placed.values():
        named.sort(key=lambda each: (each.start, each.end, each.kind, each.label))
    for opinion in opinions:
        for each in placed.get((opinion.object, opinion.capture), ()):
            if opinion.start <= each.start and each.end <= opinion.end:
                yield opinion, each


def judged_languages(version: str) -> frozenset[str]:
    """Return the languages that a version of ``opinions`` judges: English by VADER, those of its lexicons.

    >>> sorted(judged_languages("1; sentencex 1.0.32; vader 3.3.2; de.tsv 5f1c2a"))
    ['de', 'en']
    """
    judges = (name.split(" ")[0] for name in version.split("; "))
    return frozenset("en" if name == "vader" else name.removesuffix(".tsv") for name in judges if _is_judge(name))


def _is_judge(name: str) -> bool:
    return name == "vader" or name.endswith(".tsv")
