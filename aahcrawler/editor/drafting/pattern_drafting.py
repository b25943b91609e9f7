"""Find signs of an unknown application that its pages share, and that no known application and few others show."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from urllib.parse import urlsplit

from lxml.html import HtmlElement

from aahcrawler.editor.drafting.web_commonplaces import commonplace_in, is_common_host, is_common_path
from aahcrawler.helper.site_memory import site_of
from aahcrawler.page import Page
from aahcrawler.page.text import fold, plain_text
from aahcrawler.urls import origin, queue_of, resolve
from aahcrawler.wrapper_induction.element_features import WORD_OF_LAYOUT, cost_of_word, is_name
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.matching import Sight
from knowledge_base.model import KnowledgeBase, Pattern, Signal, Strength
from knowledge_base.selectors import MIN_LITERAL_LENGTH, compile_selector, safe_literal
from online_analysis.terms import word_groups

PLAIN_GROUPS = 540
"""Groups of the English word list, the most frequent ones, whose words anybody may name something."""
MIN_NAME_LENGTH = 4
MAX_TITLES = 8
MAX_NAME_LENGTH = 80

_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_CAPITALS = re.compile(r"[A-Z]|(?<![A-Za-z])[a-z]")
MAX_SIGNS = 8
MAX_OF_ONE_SORT = 2
MAX_ELEMENTS = 20_000
MAX_WORDS = 16
MAX_PIECES = 3
"""Folders and files of one address that a sign holds."""
_ENDING = re.compile(r"(?:\.min)?\.[a-z0-9]{2,5}$")
_CREDIT = re.compile(
    r"\b(?:powered|published|driven|software|running|runs on|based on|built with|made with)\b", re.IGNORECASE
)
_RIGHTS = re.compile(r"©|\(c\)|\bcopyright\b", re.IGNORECASE)
_CREDIT_LENGTH = 160
_VERSION = re.compile(r"[\s/v.-]*\d[\w.+-]*.*$")
_GENERATED = re.compile(r"[0-9a-f]{6,}|\d", re.IGNORECASE)
_REPEATED_PREFIX = 3
"""Different classes that begin alike, from which the beginning is that of the software or of its template."""
_FIRST = re.compile(r"([A-Za-z]{2,12})(?:[-_]{1,2}(?=[A-Za-z]))")


@dataclass(frozen=True)
class SoftwareNames:
    """The name of the wanted software, and the words of the sites that its pages are from."""

    name: str
    initials: str
    words_of_sites: frozenset[str]

    @classmethod
    def of(cls, name: str, pages: Sequence[Page]) -> "SoftwareNames":
        """Take the name as people write it, and pages of one or more sites.

        The words of a site are those of its host and of its name, which is what the titles of its pages share.
        """
        written = bare(name)
        initials = "".join(_CAPITALS.findall(name)).lower()
        words = {word for page in pages for word in _words(urlsplit(page.url).hostname or "")}
        titles = [frozenset(_words(_title(page))) for page in pages[:MAX_TITLES]]
        shared = frozenset.intersection(*titles) if len(titles) > 1 else frozenset()
        named = {word for page in pages for word in _words(_name_of_site(page))}
        return cls(written, initials, frozenset(word for word in words | shared | named if word not in written))

    @property
    def is_plain(self) -> bool:
        """Whether the name is a plain word or a short one, so that other software may hold it as well."""
        return len(self.name) < MIN_NAME_LENGTH or self.name in plain_words()

    def is_named(self, text: str) -> bool:
        """Return whether a text contains the name: one that is a plain word as a word of its own."""
        if not self.name:
            return False
        if self.is_plain:
            return self.name in {word.lower() for word in _PIECES.findall(text)}
        return self.name in bare(text)

    def is_particular(self, text: str) -> bool:
        """Return whether a name has a part that is no common word, no plain one, and none of the site's."""
        pieces = [piece for piece in _PIECES.findall(text) if not self._is_known(piece.lower())]
        return bool(pieces) and not is_common_path(text) and any(len(piece) >= MIN_NAME_LENGTH for piece in pieces)

    def is_short_for(self, beginning: str) -> bool:
        """Return whether the beginning of names stands for the software: its initials, or how it begins."""
        lowered = beginning.lower()
        return len(lowered) > 1 and (lowered == self.initials or self.name.startswith(lowered))

    def _is_known(self, word: str) -> bool:
        return (
            is_common_path(word) or word in self.words_of_sites or word in plain_words() or word[:-1] in plain_words()
        )


