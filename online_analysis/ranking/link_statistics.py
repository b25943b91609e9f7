"""The links seen to one URL, and the row of features made from them."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from online_analysis.aggregation import ScoredLink, Weighed
from online_analysis.document import Document, Outlink
from online_analysis.terms import tokenize

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_STEPS = 15
_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Row:
    """The known values of one page, in some columns, zero in all others. A column may come twice."""

    columns: NDArray[np.int32]
    values: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Rows:
    """Concatenated rows: ``owners`` gives the row of each entry."""

    n: int
    columns: NDArray[np.integer]
    values: NDArray[np.floating]
    owners: Integers

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Rows":
        """Put rows together, at least one."""
        columns = [row.columns for row in rows]
        owners = np.arange(len(rows)).repeat(list(map(len, columns)))
        return cls(len(rows), np.concatenate(columns), np.concatenate([row.values for row in rows]), owners)

    def times(self, weights: Floats) -> Floats:
        """Return the product of each row with the weights of all columns."""
        return _sums(self.owners, self.values * weights.take(self.columns), self.n)


class Weights:
    """The weight of each of many columns; zero before training."""

    def __init__(self, columns: int) -> None:
        self.all: Floats = np.zeros(columns)
        self._set: NDArray[np.integer] = np.zeros(0, np.int64)

    def replace(self, columns: NDArray[np.integer], values: Floats) -> None:
        """Give some columns these values, and all others zero."""
        self.all[self._set] = 0.0
        self.all[columns] = values
        self._set = columns


class Ridge:
    """Fits weights for the columns of rows, repeatedly for the same rows with different targets."""

    def __init__(self, rows: Rows, penalty: float) -> None:
        self._columns, places = np.unique(rows.columns, return_inverse=True)
        self._rows = Rows(rows.n, places, rows.values.astype(np.float64), rows.owners)
        self._penalty = penalty

    def fit(self, targets: Floats, weights: Weights) -> None:
        """Set the weights that minimise ``|rows * w - targets|^2 + penalty * |w|^2``.

        The search starts from the present weights. It ends after fifteen steps, so the result may be short of the
        minimum where there are many rows; the next call continues from there.
        """
        weights.replace(self._columns, self._descend(targets, weights.all[self._columns]))

    def _descend(self, targets: Floats, start: Floats) -> Floats:
        found = start
        residual = self._back(targets - self._rows.times(found)) - self._penalty * found
        direction, size = residual, float(residual @ residual)
        enough = _TOLERANCE * max(size, 1e-12)
        for _ in range(_STEPS):
            if size <= enough:
                break
            image = self._back(self._rows.times(direction)) + self._penalty * direction
            step = size / float(direction @ image)
            found = found + step * direction
            residual = residual - step * image
            former, size = size, float(residual @ residual)
            direction = residual + size / former * direction
        return found

    def _back(self, values: Floats) -> Floats:
        rows = self._rows
        return _sums(rows.columns, rows.values * values.take(rows.owners), len(self._columns))


def _sums(places: NDArray[np.integer], values: Floats, n: int) -> Floats:
    return np.bincount(places, values, n).astype(np.float64, copy=False)


COLUMNS = 1 << 20
"""The number of columns: so many that two features of one crawl seldom share one."""

Columns = tuple[int, ...]

_CACHED = 20_000
MAX_TEXT_LENGTH = 300
"""The characters of a title, and of the text around a link, that are looked at."""
_MAX_FEATURE_WORDS = 40
_MAX_STEPS = 8
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NUMBER = re.compile(r"\d+")


def column(group: str, name: str) -> int:
    """Return the column of a feature.

    >>> column("word", "solar") == column("word", "solar") != column("step", "solar")
    True
    """
    return crc32(f"{group}\n{name}".encode("utf-8", "surrogatepass")) % COLUMNS


@lru_cache(_CACHED)
def text_words(text: str) -> Columns:
    """Return the columns of the different words of the text around a link, of the first forty; numbers are one word."""
    return _words("text", text)


@lru_cache(_CACHED)
def title_words(title: str) -> Columns:
    """Return the columns of the different words of the title of a page that links."""
    return _words("title", title)


def url_words(url: str) -> Columns:
    """Return the columns of the different words of a URL, its host left out."""
    _, path, query = split(url)
    text = unquote(f"{path} {query}", errors="replace") if "%" in url else f"{path} {query}"
    return _words("address", text.replace("_", " "))


def url_steps(url: str) -> Columns:
    """Return the columns of a URL's location: its host, each folder on its path, and the shape of the remainder.

    The shape is the last step with its digits as one, and the names in the query: ``viewtopic.php?f&t``.
    """
    host, path, query = split(url)
    folders, _, last = path.rpartition("/")
    shape = f"{host}//{_NUMBER.sub('0', last)}?{_names(query) if query else ''}"
    return _distinct((*_folders(host, folders), column("step", shape)))


@lru_cache(_CACHED)
def _folders(host: str, path: str) -> Columns:
    """Return the columns of a host, and of each folder on a path."""
    folders = path.split("/")[1:]
    steps = [host, ".".join(host.split(".")[-2:])]
    steps += [f"{host}/{'/'.join(folders[:n])}" for n in range(1, min(len(folders), _MAX_STEPS) + 1)]
    return tuple([column("step", step) for step in steps])


def _names(query: str) -> str:
    """Return the names of parameters, in order."""
    if "%" in query or "+" in query:
        names = {name for name, _ in parse_qsl(query, keep_blank_values=True)}
    else:
        names = {parameter.partition("=")[0] for parameter in query.split("&") if parameter}
    return "&".join(sorted(names))


def _words(group: str, text: str) -> Columns:
    return _distinct([_word(group, word) for word in tokenize(_HUMP.sub(" ", text[:MAX_TEXT_LENGTH]))])


@lru_cache(_CACHED)
def _word(group: str, word: str) -> int:
    return column(group, _NUMBER.sub("0", word))


def _distinct(columns: Iterable[int]) -> Columns:
    return tuple(dict.fromkeys(columns))[:_MAX_FEATURE_WORDS]


_MAX_LINKS = 24
"""The most links to one URL of which anything is kept, the first ones: every page links to the targets of a menu."""
_MAX_WORDS = 60
_GROWTH = 1.5
_MAX_DEPTH = 8

SCALES: Mapping[str, float] = {
    "URL words": 1.0,
    "URL steps": 1.0,
    "texts": 1.0,
    "titles": 1.0,
    "pages": 1.0,
    "lists": 1.0,
    "places": 1.0,
    "figures": 2.0,
}
"""The prior spread of the effect of each group of features: figures hold of all links, so they tell sooner."""
_FIGURES = ("worth of pages", "best page", "links", "score of links", "best link", "named as a hub")
_FIGURE_COLUMNS = np.array([column("figure", name) for name in _FIGURES], np.int32)


class Seen(NamedTuple):
    """A link to a URL, as features."""

    page: int
    list: int
    places: Columns
    text: Columns
    title: Columns
    relevance: float


class Group(NamedTuple):
    """Features of one kind: columns, and the value in each."""

    columns: Sequence[int]
    values: Sequence[float]


@dataclass(slots=True, eq=False)
class LinkStatistics:
    """A URL and the links to it; ``value`` is its known or predicted worth, in the ranker's units.

    ``analyser_mean`` is the mean of the analysers' scores of the links, and ``weight`` their weight. ``score`` is the
    prediction, None as long as there is none; ``told`` is the score in the frontier, after the last ``offers`` offers.
    ``is_explored`` says that it is to be fetched whatever its predicted worth. ``made`` is its cached row of features,
    None where so many links are missing in it that it has to be recomputed: the more links a URL has, the less one more
    changes.
    """

    url: str
    value: float = 0.0
    analyser_mean: float = 0.0
    weight: float = 0.0
    is_hub: bool = False
    score: float | None = None
    told: float | None = None
    offers: int = 1
    is_explored: bool = False
    _pages: list[int] = field(default_factory=list)
    _lists: list[int] = field(default_factory=list)
    _texts: dict[int, None] = field(default_factory=dict)
    _titles: dict[int, None] = field(default_factory=dict)
    _places: dict[int, None] = field(default_factory=dict)
    _relevance: float = 0.0
    _best_page: float = 0.0
    _best_link: float = 0.0
    _url_columns: tuple[Columns, Columns] | None = None
    made: Row | None = None
    _rowed: int = 0

    @property
    def is_linked(self) -> bool:
        """Return whether any link to the URL has been seen: seeds may have none."""
        return bool(self._pages)

    @property
    def is_full(self) -> bool:
        """Return whether no more links to the URL are kept."""
        return len(self._pages) >= _MAX_LINKS

    def add(self, seen: Seen, link: ScoredLink) -> None:
        """Record another link to the URL; the first one decides whether it is named as hubs are."""
        n = len(self._pages) + 1
        if n == 1:
            self.is_hub = leads_to_hub(link.url, link.anchor)
        if n > _MAX_LINKS:
            return
        self._pages.append(seen.page)
        self._lists.append(seen.list)
        self._texts.update(dict.fromkeys(seen.text))
        self._titles.update(dict.fromkeys(seen.title))
        self._places.update(dict.fromkeys(seen.places))
        self._relevance += (seen.relevance - self._relevance) / n
        self.analyser_mean += (link.score - self.analyser_mean) / n
        self._best_page = max(self._best_page, seen.relevance)
        self._best_link = max(self._best_link, link.score)
        self.weight = max(self.weight, link.weight)
        if n > self._rowed * _GROWTH:
            self.made = None

    def reweigh(self, now: Weighed) -> None:
        """Take over the scores of the links under other weights, and the score in the frontier."""
        self.analyser_mean, self.weight, self.told, self.offers = now.analyser_mean, now.weight, now.score, 1
        self.made = None

    def forget(self) -> None:
        """Drop the features of a URL that will not be fetched.

        It counts as worth nothing for the pages that link to it.
        """
        for each in (self._pages, self._lists, self._texts, self._titles, self._places):
            each.clear()
        self.value, self.score, self.made, self._url_columns = 0.0, None, None, None

    def row(self, unit: float) -> Row:
        """Return its features as a row; worths are counted in units of ``unit``."""
        row = self.made
        if row is None:
            groups = self._columns()
            columns = np.array([*chain.from_iterable([found for _, found in groups])], np.int32)
            values = [_shares(name, len(found)) for name, found in groups]
            if self._pages:
                columns = np.concatenate([columns, _FIGURE_COLUMNS])
                values.append(np.array(self._figures(unit), np.float32))
            row = self.made = Row(columns, np.concatenate(values))
            self._rowed = len(self._pages)
        return row

    def groups(self, unit: float) -> Mapping[str, Group]:
        """Return its features by groups."""
        groups = {name: Group(found, _shares(name, len(found)).tolist()) for name, found in self._columns()}
        if not self._pages:
            return groups
        return {**groups, "figures": Group(_FIGURE_COLUMNS.tolist(), self._figures(unit))}

    def _columns(self) -> list[tuple[str, Sequence[int]]]:
        if self._url_columns is None:
            self._url_columns = url_words(self.url), url_steps(self.url)
        words, steps = self._url_columns
        found: list[tuple[str, Sequence[int]]] = [("URL words", words), ("URL steps", steps)]
        if self._pages:
            found.append(("texts", list(self._texts)[:_MAX_WORDS]))
            found.append(("titles", list(self._titles)[:_MAX_WORDS]))
            found.append(("pages", self._pages))
            found.append(("lists", self._lists))
            found.append(("places", list(self._places)[:_MAX_WORDS]))
        return found

    def _figures(self, unit: float) -> Sequence[float]:
        figures = (
            self._relevance / unit,
            self._best_page / unit,
            0.2 * math.log1p(len(self._pages)),
            self.analyser_mean / unit,
            self._best_link / unit,
            float(self.is_hub),
        )
        return [SCALES["figures"] * figure for figure in figures]


def rows_of(sightings: Iterable[LinkStatistics], unit: float) -> Rows:
    """Return the features of URLs, at least one; worths are counted in units."""
    return Rows.of([each.made or each.row(unit) for each in sightings])


class View:
    """The features that a page contributes to each of its links."""

    def __init__(self, document: Document, relevance: float, depth: int) -> None:
        self._document = document
        self._relevance = relevance
        self._page = column("page", document.url)
        self._depth = column("depth", str(min(depth, _MAX_DEPTH)))
        self._title = title_words(document.title)
        self._places: dict[tuple[str, str, str], tuple[int, Columns]] = {}

    def of(self, link: Outlink) -> Seen:
        """Return the sighting of a link."""
        role = self._document.parts[link.part].role if link.part is not None else ""
        place = (link.place, link.action or "", role)
        known = self._places.get(place)
        if known is None:
            known = self._places[place] = self._stands(*place)
        text = text_words(link.context or link.anchor)
        return Seen(self._page, known[0], known[1], text, self._title, self._relevance)

    def _stands(self, place: str, action: str, role: str) -> tuple[int, Columns]:
        document = self._document
        chosen = column("action", f"{document.application}/{document.level} {action} {role}")
        return column("list", f"{document.url} {place}"), (column("place", place), chosen, self._depth)


@lru_cache(1_000)
def _shares(name: str, n: int) -> NDArray[np.float32]:
    """Scale the ``n`` features of a group, so that the size of a group does not change its weight."""
    return np.full(n, SCALES[name] / math.sqrt(max(1, n)), np.float32)


_NAMES = """
    index | site index | sitemap | site map | contents | table of contents | toc | a-z | a to z | a-z index
    all pages | all articles | all topics | list of pages | list of articles | full index | subject index
    inhaltsverzeichnis | inhalt | stichwortverzeichnis | sachregister | seitenübersicht | seitenverzeichnis
    alle seiten
    sommaire | plan du site | table des matières | toutes les pages | tous les articles
    índice | mapa del sitio | mapa web | tabla de contenidos | todas las páginas | sumario
    indice | mappa del sito | sommario | tutte le pagine
    mapa do site | sumário | tabela de conteúdos | todas as páginas
    inhoud | inhoudsopgave | trefwoordenregister | alle pagina's
    spis treści | mapa strony | indeks | wszystkie strony
    innehåll | innehållsförteckning | webbkarta | webbplatskarta | alla sidor
    indhold | indholdsfortegnelse | alle sider | innhold | innholdsfortegnelse | nettstedskart
    hakemisto | sisällysluettelo | sisällys | sivukartta | kaikki sivut
    obsah | mapa stránek | mapa stránok | rejstřík | všechny stránky
    tartalomjegyzék | oldaltérkép | cuprins | harta site-ului | kazalo | sadržaj | mapa sajta
    ευρετήριο | περιεχόμενα | χάρτης ιστοτόπου | χάρτης ιστότοπου | πίνακας περιεχομένων
    содержание | оглавление | указатель | карта сайта | все страницы | зміст | мапа сайту | съдържание | карта на сайта
    dizin | içindekiler | site haritası | mục lục | sơ đồ trang | daftar isi | peta situs
    فهرس | الفهرس | خريطة الموقع | المحتويات | فهرست | نقشه سایت | מפת האתר | תוכן העניינים | אינדקס
    目录 | 目錄 | 索引 | 网站地图 | 網站地圖 | 站点地图 | 目次 | サイトマップ | 목차 | 색인 | 사이트맵 | 사이트 맵
