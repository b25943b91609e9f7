"""Sources of URLs besides the links of pages, and the queries that a crawl sends to SPARQL endpoints.

They are sent by GET, page by page (SPARQL 1.1 Protocol, section 2.1.1).
"""

import re
from functools import cached_property
from importlib import import_module
from typing import Annotated, Final, Literal, NamedTuple, Self
from urllib.parse import parse_qs, quote, urlsplit

import ada_url
from pydantic import AfterValidator, Field, model_validator

from online_analysis.icd.mistakes import Section, refuse
from online_analysis.icd.sections import WebUrl

ALL_STATEMENTS: Final = "CONSTRUCT WHERE { ?s ?p ?o } ORDER BY ?s ?p ?o"
"""The default query: everything in the default graph of an endpoint."""
MAX_URL_LENGTH: Final = 4_000
"""The most characters of the URL of a page, without the number of the page."""
_LAST_OFFSET: Final = 10**12


def _paged_query(query: str) -> str:
    """Return a query that can be split into pages, without surrounding white space."""
    text = query.strip()
    form, problem = _parsed(text)
    if problem:
        raise refuse(f"is no query of SPARQL 1.1 ({problem})", "write a SELECT or CONSTRUCT query")
    if form not in {"SelectQuery", "ConstructQuery"}:
        raise refuse("has no rows that could be had in pages", "write a SELECT or CONSTRUCT query")
    if _parsed(f"{text}\nLIMIT 1 OFFSET 1")[1]:
        raise refuse(
            "cannot be divided into pages", "leave out LIMIT, OFFSET and a VALUES at its end: the crawl adds its own"
        )
    if not _parsed(f"{text}\nORDER BY ?s LIMIT 1")[1]:
        raise refuse(
            "has no order, so that its pages would repeat some rows and miss others",
            "add ORDER BY with variables that tell all rows apart",
        )
    return text


def _selects(query: str, name: str) -> bool:
    """Return whether a query gives a variable as it is bound in its pattern."""
    parser = import_module("rdflib.plugins.sparql.parser")
    parsed = parser.parseQuery(query)[1]
    if parsed.name != "SelectQuery" or parsed.groupby or parsed.having:
        return False
    projected = parsed.projection or []
    return not projected or any(str(each.var) == name and not each.expr for each in projected)


def _parsed(query: str) -> tuple[str, str]:
    """Return the form of a query, or what is wrong with it. It must declare prefixes that endpoints predefine."""
    parser = import_module("rdflib.plugins.sparql.parser")  # It takes a second, and few definitions have queries.
    try:
        return str(parser.parseQuery(query)[1].name), ""
    except Exception as error:  # Parsers of pyparsing raise whatever their actions do.
        return "", " ".join(str(error).split())[:200] or type(error).__name__


Query = Annotated[str, AfterValidator(_paged_query)]


MAX_OFFSET: Final = 10_000
"""Rows that are passed over by ``OFFSET``: many endpoints sort no more."""
_TOKEN: Final = re.compile(
    r"""\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|<[^<>"{}|^`\\\x00-\x20]*>|\#[^\n]*|[{}]""",
    re.DOTALL,
)
_IRI: Final = re.compile(r"""[^\x00-\x20<>"{}|\\^`]+""")


class QueryPage(NamedTuple):
    """A page of a query: it begins behind so many rows of all.

    With ``key`` it begins ``offset`` rows behind the first one whose key is not before it; else ``offset`` are all.
    """

    behind: int = 0
    offset: int = 0
    key: str = ""