def bare(text: str) -> str:
    """Return the letters and digits of a text, in lower case."""
    return "".join(sign for sign in text.lower() if sign.isalnum())


@cache
def plain_words() -> frozenset[str]:
    """Return the most frequent words of English, which names of anything are made of."""
    groups: Iterable[list[str]] = islice(word_groups("en"), PLAIN_GROUPS)
    return frozenset(word for group in groups for word in group if word.isalpha())


def _words(text: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Za-z]{3,}", text)]


def _title(page: Page) -> str:
    return " ".join(fold(plain_text(title)) for title in islice(page.tree.iter("title"), 1))


def _name_of_site(page: Page) -> str:
    """Return the name that a page gives its site, and the texts of its links to the front page."""
    named = [meta.get("content") or "" for meta in page.tree.iter("meta") if meta.get("property") == "og:site_name"]
    front = f"{origin(page.url)}/"
    home = (link for link in page.tree.iter("a") if resolve(page.base_url, link.get("href") or "") == front)
    return " ".join((*named, *(fold(plain_text(link))[:MAX_NAME_LENGTH] for link in islice(home, MAX_TITLES))))


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign in the form of a file, and the reason for choosing it. ``sort`` is where it was found.

    Signs of two sorts are independent of each other.
    """

    pattern: Pattern
    attributes: tuple[tuple[str, str], ...]
    reason: str
    sort: str = ""

    @property
    def expression(self) -> Expression | None:
        """An expression that finds something if the sign holds; None for signs outside of the page itself."""
        value = _quoted(self.pattern.value)
        match self.pattern.signal:
            case Signal.GENERATOR:
                return Expression(xpath=f"//meta[@name='generator'][starts-with(@content, {value})]")
            case Signal.SCRIPT:
                return Expression(xpath=f"//script[contains(@src, {value})]")
            case Signal.LINK:
                return Expression(xpath=f"//link[contains(@href, {value})]")
            case Signal.SELECTOR:
                given = dict(self.attributes)
                return Expression(given.get("css", ""), given.get("xpath", ""))
        return None


@dataclass(frozen=True)
class Known:
    """The applications that are known: no sign of a new one may hold on a page of theirs."""

    knowledge_base: KnowledgeBase
    pages: Sequence[Sight]

    def claims(self, pattern: Pattern) -> bool:
        """Return whether a pattern is one of a known application, or holds on a saved page of one."""
        taken = (known.key for app in self.knowledge_base.applications for known in app.patterns)
        return pattern.key in taken or any(page.shows(pattern) for page in self.pages)


def signs(pages: Sequence[Page], known: Known, name: str = "") -> tuple[Sign, ...]:
    """Return the signs that all pages show, and neither a known application nor the web at large; strongest first.

    ``name`` is that of the wanted application: what contains it tells more. The signs suffice to recognise the pages,
    or nothing is returned: one that decides, or two hints of different sorts.
    """
    sights = [Sight(page) for page in pages]
    spoken = SoftwareNames.of(name, pages)
    found: dict[tuple[str, str, str], Sign] = {}
    for sign in _candidates(pages, spoken):
        of_sort = sum(other.sort == sign.sort for other in found.values())
        is_hint = sign.pattern.strength is Strength.HINT
        most = MAX_OF_ONE_SORT if not is_hint else 1
        if of_sort < most and sign.pattern.key not in found and _is_sign(sign, sights, known):
            found[sign.pattern.key] = sign
    best = sorted(found.values(), key=lambda sign: -sign.pattern.strength)[:MAX_SIGNS]
    return tuple(best) if sum(sign.pattern.strength for sign in best) >= Strength.STRONG else ()


def _is_sign(sign: Sign, sights: Sequence[Sight], known: Known) -> bool:
    if commonplace_in(sign.pattern) or not all(sight.shows(sign.pattern) for sight in sights):
        return False
    return not known.claims(sign.pattern)


def of_host(url: str) -> Sign:
    """Return the sign of a single site."""
    host = site_of(url)
    pattern = Pattern(Signal.HOST, Strength.PROOF, "", value=host)
    return Sign(pattern, (("host", host),), "the file is for this site alone", "host")


def _candidates(pages: Sequence[Page], spoken: SoftwareNames) -> Iterator[Sign]:
    page = pages[0]
    yield from _generators(page)
    yield from _credits(page, spoken)
    yield from _cookies(page, spoken)
    yield from _headers(page, spoken)
    yield from _addresses(page, Signal.SCRIPT, spoken)
    yield from _addresses(page, Signal.LINK, spoken)
    yield from _names(pages, spoken)


def _strength(text: str, spoken: SoftwareNames) -> Strength | None:
    """Return how strong a name is as a sign: None for one that others may have chosen as well."""
    if spoken.is_named(text):
        return Strength.HINT if spoken.is_plain else Strength.STRONG
    return Strength.HINT if spoken.is_particular(text) else None


def _generators(page: Page) -> Iterator[Sign]:
    for meta in page.tree.iter("meta"):
        if (meta.get("name") or "").lower() == "generator":
            name = _VERSION.sub("", fold(meta.get("content") or "")).strip()
            if _tells(name):
                yield _text_sign(Signal.GENERATOR, name, Strength.PROOF, "the page names its generator")


def _credits(page: Page, spoken: SoftwareNames) -> Iterator[Sign]:
    """Yield the sign of the line in which a page names its software, whose first link leads to the software's maker.

    A line that does not name the wanted software is skipped, as it may credit somebody else.
    """
    lines = set()
    for link in page.tree.iter("a"):
        url = resolve(page.base_url, link.get("href") or "")
        holder = link.getparent()
        if url is None or holder is None or queue_of(url) == queue_of(page.url):
            continue
        line = fold(plain_text(holder))
        place = _maker(url)
        is_credit = _CREDIT.search(line) or (_RIGHTS.search(line) and spoken.is_named(line))
        if line in lines or len(line) > _CREDIT_LENGTH or not is_credit:
            continue
        if place and _tells(place) and "'" not in place:
            lines.add(line)
            strength = Strength.STRONG if spoken.is_named(f"{line} {place}") else Strength.HINT
            xpath = f"//a[contains(@href, '{place}')]"
            yield _selector_sign(xpath, "", strength, f'the page gives credit: "{line[:60]}"', "credit")


def _maker(url: str) -> str:
    """Return the host of a software's maker, with the path below hosts that serve many."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    path = "/".join(parts.path.split("/")[:3]).rstrip("/")
    return host if not is_common_host(host) else f"{host}{path}" if path.count("/") > 1 else ""


