"""Sources of URLs besides the links of pages, and the queries that a crawl sends to SPARQL endpoints.

They are sent by GET, page by page (SPARQL 1.1 Protocol, section 2.1.1).
"""

import re
from importlib import import_module
from typing import Annotated, Final, Literal, Self
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


def _parsed(query: str) -> tuple[str, str]:
    """Return the form of a query, or what is wrong with it. It must declare prefixes that endpoints predefine."""
    parser = import_module("rdflib.plugins.sparql.parser")  # It takes a second, and few definitions have queries.
    try:
        return str(parser.parseQuery(query)[1].name), ""
    except Exception as error:  # Parsers of pyparsing raise whatever their actions do.
        return "", " ".join(str(error).split())[:200] or type(error).__name__


Query = Annotated[str, AfterValidator(_paged_query)]


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
        if (length := len(self.url(_LAST_OFFSET))) > MAX_URL_LENGTH:
            raise refuse(
                f"makes URLs of {length:,} characters, and {MAX_URL_LENGTH:,} is the most", "write a shorter query"
            )
        return self

    def url(self, offset: int = 0) -> str:
        """Return the URL of the page that begins after ``offset`` rows, in the WHATWG spelling."""
        url = ada_url.URL(self.endpoint)
        asked = "query=" + quote(f"{self._beginning}{offset}", safe="")
        url.search = f"{url.search.removeprefix('?')}&{asked}" if url.search else asked
        return str(url.href)

    def offset(self, url: str) -> int | None:
        """Return after how many rows the page at a URL begins; None if it is no page of this query."""
        asked, own = urlsplit(url), urlsplit(self.endpoint)
        if (asked.scheme, asked.netloc, asked.path) != (own.scheme, own.netloc, own.path):
            return None
        text = parse_qs(asked.query).get("query", [""])[-1]
        offset = text.removeprefix(self._beginning)
        return int(offset) if offset != text and re.fullmatch(r"[0-9]{1,12}", offset) else None

    @property
    def _beginning(self) -> str:
        return f"{self.query}\nLIMIT {self.rows} OFFSET "


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
