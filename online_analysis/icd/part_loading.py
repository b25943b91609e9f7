"""Read all parts of an ICD and the files it names, so that all mistakes are found at once."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from online_analysis.icd.capture_sources import BY_EVENT
from online_analysis.icd.explanations import mistakes_of
from online_analysis.icd.mistakes import FieldPath, IcdError, Mistake
from online_analysis.icd.reference_files import (
    MissingModelError,
    Post,
    ReferenceFileError,
    find_model,
    plugin_names,
    read_bytes,
    read_hosts,
    read_posts,
    read_reference,
)
from online_analysis.icd.scoping import Facts, Scope, ScopeRules
from online_analysis.icd.sections import TopicWords, WebUrl
from online_analysis.icd.yaml_source import Source, Value
from online_analysis.pair_frequencies import PairFrequencies, PairsError
from online_analysis.terms import Lexicon
from online_analysis.url_patterns import UrlPattern, first_match

Definition = TypeVar("Definition", bound=BaseModel)
_SEEDS: TypeAdapter[tuple[str, ...]] = TypeAdapter(tuple[WebUrl, ...])
_TOPIC = TypeAdapter(TopicWords)
_SCOPE = TypeAdapter(Scope)
_T = TypeVar("_T")
_USELESS = "single letters, punctuation and words such as 'the' do not count"


Place = Callable[[str], Path]
"""Returns the path of a file that an ICD names; raises ``UnreadFileError`` for a file that must not be opened."""


class UnreadFileError(Exception):
    """Raised for a file that an ICD names and that must not be opened; this is no mistake."""


@dataclass(frozen=True, slots=True)
class Loaded(Generic[Definition]):
    """A definition without mistakes, the texts of its reference files by name, its postings, and its pairs of words.

    ``files`` are the names of all files that were read for it, ``unread`` those of files that were not opened.
    """

    definition: Definition
    texts: Mapping[str, str] = field(default_factory=dict)
    posts: tuple[Post, ...] = ()
    pairs: PairFrequencies | None = None
    files: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def load_parts(
    model: type[Definition],
    source: Source,
    folder: Path,
    analysers: tuple[str, ...],
    place: Place | None,
    has_subject: Callable[[Definition], bool],
) -> Loaded[Definition]:
    """Validate a source and the files it names; raise IcdError with all mistakes, including those across fields.

    ``place`` says where the files are; without it they are relative to ``folder``.
    """
    check = _Check(source, folder, place or folder.joinpath)
    data = check.without_empty_values(source.data)
    check.read_spam_hosts(data)
    check.find_entity_model(data)
    check.find_archives(data)
    check.beginning(data)
    definition = None
    try:
        definition = model.model_validate(data, context={"analysers": _with_plugins(analysers, data)})
    except ValidationError as error:
        check.mistakes += mistakes_of(error, model, source)
    topic, scope, seeds = (
        _valid(_TOPIC, data.get("topic", {})),
        _valid(_SCOPE, data.get("scope", {})),
        _valid(_SEEDS, data.get("seeds")),
    )
    texts = check.topic(topic, scope.languages if scope else ()) if topic else {}
    if definition is not None and topic and scope and not has_subject(definition):
        check.whole_sites(topic, scope)
    if seeds and scope:
        check.seeds(seeds, scope)
    check.snapshot(data)
    posts = check.posts(data)
    pairs = check.pairs(data)
    if check.mistakes or definition is None:
        raise IcdError(check.mistakes)
    return Loaded(definition, texts, posts, pairs, tuple(check.files), tuple(check.unread))


def _with_plugins(analysers: tuple[str, ...], data: Mapping[str, Value]) -> tuple[str, ...]:
    """Add the analysers of plug-ins if the ICD weighs an unknown one, because searching for plug-ins takes time."""
    scoring = data.get("scoring")
    weights = scoring.get("weights") if isinstance(scoring, dict) else None
    if not isinstance(weights, dict) or set(weights) <= set(analysers):
        return analysers
    return tuple(dict.fromkeys((*analysers, *plugin_names())))


def _valid(adapter: TypeAdapter[_T], value: Value) -> _T | None:
    try:
        return adapter.validate_python(value)
    except ValidationError:
        return None


class _Check:
    """Collects the mistakes of one source."""

    def __init__(self, source: Source, folder: Path, place: Place) -> None:
        self._source = source
        self._folder = folder
        self._place = place
        self.files: dict[str, None] = {}
        self.unread: dict[str, None] = {}
        self.mistakes: list[Mistake] = list(source.mistakes)

    def without_empty_values(self, data: Mapping[str, Value]) -> dict[str, Value]:
        """Remove fields without a value, so that they have their defaults."""
        kept: dict[str, Value] = {}
        for name, value in data.items():
            if isinstance(value, dict):
                kept[name] = self.without_empty_values(value)
            elif value is not None:
                kept[name] = value
        return kept

    def read_spam_hosts(self, data: dict[str, Value]) -> None:
        """Replace the name of a host list by the hosts in that file."""
        scoring = data.get("scoring")
        if not isinstance(scoring, dict) or not isinstance(name := scoring.get("spam_hosts"), str):
            return
        try:
            scoring["spam_hosts"] = list(read_hosts(self._file(name)))
        except ReferenceFileError as error:
            del scoring["spam_hosts"]
            advice = "name a text file with one host a line, beside the ICD, or list the hosts here"
            self._add(("scoring", "spam_hosts"), f"the file '{name}' {error}", advice)
        except UnreadFileError:
            del scoring["spam_hosts"]

    def find_entity_model(self, data: Mapping[str, Value]) -> None:
        """Report a model that is not installed; replace the name of a folder by its absolute path."""
        scoring = data.get("scoring")
        name = scoring.get("entity_model") if isinstance(scoring, dict) else None
        if not isinstance(scoring, dict) or not isinstance(name, str) or not name.strip():
            return
        try:
            self._place(name)
            scoring["entity_model"] = find_model(name.strip(), self._folder)
        except UnreadFileError:
            self.unread[name] = None
        except MissingModelError as error:
            self._add(("scoring", "entity_model"), error.problem, error.advice)

    def find_archives(self, data: Mapping[str, Value]) -> None:
        """Report missing archives; replace the paths of the others by absolute ones."""
        captures = data.get("captures")
        sources = captures.get("sources") if isinstance(captures, dict) else None
        for position, source in enumerate(sources if isinstance(sources, list) else ()):
            if not isinstance(source, dict):
                continue
            named = source.get("archive", ())
            places = [named] if isinstance(named, str) else named
            if isinstance(places, list):
                path: FieldPath = ("captures", "sources", position, "archive")
                source["archive"] = [
                    self._archive(place, (*path, at) if isinstance(named, list) else path)
                    for at, place in enumerate(places)
                ]

    def _archive(self, name: Value, path: FieldPath) -> Value:
        if not isinstance(name, str):
            return name
        try:
            place = self._place(str(Path(name.strip()).expanduser()))
        except UnreadFileError:
            self.unread[name] = None
            return name
        if not place.exists():
            self._add(path, f"the archive '{name}' does not exist", "name a crawl's folder, or WARC, ARC or WACZ files")
        return str(place.absolute())

    def posts(self, data: Mapping[str, Value]) -> tuple[Post, ...]:
        """Read the social postings; none if no file is named."""
        topic = data.get("topic")
        name = topic.get("posts") if isinstance(topic, dict) else None
        if not isinstance(name, str) or not name.strip():
            return ()
        try:
            read = read_posts(self._file(name.strip()))
        except ReferenceFileError as error:
            advice = "name a file with one JSON object a line, relative to the ICD"
            self._add(("topic", "posts"), f"the file '{name}' {error}", advice)
            return ()
        except UnreadFileError:
            return ()
        self.mistakes += read.mistakes
        return read.posts

    def pairs(self, data: Mapping[str, Value]) -> PairFrequencies | None:
        """Read the pairs of words counted in an archive; None if no file is named."""
        scoring = data.get("scoring")
        relevance = scoring.get("relevance") if isinstance(scoring, dict) else None
        name = relevance.get("bigrams") if isinstance(relevance, dict) else None
        if not isinstance(name, str) or not name.strip():
            return None
        place, advice = ("scoring", "relevance", "bigrams"), "name a file that `aah collection bigrams` has written"
        try:
            return PairFrequencies.parse(read_bytes(self._file(name.strip())).decode("utf-8-sig"))
        except ReferenceFileError as error:
            self._add(place, f"the file '{name}' {error}", advice)
        except UnicodeDecodeError:
            self._add(place, f"the file '{name}' is not UTF-8 text", advice)
        except PairsError as error:
            self._add(place, f"line {error.line} of the file '{name}' {error}", advice)
        except UnreadFileError:
            pass
        return None

    def topic(self, topic: TopicWords, languages: tuple[str, ...]) -> dict[str, str]:
        """Read the reference files; report those without terms, and a topic without any usable term."""
        lexicon = Lexicon()
        texts: dict[str, str] = {}
        for position, name in enumerate(topic.documents):
            if is_web_url(name):
                continue
            if (text := self._reference(name, position)) is not None:
                texts[name] = text
                if not lexicon.has_usable_term(text, languages):
                    advice = "name a document with text about the topic"
                    self._add(("topic", "documents", position), f"the file '{name}' holds no usable term", advice)
        if not topic.has_words:
            return texts
        unusable = [path for path, phrase in _phrases(topic) if not lexicon.has_usable_term(phrase, languages)]
        if topic.documents or len(unusable) < len(topic.keywords) + len(topic.entities):
            for path in unusable:
                self._add(path, "has no usable term", f"add a word that says more, or remove it; {_USELESS}")
        else:
            self._add(("topic",), "has no usable term", f"add keywords that say what the crawl is about; {_USELESS}")
        return texts

    def whole_sites(self, topic: TopicWords, scope: Scope) -> None:
        """Report what a crawl without a subject cannot do, because it would follow every link and learn nothing."""
        advice = "say what the crawl is about under topic (keywords), or remove this"
        if scope.sites == "anywhere":
            self._add(("scope", "sites"), "leads all over the web where the crawl has no subject", advice)
        if topic.reference_crawl:
            self._add(("topic", "reference_crawl"), "has no subject to refine", advice)

    def beginning(self, data: dict[str, Value]) -> None:
        """Take no seeds for an empty list of them where queries to SPARQL endpoints begin the crawl; else report it."""
        sources = data.get("sources")
        if isinstance(sources, dict) and sources.get("sparql"):
            data.setdefault("seeds", [])
        elif data.get("seeds") == []:
            advice = "write at least one URL to begin with, or queries under sources.sparql"
            self._add(("seeds",), "is an empty list", advice)

    def seeds(self, seeds: tuple[str, ...], scope: Scope) -> None:
        """Report seeds that the scope itself would refuse."""
        allow, deny = ([UrlPattern.parse(text) for text in texts] for texts in (scope.allow, scope.deny))
        rules = ScopeRules(scope.rules)
        for position, seed in enumerate(seeds):
            denied = first_match(deny, seed)
            if denied:
                advice = "remove the seed, or make the pattern narrower"
                self._add(("seeds", position), f"is denied by scope.deny ({denied.text})", advice)
            elif allow and not first_match(allow, seed):
                advice = "add a pattern that covers it"
                self._add(("seeds", position), "is not among what scope.allow admits", advice)
            elif (rule := rules.refusal(Facts(seed, at_seeds=True))) is not None:
                advice = "remove the seed, or make the rule narrower"
                self._add(("seeds", position), f"is refused by a rule of scope.rules ({rule})", advice)

    def snapshot(self, data: Mapping[str, Value]) -> None:
        """Report a choice of captures by an event that the ICD does not have."""
        captures = data.get("captures")
        chosen = captures.get("snapshot") if isinstance(captures, dict) else None
        if chosen in BY_EVENT and not data.get("event"):
            self._add(("captures", "snapshot"), "goes by an event, and there is none", "say under event when it was")

    def _reference(self, name: str, position: int) -> str | None:
        try:
            return read_reference(self._file(name))
        except ReferenceFileError as error:
            advice = "name a text or HTML file relative to the ICD, or a URL"
            self._add(("topic", "documents", position), f"the file '{name}' {error}", advice)
        except UnreadFileError:
            pass
        return None

    def _file(self, name: str) -> Path:
        try:
            place = self._place(name)
        except UnreadFileError:
            self.unread[name] = None
            raise
        self.files[name] = None
        return place

    def _add(self, path: FieldPath, problem: str, advice: str) -> None:
        self.mistakes.append(self._source.mistake(path, problem, advice))


def _phrases(topic: TopicWords) -> Iterator[tuple[FieldPath, str]]:
    for kind, phrases in (("keywords", topic.keywords), ("entities", topic.entities)):
        yield from ((("topic", kind, position), phrase) for position, phrase in enumerate(phrases))


def is_web_url(name: str) -> bool:
    """Return whether a reference document is a web page rather than a file."""
    return name.lower().startswith(("http://", "https://"))
