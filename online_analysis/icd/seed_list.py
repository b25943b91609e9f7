"""Reads seeds from a pasted list: URLs among bullets, links of Markdown and HTML, columns of tables, and prose."""

import csv
import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from publicsuffixlist import PublicSuffixList
from pydantic import TypeAdapter, ValidationError

from online_analysis.icd.sections import WebUrl

MAX_CHARACTERS: Final = 4_000_000
MAX_SEEDS: Final = 100_000
MAX_LINE_LENGTH: Final = 20_000
_URL: TypeAdapter[str] = TypeAdapter(WebUrl)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\x00-\x08\x0b-\x1f\x7f]")
_HREF = re.compile(r"""\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_MARKDOWN = re.compile(
    r"\]\(\s*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s[^)]*)?\)|^\s*\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)"
)
_WITH_SCHEME = re.compile(r"(?<![A-Za-z0-9+.-])([A-Za-z][A-Za-z0-9+.-]{1,15}):(?=//|\\\\|\[?/)[^\s<>\"“”„«»]+")
_SLASHES = re.compile(r"^(https?):[/\\\\]+", re.IGNORECASE)
"""One slash or many: browsers take them for two (WHATWG URL, special schemes)."""
_NEXT_ONE = re.compile(r"[,;|]+(?=https?:|www\.|$)", re.IGNORECASE)
_HOST = re.compile(
    r"(?:www\.)?(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,10}[^\W\d_][\w-]{1,62}(?::\d{1,5})?(?:[/?#]\S*)?", re.IGNORECASE
)
_MAIL = re.compile(r"(?:mailto:|(?<![\w.+-]))[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}", re.IGNORECASE)
_FILE = re.compile(r"file:|[A-Za-z]:[\\/]|\\\\\w|/(?:home|users|etc|var|tmp|mnt|media)/", re.IGNORECASE)
_OTHER_SCHEME = re.compile(
    r"(?:javascript|data|tel|about|ftps?|sftp|gopher|news|magnet|urn|doi|chrome|ws|wss):", re.IGNORECASE
)
_DEFANGED = re.compile(r"h(?:xx|\*\*|__)ps?(?::|\[:\])|\[\.\]|\(\.\)|\[dot\]", re.IGNORECASE)
_TRAILING: Final = ".,;:!?*_~`'\"’”»…"
_BRACKETS: Final = {")": "(", "]": "[", "}": "{", ">": "<"}
_DELIMITERS: Final = "\t;,|"


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """A line of a list that gives no seed, counted from 1; ``reason`` completes a sentence about it."""

    line: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class SeedList:
    """The seeds of a list in its order, each once in canonical spelling, and the refused lines."""

    seeds: tuple[str, ...] = ()
    refused: tuple[RefusedLine, ...] = ()


class _NoSeedError(ValueError):
    """Raised where something that looks like a URL is no seed; the message completes the sentence "it ..."."""


def read_seed_list(text: str) -> SeedList:
    """Read seeds from pasted text.

    URLs without a scheme are taken for https where their host ends in a public suffix. Lines that begin with ``#`` are
    comments. The rest of a line with URLs is ignored; a line without any is refused with a reason.
    """
    is_cut = len(text) > MAX_CHARACTERS
    lines = (text[:MAX_CHARACTERS].rpartition("\n")[0] if is_cut else text).splitlines()
    delimiter = _delimiter(lines)
    known: dict[str, int] = {}
    refused = []
    for number, raw in enumerate(lines, 1):
        line = _INVISIBLE.sub("", html.unescape(raw)).replace("\u00a0", " ").strip()
        if not line or (line.startswith("#") and not _WITH_SCHEME.search(line)):
            continue
        try:
            for url in _seeds_of(line, delimiter):
                if len(known) >= MAX_SEEDS:
                    raise _NoSeedError(f"is more than {MAX_SEEDS:,} seeds can take")
                if known.setdefault(url, number) != number:
                    raise _NoSeedError(f"is in line {known[url]} already")
        except _NoSeedError as error:
            refused.append(RefusedLine(number, line[:200], str(error)))
    if is_cut:
        refused.append(RefusedLine(len(lines) + 1, "", f"is beyond the first {MAX_CHARACTERS:,} characters"))
    return SeedList(tuple(known), tuple(refused))


def _seeds_of(line: str, delimiter: str) -> Iterator[str]:
    """Yield the addresses of a line. Raise where it gives none."""
    if len(line) > MAX_LINE_LENGTH:
        raise _NoSeedError(f"is longer than {MAX_LINE_LENGTH:,} characters; write one address a line")
    found, problem = False, ""
    for candidate in dict.fromkeys(_candidates(line, delimiter)):
        try:
            url = _seed(candidate)
        except _NoSeedError as error:
            problem = problem or str(error)
            continue
        found = True
        yield url
    if not found:
        raise _NoSeedError(problem or _why_none(line))


def _candidates(line: str, delimiter: str) -> Iterator[str]:
    links = [next(filter(None, groups), "") for groups in (*_HREF.findall(line), *_MARKDOWN.findall(line))]
    if any(links):
        yield from (link.strip() for link in links if link and not link.startswith(("#", "/", ".")))
        return
    for cell in _cells(line, delimiter):
        with_scheme = [each for match in _WITH_SCHEME.finditer(cell) for each in _NEXT_ONE.split(match[0]) if each]
        yield from with_scheme
        words = re.split(r"[\s,;|<>\"“”„«»]+", cell)
        named = (word for word in words if not with_scheme or word.lower().startswith("www."))
        yield from filter(_is_bare_host, named)


def _cells(line: str, delimiter: str) -> list[str]:
    if not delimiter:
        return [line]
    try:
        return next(csv.reader([line], delimiter=delimiter), [line])
    except csv.Error:
        return [line]


def _delimiter(lines: Iterable[str]) -> str:
    """Return the delimiter of a table's columns, which most lines have equally often; empty for other text."""
    rows = [line for line in lines if line.strip()][:200]
    for delimiter in _DELIMITERS if len(rows) > 1 else "":
        number, times = Counter(row.count(delimiter) for row in rows).most_common(1)[0]
        if number and times * 4 >= len(rows) * 3:
            return delimiter
    return ""


def _is_bare_host(word: str) -> bool:
    bare = _trimmed(word)
    match = _HOST.fullmatch(bare)
    if match is None or _DEFANGED.search(bare) or "@" in bare.partition("/")[0]:
        return False
    host = re.split(r"[:/?#]", bare, maxsplit=1)[0].lower()
    return _suffixes().publicsuffix(host, accept_unknown=False) not in {None, host}


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList(accept_unknown=False, only_icann=True)


def _seed(candidate: str) -> str:
    if _DEFANGED.search(candidate.partition("?")[0]):
        raise _NoSeedError("is made harmless (hxxp, [.]); write it with http if it is meant")
    if _FILE.match(candidate):
        raise _NoSeedError("is a file on a computer, and no web address")
    if _MAIL.fullmatch(candidate):
        raise _NoSeedError("is a mail address")
    url = _SLASHES.sub(r"\1://", _trimmed(candidate))
    scheme, colon, _ = url.partition("://")
    if not colon and not _OTHER_SCHEME.match(url):
        url = f"https://{url}"
    elif scheme.lower() not in {"http", "https"}:
        raise _NoSeedError(f"is a {url.partition(':')[0].lower()}: address, and only http and https are crawled")
    try:
        return _URL.validate_python(url)
    except ValidationError as error:
        context = error.errors(include_url=False)[0].get("ctx", {})
        raise _NoSeedError(
            f"{context.get('problem', 'is no URL')}; {context.get('advice', 'write the whole URL')}"
        ) from None


def _trimmed(url: str) -> str:
    """Cut off punctuation of the sentence around an address, and brackets that it does not open itself.

    >>> _trimmed("(https://a.example/b_(c)),"), _trimmed("https://a.example/b).")
    ('https://a.example/b_(c)', 'https://a.example/b')
    """
    url = url.lstrip("([{<\"'“„«‘*_`~-•·")
    while url:
        last = url[-1]
        opening = _BRACKETS.get(last)
        if last not in _TRAILING and (opening is None or url.count(opening) >= url.count(last)):
            break
        url = url[:-1]
    return url


def _why_none(line: str) -> str:
    if _DEFANGED.search(line):
        return "is made harmless (hxxp, [.]); write it with http if it is meant"
    if _FILE.search(line):
        return "is a file on a computer, and no web address"
    if _MAIL.search(line):
        return "is a mail address"
    if found := _OTHER_SCHEME.search(line):
        return f"is a {found[0].lower()} address, and only http and https are crawled"
    return "holds no web address"