"""
_HUBS = frozenset(" ".join(re.findall(r"\w+", name.casefold())) for name in re.split(r"[|\n]", _NAMES) if name.strip())
_MAX_WORD_LENGTH = 60
_WORD = re.compile(r"\w+")
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{2,5}$")


def leads_to_hub(url: str, anchor: str) -> bool:
    """Return whether a link's text, or the last step of its path, is a usual name of a list of a site's contents.

    Names of many languages are known. ``index.html`` and the like do not count, as servers use them for any page of a
    folder. With a query, a URL is one of many, so only the anchor counts.

    >>> leads_to_hub("https://example.org/docs/Index", "The index"), leads_to_hub("https://example.org/p/7", "Site map")
    (True, True)
    >>> leads_to_hub("https://example.org/index.php?topic=7", "Solar power")
    False
    """
    return _is_name(anchor) or _is_named_so(url)


@lru_cache(10_000)
def _is_name(text: str) -> bool:
    return len(text) <= _MAX_WORD_LENGTH and " ".join(_WORD.findall(text.casefold())) in _HUBS


def _is_named_so(url: str) -> bool:
    _, path, query = split(url)
    step = path.rstrip("/").rpartition("/")[2]
    if query or not step or step.lower().startswith("index."):
        return False
    step = unquote(step, errors="replace") if "%" in step else step
    return _is_name(_EXTENSION.sub("", step).replace("_", " "))


class UrlParts(NamedTuple):
    """The host of a URL in small letters, without user and port; its path, and its query."""

    host: str
    path: str
    query: str


@lru_cache(1_000)
def split(url: str) -> UrlParts:
    """Take a URL apart. Canonical ones, which links have, need no parser; others get one.

    >>> split("http://a.test:8080/b/c?d=e")
    UrlParts(host='a.test', path='/b/c', query='d=e')
    """
    scheme, _, rest = url.partition("://")
    beside, _, query = rest.partition("?")
    host, slash, path = beside.partition("/")
    name, _, port = host.partition(":")
    is_plain = scheme in ("http", "https") and "#" not in rest and (port.isdigit() or name == host)
    if not (is_plain and name.replace(".", "").replace("-", "").isalnum() and url.isascii() and url.isprintable()):
        parts = urlsplit(url)
        return UrlParts(parts.hostname or "", parts.path, parts.query)
    return UrlParts(name.lower(), slash + path, query)