def _cookies(page: Page, spoken: SoftwareNames) -> Iterator[Sign]:
    for field in page.headers.all("Set-Cookie"):
        name = field.partition("=")[0].strip()
        glob = re.sub(r"\*+", "*", re.sub(r"[0-9a-f]*\d[0-9a-f]*", "*", name))
        strength = _strength(glob, spoken)
        if strength is not None and _tells(max(glob.split("*"), key=len)):
            yield _text_sign(Signal.COOKIE, glob, strength, "the server sets this cookie")


def _headers(page: Page, spoken: SoftwareNames) -> Iterator[Sign]:
    for name, value in page.headers.fields:
        named = name.lower()
        word = _VERSION.sub("", fold(value)).strip()
        if named in ("x-generator", "x-powered-cms") and _tells(word):
            yield _header_sign(name, word, Strength.PROOF)
        elif named.startswith("x-") and _tells(named):
            strength = _strength(named.removeprefix("x-"), spoken)
            if strength is not None:
                yield _header_sign(name, "", strength)


def _names(pages: Sequence[Page], spoken: SoftwareNames) -> Iterator[Sign]:
    """Yield classes and ids that are on all pages: those that name the software, then those with a common beginning."""
    counted = [_names_of(page) for page in pages]
    shared = [name for name in counted[0] if all(name in each for each in counted) and is_template_name(name)]
    for name in sorted(shared, key=lambda each: (not spoken.is_named(each), len(each))):
        if spoken.is_named(name):
            strength = Strength.HINT if spoken.is_plain else Strength.STRONG
            yield _name_sign(counted[0][name], name, strength, "a name that holds that of the software")
    begun = Counter(_beginning(name) for name in shared)
    for name in sorted(shared, key=lambda each: (-begun[_beginning(each)], len(each), each)):
        beginning = _beginning(name)
        alike = begun[beginning]
        if alike >= _REPEATED_PREFIX and (spoken.is_particular(beginning) or spoken.is_short_for(beginning)):
            reason = f"{alike} names on these pages begin with {beginning}"
            yield _name_sign(counted[0][name], name, Strength.HINT, reason)


