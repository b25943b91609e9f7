"""The Intelligent Crawl Definition as a whole: loading, checking, comparing."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Self

import yaml
from pydantic import AfterValidator, Field, PrivateAttr

from online_analysis.icd.capture_sources import Captures
from online_analysis.icd.field_paths import flat
from online_analysis.icd.mistakes import IcdError, Mistake, Section, refuse
from online_analysis.icd.part_loading import Loaded, Place, load_parts
from online_analysis.icd.reference_files import Post
from online_analysis.icd.scoping import Scope
from online_analysis.icd.scoring import ANALYSERS, Scoring
from online_analysis.icd.sections import (
    Archive,
    BrowserSection,
    Event,
    FolderName,
    Limits,
    Line,
    Politeness,
    SessionNetwork,
    TopicWords,
    Traps,
    WebUrl,
)
from online_analysis.icd.source_fields import Sources
from online_analysis.icd.yaml_source import MAX_DEFINITION_LENGTH, Source, read_source
from online_analysis.pair_frequencies import PairFrequencies


def _language_tag(tag: str) -> str:
    if not re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}", tag.strip()):
        raise refuse("is no language tag", "write a code of two or three letters, such as de, nds or pt-BR")
    return tag.strip()


def _folded(text: str) -> str:
    return " ".join(text.split())


Lines = Annotated[tuple[Annotated[Line, Field(max_length=1000)], ...], Field(max_length=100)]
Languages = Annotated[tuple[Annotated[str, AfterValidator(_language_tag)], ...], Field(max_length=100)]


class Metadata(Section):
    """Describes what the crawl collects (Dublin Core terms, ISO 15836-2); the title is the ICD's own.

    It has no effect on the crawl.
    """

    description: Annotated[str, AfterValidator(_folded)] = Field(
        default="", max_length=10_000, examples=["Posts of residents on the flood of May 2024"]
    )
    creator: Lines = Field(default=(), examples=["[Example City Archive]"])
    publisher: Lines = Field(default=(), examples=["[Example City Archive]"])
    rights: Lines = Field(default=(), examples=["[For use in the reading room]"])
    language: Languages = Field(default=(), examples=["[de, nds]"])
    subject: Lines = Field(default=(), examples=["[floods, dikes]"])
    coverage: Lines = Field(default=(), examples=["[Lower Saxony, May 2024]"])

    def terms(self) -> Iterator[tuple[str, str]]:
        """Yield the name of each term with each of its values, by the names in ``dcterms``."""
        if self.description:
            yield "description", self.description
        for name in ("creator", "publisher", "rights", "language", "subject", "coverage"):
            yield from ((name, value) for value in getattr(self, name))


def _contact(text: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63}){1,8}", text):
        return text
    if re.fullmatch(r"https?://[!-~]{3,500}", text):
        return text
    raise refuse(
        "is neither an e-mail address nor a URL", "write where a webmaster reaches you, such as archive@example.org"
    )


def _default_output(data: dict[str, Any]) -> Path:
    return Path("crawls", data.get("id", "unnamed"))


def _default_title(data: dict[str, Any]) -> str:
    return str(data.get("id", ""))


@dataclass(frozen=True, slots=True)
class ReferenceUrl:
    """A reference document on the web and the line of the ICD that names it."""

    url: str
    line: int


class Icd(Section):
    """One crawl as its author defined it. Instances are made by ``load`` or ``parse`` and never change."""

    id: FolderName = Field(examples=["solar-villages"])
    title: Line = Field(default_factory=_default_title, examples=["Solar villages of Germany"])
    operator: Annotated[str, AfterValidator(_folded)] = Field(
        default="", max_length=1000, examples=["Example City Archive"]
    )
    contact: Annotated[str, AfterValidator(_contact)] = Field(examples=["archive@example.org"])
    metadata: Metadata = Field(default=Metadata(), examples=["{subject: [floods, dikes]}"])
    seeds: tuple[WebUrl, ...] = Field(examples=["[https://forum.example.org/]"])
    topic: TopicWords = Field(default=TopicWords(), examples=["{keywords: [solar power, photovoltaics]}"])
    event: Event | None = Field(default=None, examples=["{start: 2024-05-01, end: 2024-05-31}"])
    scope: Scope = Field(default=Scope(), examples=["{sites: anywhere}"])
    sources: Sources = Field(default=Sources(), examples=["{sitemaps: robots}"])
    captures: Captures = Field(default=Captures(), examples=["{sources: [{archive: imports/flood-2013}, live]}"])
    browser: BrowserSection = Field(default=BrowserSection(), examples=["{use: auto}"])
    scoring: Scoring = Field(default=Scoring(), examples=["{update: max}"])
    traps: Traps = Field(default=Traps(), examples=["{pages: 100}"])
    limits: Limits = Field(default=Limits(), examples=["{pages: 10000}"])
    politeness: Politeness = Field(default=Politeness(), examples=["{delay: 2 s}"])
    network: SessionNetwork = Field(default=SessionNetwork(), examples=["{allow_private: false}"])
    archive: Archive = Field(default=Archive(), examples=["{reserve: 1 GB}"])
    output: Path = Field(default_factory=_default_output, examples=["crawls/solar-villages"])

    _source: Source = PrivateAttr(default_factory=lambda: Source(""))
    _texts: Mapping[str, str] = PrivateAttr(default_factory=lambda: MappingProxyType({}))
    _posts: tuple[Post, ...] = PrivateAttr(default=())
    _pairs: PairFrequencies | None = PrivateAttr(default=None)
    _files: tuple[str, ...] = PrivateAttr(default=())
    _unread: tuple[str, ...] = PrivateAttr(default=())

    @classmethod
    def load(cls, path: Path | str, analysers: tuple[str, ...] = ANALYSERS) -> Self:
        """Read an ICD file; ``analysers`` are the names that may have weights, besides those of installed plug-ins.

        Reference documents, host lists and postings that are files are read as well, relative to the ICD. Raises
        IcdError with every mistake found.
        """
        try:
            with Path(path).open("rb") as file:
                content = file.read(MAX_DEFINITION_LENGTH + 1)
        except (OSError, ValueError) as error:
            problem = f"cannot be read ({getattr(error, 'strerror', None) or error})"
            raise IcdError([Mistake(str(path), 1, "", problem, "give the path of an ICD file")]) from None
        return cls.parse(content, Path(path), analysers)

    @classmethod
    def parse(
        cls,
        content: bytes,
        file: Path = Path("icd.yaml"),
        analysers: tuple[str, ...] = ANALYSERS,
        place: Place | None = None,
    ) -> Self:
        """Read an ICD from its bytes; ``file`` names it in messages, and relative paths start from its folder.

        With ``place``, the files that the ICD names are looked up there and nowhere else; files that it refuses to open
        are left out, and listed in ``unread_files``.
        """
        source = read_source(content, str(file))
        loaded: Loaded[Self] = load_parts(
            cls, source, file.parent, analysers, place, lambda icd: icd.relevant_at is not None
        )
        icd = loaded.definition
        icd._source, icd._texts = source, MappingProxyType(dict(loaded.texts))  # noqa: SLF001 - still being made
        icd._posts, icd._files = loaded.posts, loaded.files  # noqa: SLF001 - still being made
        icd._unread, icd._pairs = loaded.unread, loaded.pairs  # noqa: SLF001 - still being made
        return icd

    @property
    def starts(self) -> tuple[str, ...]:
        """The URLs that a crawl begins with: its seeds, and the first page of each query to a SPARQL endpoint."""
        return *self.seeds, *self.queries.values()

    @property
    def queries(self) -> Mapping[str, str]:
        """The first page of each query to a SPARQL endpoint, by the endpoint's URL and the place of the query."""
        return {f"{each.endpoint}#query-{place}": each.url() for place, each in enumerate(self.sources.sparql, 1)}

    @property
    def file_names(self) -> tuple[str, ...]:
        """The names, as in the ICD, of the files that were read for it: reference documents, postings, host lists."""
        return self._files

    @property
    def relevant_at(self) -> float | None:
        """The score from which a page counts as relevant; None for a crawl without a topic.

        Such a crawl collects whole sites: no page has a score, and links are followed in the order of their structure.
        """
        subject = self.topic.has_words or self.event is not None
        weights = self.scoring.weights
        return self.scoring.relevant if subject or any(weights[name] for name in weights.keys() - ANALYSERS) else None

    def doubts(self) -> Iterator[str]:
        """Yield warnings about settings that are valid but probably not intended, with what to set instead."""
        scoring, relevance = self.scoring, self.scoring.relevance
        if relevance is None or relevance.combination != "linear" or self.event is None:
            return
        by_time = 1 - relevance.alpha
        if by_time and scoring.relevant <= by_time and self.relevant_at is not None:
            yield (
                f"scoring.relevant: with `combination: linear` and an alpha of {relevance.alpha:g} each page of the"
                f" event's time has {by_time:g}, whatever it is about, so that from {scoring.relevant:g} on nearly all"
                f" are relevant; set it above {by_time:g}, or write `combination: gated`"
            )

    @property
    def unread_files(self) -> tuple[str, ...]:
        """The files that the ICD names but that were not opened, so that their content is unknown."""
        return self._unread

    @property
    def file_texts(self) -> Mapping[str, str]:
        """The plain text of each reference document that is a file, by its name in the ICD."""
        return self._texts

    @property
    def posts(self) -> tuple[Post, ...]:
        """The social postings of the file ``topic.posts``; empty if the ICD was restored from ``meaning``."""
        return self._posts

    @property
    def pairs(self) -> PairFrequencies | None:
        """The pairs of words of the file ``scoring.relevance.bigrams``; None without one.

        Also None if the ICD was restored from ``meaning``.
        """
        return self._pairs

    def document_urls(self) -> tuple[ReferenceUrl, ...]:
        """Return the reference documents that must be fetched."""
        return tuple(
            ReferenceUrl(name, self._source.line(("topic", "documents", position)))
            for position, name in enumerate(self.topic.documents)
            if name not in self._texts
        )

    def document_mistake(self, url: str, problem: str) -> Mistake:
        """Return the mistake for a reference document that could not be read.

        ``problem`` completes "the document ...".
        """
        position = self.topic.documents.index(url)
        advice = "check the URL, or save the page and name the file"
        return self._source.mistake(("topic", "documents", position), problem, advice)

    def target_mistake(self, problem: str, advice: str) -> Mistake:
        """Return the mistake for a delivery URL that cannot be used on this machine."""
        return self._source.mistake(("archive", "target"), problem, advice)

    def archive_mistake(self, source: int, problem: str, advice: str) -> Mistake:
        """Return the mistake for an archive that cannot be used on this machine, by the number of its source."""
        return self._source.mistake(("captures", "sources", source, "archive"), problem, advice)

    def network_mistake(self, path: tuple[str | int, ...], problem: str, advice: str) -> Mistake:
        """Return the mistake for an unusable secret, certificate or file of cookies, at its path below ``network``."""
        return self._source.mistake(("network", *path), problem, advice)

    def analyser_mistake(self, name: str, problem: str, advice: str) -> Mistake:
        """Return the mistake for an analyser that the ICD weighs and that cannot be used on this machine."""
        return self._source.mistake(("scoring", "weights", name), problem, advice)

    def model_mistake(self, problem: str, advice: str) -> Mistake:
        """Return the mistake for a model for entities that cannot be used on this machine."""
        return self._source.mistake(("scoring", "entity_model"), problem, advice)

    def user_agent(self) -> str:
        """Return the value of the User-Agent header: one line of printable ASCII with the operator and purpose."""
        return user_agent(self.contact, _header_text(self.operator), _header_text(self.title))

    def meaning(self) -> dict[str, str]:
        """Return every field by its path, as JSON text, independently of the order of lists, comments and spelling.

        The texts of reference files and postings are included; how the archive is described and stored is not. Two ICDs
        that define the same crawl have the same meaning, and the mapping can be stored as JSON beside a crawl.
        """
        fields = self.model_dump(mode="json", exclude={"archive", "metadata", "output"})
        texts = {name: _digest(text) for name, text in self._texts.items()}
        if self._posts:
            texts[self.topic.posts] = _digest("\n".join(sorted(map(repr, self._posts))))
        if self._pairs is not None and self.scoring.relevance is not None:
            texts[self.scoring.relevance.bigrams] = _digest("\n".join(self._pairs.lines()))
        digests = {f"file.{name}": json.dumps(digest) for name, digest in texts.items()} or {"file": "{}"}
        return dict(sorted((*flat(type(self), fields), *digests.items())))

    def fingerprint(self) -> str:
        """Return a digest of ``meaning``, equal on every machine and in every version that has the same fields."""
        return hashlib.sha256(json.dumps(self.meaning(), sort_keys=True).encode()).hexdigest()

    def to_yaml(self) -> str:
        """Write the ICD with every field. ``parse`` beside the same files returns an equal ICD."""
        fields = self.model_dump(mode="json", exclude_none=True)
        return yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=110)


