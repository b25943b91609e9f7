"""The steps of enrichment: annotators by their names, those that ship and those of other distributions.

A distribution announces an annotator as an entry point, ``name = module:factory``, of the group
``aahcrawler.annotators``, of ``aahcrawler.media_annotators`` for one of pictures, sound and film, or of
``aahcrawler.collection_annotators`` for one that goes by all objects together. The factory, such as the annotator's
class, is called in each process that annotates: with a ``Setting`` where it has a parameter ``setting``, else with
nothing. An annotator that is a context manager is entered where it annotates objects or media one by one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from inspect import signature
from pathlib import Path
from typing import Final, Protocol, cast, runtime_checkable

from aahcrawler.definitions import read_definition
from aahcrawler.layout import DEFINITION
from offline.enrichment.annotator import Annotator, CollectionAnnotator, MediaAnnotator
from online_analysis.icd import Icd

ANNOTATORS: Final = "aahcrawler.annotators"
MEDIA_ANNOTATORS: Final = "aahcrawler.media_annotators"
COLLECTION_ANNOTATORS: Final = "aahcrawler.collection_annotators"
SHIPPED: Final = {
    ANNOTATORS: {
        "language": "offline.enrichment.language_annotator:LanguageAnnotator",
        "entities": "offline.enrichment.entity_annotator:EntityAnnotator.of",
        "sentences": "offline.enrichment.sentences:SentenceAnnotator",
        "opinions": "offline.enrichment.opinions:Opinions.of",
        "events": "offline.enrichment.events:Events",
    },
    MEDIA_ANNOTATORS: {"media": "offline.enrichment.media:Media.of_files"},
    COLLECTION_ANNOTATORS: {
        "consolidation": "offline.enrichment.name_joining:Consolidation",
        "joined-events": "offline.enrichment.events:JoinedEvents",
        "keywords": "offline.enrichment.keywords:Keywords",
        "topics": "offline.enrichment.topics:Topics.of",
        "near-duplicates": "offline.enrichment.related_texts:NearDuplicates",
        "related-texts": "offline.enrichment.related_texts:RelatedTexts.of",
        "conversations": "offline.enrichment.conversations:Conversations.of",
        "look-alikes": "offline.enrichment.media:LookAlikes",
    },
}
"""The steps that ship, by group, in the order in which they are done."""
ASKED_FOR: Final = {
    "sentences": "sentences, lemmas and noun phrases for programs",
    "related-texts": "texts on the same in other words; needs the extra vectors",
}
"""The steps that are done only where they are named, with what they say: they take much, and few need that."""


_BY_OBJECTS_ALONE: Final = frozenset({"topics", "near-duplicates", "conversations"})
"""The steps that ship and rest on nothing that other steps say of a collection."""
_EXTRAS: Final = {"related-texts": "vectors"}
"""The extras that steps need, of those that need another one than ``enrich``."""


_NAMED: Final = 12
"""Folders of crawls that are named where the folder with them was given."""


class EnrichError(Exception):
    """Raised where a crawl cannot be enriched; the message tells cause and remedy."""


class MissingLibraryError(EnrichError):
    """Raised where a step that ships rests on a library that is not installed."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What annotators are made for: a crawl's folder, its definition, and the operator's folder of lexicons."""

    crawl: Path
    icd: Icd
    lexicons: Path | None = None


def setting_of(crawl: Path, lexicons: Path | None = None) -> Setting:
    """Return what annotators of a crawl are made for. Raises ``DefinitionError`` and ``EnrichError``."""
    if not (crawl / DEFINITION).is_file():
        inner = sorted(each.parent for each in crawl.glob(f"[!.]*/{DEFINITION}"))
        named = f": {', '.join(map(str, inner[:_NAMED]))}{' ...' if len(inner) > _NAMED else ''}" if inner else ""
        raise EnrichError(f"{crawl}: holds no crawl and no import itself; name the folder of one{named}")
    return Setting(crawl, read_definition(crawl / DEFINITION), lexicons)