def _names_of(page: Page) -> dict[str, str]:
    """Return the classes and ids of a page, those of body first; each with its sign in CSS, a dot or a hash."""
    found: dict[str, str] = {}
    for element in [*page.tree.iter("body"), *page.tree.iter()][:MAX_ELEMENTS]:
        if isinstance(element.tag, str) and element.tag != "html":
            found.update((word, ".") for word in (element.get("class") or "").split()[:MAX_WORDS] if word not in found)
            if (identity := element.get("id")) and identity not in found:
                found[identity] = "#"
    return found


def _beginning(name: str) -> str:
    """Return the first piece of a name of several, ``tf`` of ``tf-page``; empty for a name of one."""
    found = _FIRST.match(name)
    return found[1] if found else ""


def _name_sign(mark: str, name: str, strength: Strength, reason: str) -> Sign:
    return _selector_sign("", f"{mark}{name}", strength, reason, "names")


def is_template_name(word: str) -> bool:
    """Return whether a class or id is a name that a template gives, and not one of layout alone.

    >>> [is_template_name(word) for word in ("post-body", "odd", "row", "css-1x9k")]
    [True, False, False, False]
    """
    return is_name(word) and cost_of_word(word) < WORD_OF_LAYOUT


def _addresses(page: Page, signal: Signal, spoken: SoftwareNames) -> Iterator[Sign]:
    """Yield the ends of the addresses of scripts or style sheets, those that name the software first."""
    found: dict[str, Strength] = {}
    for reference in _references(page, signal):
        url = resolve(page.base_url, reference)
        if url is None or queue_of(url) != queue_of(page.url):
            continue
        parts = [part for part in urlsplit(reference).path.split("/") if part]
        piece = _telling_piece(parts, spoken)
        strength = _strength(piece, spoken) if piece and _tells(piece) else None
        if strength is not None and piece.lower() in reference.lower():
            found.setdefault(piece, strength)
    what = "a script" if signal is Signal.SCRIPT else "a style sheet"
    for piece in sorted(found, key=lambda each: -found[each]):
        yield _text_sign(signal, piece, found[piece], f"the page loads {what} of this name")


def _references(page: Page, signal: Signal) -> Iterator[str]:
    if signal is Signal.SCRIPT:
        yield from (source for script in page.tree.iter("script") if (source := script.get("src")))
    else:
        yield from (target for link in page.tree.iter("link") if _is_resource(link) and (target := link.get("href")))


def _telling_piece(parts: Sequence[str], spoken: SoftwareNames) -> str:
    """Return the part of a path that the template writes on every site: from its own folder on, or its file name."""
    telling = [place for place, part in enumerate(parts) if _strength(part, spoken) is not None]
    if not telling:
        return ""
    named = [place for place in telling if spoken.is_named(parts[place])]
    first = (named or telling)[0]
    kept = []
    for part in parts[first : first + MAX_PIECES]:
        if _GENERATED.search(_ENDING.sub("", part)):
            break
        kept.append(part)
    end = "" if first + len(kept) == len(parts) else "/"
    return "/".join(kept) + end if kept else ""


def _is_resource(link: HtmlElement) -> bool:
    return bool(
        {"stylesheet", "icon", "search", "apple-touch-icon"}.intersection((link.get("rel") or "").lower().split())
    )


def _quoted(text: str) -> str:
    return f'"{text}"' if "'" in text else f"'{text}'"


def _tells(text: str) -> bool:
    return text.isprintable() and len(safe_literal(text)) > MIN_LITERAL_LENGTH and not ("'" in text and '"' in text)


def _text_sign(signal: Signal, value: str, strength: Strength, reason: str) -> Sign:
    return Sign(Pattern(signal, strength, "", value), ((signal.value, value),), reason, signal.value)


def _header_sign(name: str, value: str, strength: Strength) -> Sign:
    attributes = (("header", name), ("value", value)) if value else (("header", name),)
    return Sign(
        Pattern(Signal.HEADER, strength, "", value, name.lower()), attributes, "the server sends this header", "header"
    )


def _selector_sign(xpath: str, css: str, strength: Strength, reason: str, sort: str) -> Sign:
    selector = compile_selector(xpath=xpath, css=css)
    attributes = (("css", css),) if css else (("xpath", xpath),)
    return Sign(Pattern(Signal.SELECTOR, strength, "", selector=selector), attributes, reason, sort)