def changes(old: Icd | Mapping[str, str], new: Icd | Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths of the fields in which two ICDs, or two results of ``Icd.meaning``, differ.

    A field that is missing, because an older version did not have it, counts as having its default.
    """
    before = old.meaning() if isinstance(old, Icd) else old
    after = new.meaning() if isinstance(new, Icd) else new
    plain = _plain_meaning()
    return tuple(
        sorted(
            path for path in {*before, *after} if before.get(path, plain.get(path)) != after.get(path, plain.get(path))
        )
    )


@cache
def _plain_meaning() -> Mapping[str, str]:
    """Return the meaning of an ICD with all optional fields left out."""
    return Icd.parse(
        b"id: plain\ncontact: a@b.example\nseeds: ['http://a.example/']\ntopic: {keywords: [plain]}\n"
    ).meaning()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _header_text(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return " ".join(re.sub(r"[^ -~]|[()\\;<>\"]", " ", plain).split())[:100].strip()


PRODUCT: Final = "AAHCrawler"
"""The crawler's name for robots.txt: the first word of every User-Agent (RFC 9309, section 2.2.1)."""


def user_agent(contact: str, *about: str) -> str:
    """Return the User-Agent header for a crawler whose operator ``contact`` reaches, by e-mail or URL; may be empty.

    >>> user_agent("me@example.org").partition(" ")[2]
    '(+me@example.org)'
    """
    parts = filter(None, (contact and f"+{contact}", *about))
    told = "; ".join(parts)
    return f"{PRODUCT}/{_version()}{told and f' ({told})'}"


@cache
def _version() -> str:
    return version("aahcrawler")


class Part(StrEnum):
    """A part of the crawl that a change affects."""

    LIMITS = "limits"
    POLITENESS = "politeness"
    SCOPE = "scope"
    """Which links are wanted, for whatever reason they are refused."""
    WEIGHTS = "weights"


_PARTS = {
    "limits": Part.LIMITS,
    "politeness": Part.POLITENESS,
    "scope": Part.SCOPE,
    "traps": Part.SCOPE,
    "scoring.spam_hosts": Part.SCOPE,
    "scoring.weights": Part.WEIGHTS,
}
_FIXED = frozenset({"limits.page_bytes", "politeness.timeout"})
"""Fields of these sections that cannot change, because open connections use them."""


@dataclass(frozen=True, slots=True)
class Redefinition:
    """The definition of a running crawl after applying changes of a new one.

    ``taken`` and ``left`` are the paths of the fields that differ and were applied or not; ``parts`` are the parts of
    the crawl affected by applied changes.
    """

    icd: Icd
    taken: tuple[str, ...]
    left: tuple[str, ...]

    @property
    def parts(self) -> frozenset[Part]:
        """The parts of the crawl affected by the applied changes."""
        return parts(self.taken)


def part(path: str) -> Part | None:
    """Return the part of the crawl that a field affects; None if the field must not change while the crawl runs.

    >>> part("scope.deny"), part("politeness.domains.example.org.delay"), part("seeds")
    (<Part.SCOPE: 'scope'>, <Part.POLITENESS: 'politeness'>, None)
    """
    if path in _FIXED:
        return None
    return next((part for name, part in _PARTS.items() if path == name or path.startswith(f"{name}.")), None)


def parts(paths: Iterable[str]) -> frozenset[Part]:
    """Return all parts of the crawl that fields affect."""
    return frozenset(found for path in paths if (found := part(path)) is not None)


def redefined(running: Icd, wanted: Icd) -> Redefinition:
    """Return the definition of a running crawl that is given ``wanted``, with the changes that were applied or not.

    Mistakes that are found in it later are reported for the file of ``wanted``.
    """
    limits = wanted.limits.model_copy(update={"page_bytes": running.limits.page_bytes})
    politeness = wanted.politeness.model_copy(update={"timeout": running.politeness.timeout})
    taken = {"weights": wanted.scoring.weights, "spam_hosts": wanted.scoring.spam_hosts}
    scoring = running.scoring.model_copy(update=taken)
    sections = {"limits": limits, "politeness": politeness, "scope": wanted.scope, "traps": wanted.traps}
    icd = running.model_copy(update={**sections, "scoring": scoring})
    icd._source = wanted._source  # noqa: SLF001 - still being made
    return Redefinition(icd, changes(running, icd), changes(icd, wanted))
