"""Read seeds from a pasted list: URLs among bullets, links of Markdown and HTML, columns of tables, and prose."""

import csv
import html
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
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
"""One or more slashes: browsers treat any number as two (WHATWG URL, special schemes)."""
_GAPS = re.compile(r"[\s,;|<>\"“”„«»]+")
_NUMBERED = re.compile(r"^\W*\d{1,6}[.)]?\s")
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
    """A line of a list that is not read as written, counted from 1; ``reason`` continues a sentence about it.

    With ``is_again``, the only thing left out of it is a URL that an earlier line has.
    """

    line: int
    text: str
    reason: str
    is_again: bool = False


@dataclass(frozen=True, slots=True)
class SeedList:
    """The seeds of a list in order, each once in canonical spelling, and the refused lines.

    ``beside`` are lines with words beside a URL that are not read, except cells of tables and labels of links;
    ``supposed`` are lines whose URL was read with an added scheme although its host has no known suffix.
    """

    seeds: tuple[str, ...] = ()
    refused: tuple[RefusedLine, ...] = ()
    beside: tuple[RefusedLine, ...] = ()
    supposed: tuple[RefusedLine, ...] = ()

    @property
    def left_out(self) -> tuple[RefusedLine, ...]:
        """The lines of which something is lost that no other line has."""
        return (*(each for each in self.refused if not each.is_again), *self.beside)


class _NoSeedError(ValueError):
    """Raised when something that looks like a URL is no seed; the message continues a sentence "it ..."."""


def read_seed_list(text: str) -> SeedList:
    """Read seeds from pasted text.

    URLs without a scheme are read as https if their host ends in a public suffix; a line that consists only of another
    host with a path is read as http. Lines that begin with ``#`` are comments. The rest of a line with URLs is not read
    (``SeedList.beside``); a line without any is refused with a reason.
    """
    is_cut = len(text) > MAX_CHARACTERS
    lines = (text[:MAX_CHARACTERS].rpartition("\n")[0] if is_cut else text).splitlines()
    delimiter = _delimiter(lines)
    known: dict[str, int] = {}
    refused: list[RefusedLine] = []
    beside: list[RefusedLine] = []
    supposed: list[RefusedLine] = []
    for number, raw in enumerate(lines, 1):
        line = _INVISIBLE.sub("", html.unescape(raw)).replace("\u00a0", " ").strip()
        if not line or (line.startswith("#") and not _WITH_SCHEME.search(line)):
            continue
        told = partial(RefusedLine, number, line[:200])
        try:
            found, words = _seeds_of(line, delimiter)
            for url in found:
                if url not in known and len(known) >= MAX_SEEDS:
                    raise _NoSeedError(f"is more than {MAX_SEEDS:,} seeds can take")
                if known.setdefault(url, number) != number:
                    refused.append(told(f"is in line {known[url]} already", is_again=True))
            if words:
                beside.append(told(f"has more than an address; “{words[:100]}” is not read"))
            if _is_unknown_host(line):
                supposed.append(told(f"is read as {found[0]}"))
        except _NoSeedError as error:
            refused.append(told(str(error)))
    if is_cut:
        refused.append(RefusedLine(len(lines) + 1, "", f"is beyond the first {MAX_CHARACTERS:,} characters"))
    return SeedList(tuple(known), tuple(refused), tuple(beside), tuple(supposed))


def _seeds_of(line: str, delimiter: str) -> tuple[Sequence[str], str]:
    """Return the URLs of a line, and the words beside them. Raises ``_NoSeedError`` if it has no URL."""
    if len(line) > MAX_LINE_LENGTH:
        raise _NoSeedError(f"is longer than {MAX_LINE_LENGTH:,} characters; write one address a line")
    if _is_unknown_host(line):
        return [_seed(f"http://{_trimmed(line)}")], ""
    found: dict[str, str] = {}
    problem = ""
    for candidate in dict.fromkeys(_candidates(line, delimiter)):
        try:
            found[candidate] = _seed(candidate)
        except _NoSeedError as error:
            problem = problem or str(error)
    if not found:
        raise _NoSeedError(problem or _why_none(line))
    is_plain = not delimiter and not _HREF.search(line) and not _MARKDOWN.search(line)
    return list(dict.fromkeys(found.values())), _words_beside(line, found) if is_plain else ""


def _words_beside(line: str, addresses: Container[str]) -> str:
    """Return the words of a line besides its URLs, without the line's number in a list."""
    rest = _WITH_SCHEME.sub(
        lambda match: " ".join(each for each in _NEXT_ONE.split(match[0]) if each not in addresses), line
    )
    words = (word for word in _GAPS.split(_NUMBERED.sub("", rest)) if word not in addresses)
    return " ".join(word for word in words if re.search(r"\w", word))


def _is_unknown_host(line: str) -> bool:
    """Return whether a line consists only of a host with a path, whose suffix is not a public one.

    >>> _is_unknown_host("flood.example/b.html"), _is_unknown_host("flood.example"), _is_unknown_host("example.org/b")
    (True, False, False)
    """
    bare = _trimmed(line)
    return _looks_like_host(bare) and "/" in bare and not _is_bare_host(line)


def _candidates(line: str, delimiter: str) -> Iterator[str]:
    links = [next(filter(None, groups), "") for groups in (*_HREF.findall(line), *_MARKDOWN.findall(line))]
    if any(links):
        yield from (link.strip() for link in links if link and not link.startswith(("#", "/", ".")))
        return
    for cell in _cells(line, delimiter):
        with_scheme = [each for match in _WITH_SCHEME.finditer(cell) for each in _NEXT_ONE.split(match[0]) if each]
        yield from with_scheme
        words = _GAPS.split(cell)
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
    """Return the delimiter of a table's columns, which occurs equally often in most lines; empty for other text."""
    rows = [line for line in lines if line.strip()][:200]
    for delimiter in _DELIMITERS if len(rows) > 1 else "":
        number, times = Counter(row.count(delimiter) for row in rows).most_common(1)[0]
        if number and times * 4 >= len(rows) * 3:
            return delimiter
    return ""


def _looks_like_host(bare: str) -> bool:
    return _HOST.fullmatch(bare) is not None and not _DEFANGED.search(bare) and "@" not in bare.partition("/")[0]


def _is_bare_host(word: str) -> bool:
    bare = _trimmed(word)
    if not _looks_like_host(bare):
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
    """Cut off punctuation of the sentence around a URL, and brackets that the URL does not open itself.

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