@runtime_checkable
class Telling(Protocol):
    """An annotator that says what it goes by, such as which models are missing."""

    def told(self, languages: Mapping[str, int]) -> Iterator[str]:
        """Yield sentences about how it annotates objects of some languages, given with their numbers."""


@dataclass(frozen=True, slots=True)
class EnrichmentStep:
    """An annotator by its name; ``factory`` says where it is made, as entry points do."""

    name: str
    factory: str
    group: str = ANNOTATORS
    source: str = ""

    @property
    def is_of_collection(self) -> bool:
        """Whether it goes by all objects together."""
        return self.group == COLLECTION_ANNOTATORS

    @property
    def goes_by_objects_alone(self) -> bool:
        """Whether it goes by all objects together, and by nothing that other steps say of them."""
        return self.is_of_collection and not self.source and self.name in _BY_OBJECTS_ALONE

    @property
    def is_of_media(self) -> bool:
        """Whether it goes by files, one by one."""
        return self.group == MEDIA_ANNOTATORS

    def annotator(self, setting: Setting) -> Annotator | MediaAnnotator | CollectionAnnotator:
        """Make the annotator, of the sort that the group has. Raise ``EnrichError``."""
        try:
            factory = EntryPoint(self.name, self.factory, self.group).load()
            made = factory(setting=setting) if "setting" in signature(factory).parameters else factory()
            name, version = made.name, made.version
        except ModuleNotFoundError as error:
            if not self.source:
                extra = _EXTRAS.get(self.name, "enrich")
                problem = f"{self.name} is left out: it rests on {error.name}, which is not installed"
                raise MissingLibraryError(f"{problem}; pip install 'aahcrawler[{extra}]' adds it") from error
            raise EnrichError(f"the step {self.name}{self.source} lacks {error.name}; install that") from error
        except Exception as error:  # A third party's code may raise anything.
            if not self.source and isinstance(error, ValueError | OSError):
                told = f"the step {self.name} cannot be made: {error}"
                raise EnrichError(f"{told}; mend that, or leave the step out with --steps") from error
            problem = f"the step {self.name}{self.source} cannot be made ({type(error).__name__}: {error})"
            raise EnrichError(f"{problem}; mend or remove its distribution, or leave it out with --steps") from error
        if name != self.name or not isinstance(version, str):
            raise EnrichError(f"the step {self.name}{self.source} is called {name!r} by itself; tell its authors")
        return cast("Annotator | MediaAnnotator | CollectionAnnotator", made)


def all_steps() -> tuple[EnrichmentStep, ...]:
    """Return all steps in the order in which they are done: those that go by all objects come last.

    A step of another distribution with the name of one that ships is left out.
    """
    found: dict[str, EnrichmentStep] = {}
    for group, shipped in SHIPPED.items():
        for name, factory in shipped.items():
            found[name] = EnrichmentStep(name, factory, group)
        for entry in sorted(entry_points(group=group), key=lambda each: (each.name, each.value)):
            source = f" of the distribution {entry.dist.name}" if entry.dist else ""
            found.setdefault(entry.name, EnrichmentStep(entry.name, entry.value, group, source))
    return tuple(sorted(found.values(), key=lambda step: step.is_of_collection))


def chosen_steps(names: Sequence[str]) -> tuple[EnrichmentStep, ...]:
    """Return the steps of some names in the order in which they are done; without any, all that need not be asked for.

    Raise ``EnrichError``.
    """
    known = {step.name: step for step in all_steps()}
    unknown = sorted(set(names) - known.keys())
    if unknown:
        raise EnrichError(f"there is no step {', '.join(unknown)}; there are {', '.join(known)}")
    chosen = set(names) or known.keys() - ASKED_FOR.keys()
    return tuple(step for step in known.values() if step.name in chosen)