class SparqlSource(Section):
    """A query and its endpoint, which is asked for ``rows`` rows at a time, for at most ``pages`` pages."""

    endpoint: WebUrl = Field(examples=["https://data.example.org/sparql"])
    query: Query = Field(
        default=ALL_STATEMENTS, examples=["SELECT ?work ?title { ?work dct:title ?title } ORDER BY ?work"]
    )
    rows: int = Field(default=1_000, ge=1, le=1_000_000, examples=["500"])
    pages: int = Field(default=100, ge=1, le=1_000_000, examples=["20"])

    @model_validator(mode="after")
    def _fits_into_a_url(self) -> Self:
        if (length := len(self.url(QueryPage(_LAST_OFFSET, _LAST_OFFSET)))) > MAX_URL_LENGTH:
            raise refuse(
                f"makes URLs of {length:,} characters, and {MAX_URL_LENGTH:,} is the most", "write a shorter query"
            )
        return self

    def url(self, page: QueryPage = QueryPage()) -> str:  # noqa: B008 (it is immutable)
        """Return the URL of a page, in the WHATWG spelling. Pages with a key are those of a ``keyed`` query alone."""
        if page.key:
            parts = self.keyed.parts if self.keyed is not None else ("", "")
            text = f"{parts[0]}{page.key}{parts[1]}{page.offset} # behind {page.behind}"
        else:
            text = f"{self._beginning}{page.offset}"
        url = ada_url.URL(self.endpoint)
        asked = "query=" + quote(text, safe="")
        url.search = f"{url.search.removeprefix('?')}&{asked}" if url.search else asked
        return str(url.href)

    def page(self, url: str) -> QueryPage | None:
        """Return which page of this query a URL is; None where it is none."""
        asked, own = urlsplit(url), urlsplit(self.endpoint)
        if (asked.scheme, asked.netloc, asked.path) != (own.scheme, own.netloc, own.path):
            return None
        text = parse_qs(asked.query).get("query", [""])[-1]
        offset = text.removeprefix(self._beginning)
        if offset != text and re.fullmatch(r"[0-9]{1,12}", offset):
            return QueryPage(int(offset), int(offset))
        if self.keyed is None or not text.startswith(self.keyed.parts[0]):
            return None
        key, _, rest = text.removeprefix(self.keyed.parts[0]).partition(self.keyed.parts[1])
        found = re.fullmatch(r"([0-9]{1,12}) # behind ([0-9]{1,12})", rest)
        return QueryPage(int(found[2]), int(found[1]), key) if found and _IRI.fullmatch(key) else None

    def behind_key(self, key: str, behind: int, offset: int) -> QueryPage | None:
        """Return the page behind ``offset`` rows with a key, an IRI; None where that cannot be asked for."""
        if self.keyed is None or not _IRI.fullmatch(key):
            return None
        page = QueryPage(behind, offset, key)
        return page if len(self.url(page)) <= MAX_URL_LENGTH else None

    @cached_property
    def keyed(self) -> "KeyedQuery | None":
        """What the query is by keys; None where its form does not allow it."""
        return KeyedQuery.of(self.query, self.rows)

    @property
    def _beginning(self) -> str:
        return f"{self.query}\nLIMIT {self.rows} OFFSET "


class KeyedQuery(NamedTuple):
    """A query whose rows can be had from a key on: the variable of the key, and what stands around it in the query.

    It is a ``SELECT`` without ``GROUP BY`` that is ordered by a variable of its rows first, ascending. ``ORDER BY`` has
    IRIs in the order of their characters (SPARQL 1.1, section 15.1), and literals behind them.
    """

    variable: str
    parts: tuple[str, str]

    @classmethod
    def of(cls, query: str, rows: int) -> "KeyedQuery | None":
        """Return a query by keys, None where its form does not allow that."""
        depth, end = 0, None
        for token in _TOKEN.finditer(query):
            if token[0] in "{}":
                depth += 1 if token[0] == "{" else -1
                end = token.start() if depth == 0 else end
        if end is None:
            return None
        tail = re.fullmatch(
            r"\}(?:\s|#[^\n]*\n)*order\s+by\s+(?:[?$](\w+)|asc\s*\(\s*[?$](\w+)\s*\))(?![\w(]).*",
            query[end:],
            re.IGNORECASE | re.DOTALL,
        )
        name = (tail[1] or tail[2]) if tail is not None else ""
        if not name or not _selects(query, name):
            return None
        head = f'{query[:end]}\nFILTER(isLiteral(?{name}) || STR(?{name}) >= "'
        behind = f'")\n{query[end:]}\nLIMIT {rows} OFFSET '
        return cls(name, (head, behind)) if not _parsed(f"{head}http://a.test/{behind}1")[1] else None


class Sources(Section):
    """The sources of URLs besides the links of pages."""

    sitemaps: Literal["off", "robots", "guess"] = Field(default="off", examples=["robots"])
    feeds: Literal["off", "linked", "announced"] = Field(default="linked", examples=["announced"])
    listings: Literal["off", "last"] = Field(default="last", examples=["off"])
    documents: bool = Field(default=True, examples=["false"])
    linked_data: Literal["off", "alternates", "first"] = Field(default="off", examples=["first"])
    sparql: Annotated[tuple[SparqlSource, ...], Field(max_length=100)] = Field(
        default=(), examples=["[{endpoint: https://data.example.org/sparql}]"]
    )
    forms: Literal["off", "safe"] = Field(default="off", examples=["safe"])
