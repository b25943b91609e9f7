"""Find signs of an unknown application that its pages share and no known application shows."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from lxml.html import HtmlElement

from aahcrawler.page import Page
from aahcrawler.page.text import fold, plain_text
from aahcrawler.urls import queue_of, resolve
from aahcrawler.wrapper_induction.element_features import WORD_OF_LAYOUT, cost_of_word, is_name
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.matching import Sight
from knowledge_base.model import KnowledgeBase, Pattern, Signal, Strength
from knowledge_base.selectors import SHORTEST_LITERAL, compile_selector, safe_literal

MOST_SIGNS = 8
MOST_OF_ONE_SORT = 3

_CREDIT = re.compile(
    r"\b(?:powered|published|driven|software|running|runs on|based on|built with|made with)\b", re.IGNORECASE
)
_CREDIT_LENGTH = 160
_VERSION = re.compile(r"[\s/v-]*\d[\w.+-]*.*$")
_GENERATED = re.compile(r"[0-9a-f]{6,}|\d", re.IGNORECASE)
_COMMON_FILE = re.compile(
    r"(?:main|style|styles|screen|print|app|index|all|bundle|common|default|base|core|scripts?|site|theme|vendor|global"
    r"|custom|reset|normalize|favicon|jquery.*|bootstrap.*|modernizr.*|font.*|analytics.*|polyfills?)"
    r"(?:\.min)?\.(?:m?js|css|ico|png)?",
    re.IGNORECASE,
)
_COMMON_COOKIE = re.compile(
    r"phpsessid|jsessionid|asp\.?net.*|session.*|sid|csrf.*|xsrf.*|__cf.*|_ga.*|lang.*|locale", re.IGNORECASE
)
_COMMON_HEADER = re.compile(
    r"x-(?:powered-by|frame-options|content-type-options|xss-protection|cache.*|varnish.*|request-id|served-by|ua-.*|robots.*"
    r"|amz.*|dns-.*|timer|runtime|proxy.*|forwarded.*|permitted-.*|download-.*|aah.*)",
    re.IGNORECASE,
)
_BODY_CLASS = "a class of body; it may be that of this sort of page alone"
_COMMON_WORD = re.compile(
    r"body|page|main|content|wrapper?|container|site|home|index|top|app|root|layout|document|single|default|light|dark|ltr|rtl"
    r"|en|de|fr|logged-(?:in|out)|guest|no-?(?:js|touch|script)|hasjs|touch|javascript|desktop|mobile|responsive",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign in the form of a file, and the reason for choosing it."""

    pattern: Pattern
    attributes: tuple[tuple[str, str], ...]
    reason: str

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


def signs(pages: Sequence[Page], known: Known) -> tuple[Sign, ...]:
    """Return the signs that all pages show and no known application does, the strongest first.

    The signs suffice to recognise the pages, or nothing is returned: a lone hint is made a strong sign.
    """
    sights = [Sight(page) for page in pages]
    found: dict[tuple[str, str, str], Sign] = {}
    for sign in _candidates(pages[0]):
        if sign.reason == _BODY_CLASS and _suffices(found.values()):
            break
        of_sort = sum(other.pattern.signal is sign.pattern.signal for other in found.values())
        shared = all(sight.shows(sign.pattern) for sight in sights)
        if shared and of_sort < MOST_OF_ONE_SORT and sign.pattern.key not in found and not known.claims(sign.pattern):
            found[sign.pattern.key] = sign
    best = sorted(found.values(), key=lambda sign: -sign.pattern.strength)[:MOST_SIGNS]
    if len(best) == 1 and best[0].pattern.strength is Strength.HINT:
        only = replace(best[0].pattern, strength=Strength.STRONG)
        return (replace(best[0], pattern=only, reason=f"{best[0].reason}; made strong because it is the only sign"),)
    return tuple(best)


def _suffices(found: Iterable[Sign]) -> bool:
    """Return whether signs recognise a page: two hints do, and anything stronger."""
    return sum(sign.pattern.strength for sign in found) >= Strength.STRONG


def of_host(url: str) -> Sign:
    """Return the sign of a single site."""
    host = (urlsplit(url).hostname or "").removeprefix("www.")
    pattern = Pattern(Signal.HOST, Strength.PROOF, "", value=host)
    return Sign(pattern, (("host", host),), "the file is for this site alone")


def _candidates(page: Page) -> Iterator[Sign]:
    yield from _generators(page)
    yield from _credits(page)
    yield from _cookies(page)
    yield from _headers(page)
    yield from _ids(page)
    yield from _addresses(page, Signal.SCRIPT, (script.get("src") for script in page.tree.iter("script")))
    styles = (link.get("href") for link in page.tree.iter("link") if _is_resource(link))
    yield from _addresses(page, Signal.LINK, styles)
    yield from _classes(page)


def _generators(page: Page) -> Iterator[Sign]:
    for meta in page.tree.iter("meta"):
        if (meta.get("name") or "").lower() == "generator":
            name = _VERSION.sub("", fold(meta.get("content") or "")).strip()
            if _tells(name):
                yield _text_sign(Signal.GENERATOR, name, Strength.PROOF, "the page names its generator")


def _credits(page: Page) -> Iterator[Sign]:
    """Find the line in which a page names its software; its first link leads to the software's maker."""
    lines = set()
    for link in page.tree.iter("a"):
        url = resolve(page.base_url, link.get("href") or "")
        holder = link.getparent()
        if url is None or holder is None or queue_of(url) == queue_of(page.url):
            continue
        line = fold(plain_text(holder))
        host = (urlsplit(url).hostname or "").removeprefix("www.")
        if (
            line not in lines
            and len(line) <= _CREDIT_LENGTH
            and _CREDIT.search(line)
            and _tells(host)
            and "'" not in host
        ):
            lines.add(line)
            xpath = f"//a[contains(@href, '{host}')]"
            yield _selector_sign(xpath, "", Strength.STRONG, f'the page gives credit: "{line[:60]}"')


def _cookies(page: Page) -> Iterator[Sign]:
    for field in page.headers.all("Set-Cookie"):
        name = field.partition("=")[0].strip()
        glob = re.sub(r"\*+", "*", re.sub(r"[0-9a-f]*\d[0-9a-f]*", "*", name))
        if not _COMMON_COOKIE.fullmatch(name) and _tells(max(glob.split("*"), key=len)):
            yield _text_sign(Signal.COOKIE, glob, Strength.HINT, "the server sets this cookie")


def _headers(page: Page) -> Iterator[Sign]:
    for name, value in page.headers.fields:
        named = name.lower()
        word = _VERSION.sub("", fold(value)).strip()
        if named in ("x-generator", "x-powered-cms") and _tells(word):
            yield _header_sign(name, word, Strength.PROOF)
        elif named.startswith("x-") and not _COMMON_HEADER.fullmatch(named) and _tells(named):
            yield _header_sign(name, "", Strength.HINT)


def _ids(page: Page) -> Iterator[Sign]:
    identity = page.tree.get("id") or ""
    if is_template_name(identity) and not _COMMON_WORD.fullmatch(identity):
        # The html element is where css= begins to look, so that only XPath can find it.
        yield _selector_sign(f"/html[@id='{identity}']", "", Strength.STRONG, "the id of the html element")
    body = _body(page)
    identity = body.get("id") or "" if body is not None else ""
    if is_template_name(identity) and not _COMMON_WORD.fullmatch(identity):
        yield _selector_sign("", f"body#{identity}", Strength.STRONG, "the id of body")


def _classes(page: Page) -> Iterator[Sign]:
    body = _body(page)
    words = (body.get("class") or "").split() if body is not None else []
    for word in sorted(words, key=len, reverse=True):
        if is_template_name(word) and not _COMMON_WORD.fullmatch(word):
            yield _selector_sign("", f"body.{word}", Strength.HINT, _BODY_CLASS)


def is_template_name(word: str) -> bool:
    """Return whether a class or id is a name that a template gives, and not one of layout alone.

    >>> [is_template_name(word) for word in ("post-body", "odd", "row", "css-1x9k")]
    [True, False, False, False]
    """
    return is_name(word) and cost_of_word(word) < WORD_OF_LAYOUT


def _body(page: Page) -> HtmlElement | None:
    return next(iter(page.tree.iter("body")), None)


def _addresses(page: Page, signal: Signal, references: Iterable[str | None]) -> Iterator[Sign]:
    for reference in references:
        url = resolve(page.base_url, reference) if reference else None
        if url is None or queue_of(url) != queue_of(page.url) or reference is None:
            continue
        parts = [part for part in urlsplit(reference).path.split("/") if part]
        piece = _telling_piece(parts)
        if piece and _tells(piece) and piece.lower() in reference.lower():
            what = "a script" if signal is Signal.SCRIPT else "a style sheet"
            yield _text_sign(signal, piece, Strength.HINT, f"the page loads {what} of this name")


def _telling_piece(parts: Sequence[str]) -> str:
    """Return the end of a path that a template would write on every site: folder and file, or folders alone."""
    if not parts:
        return ""
    file = parts[-1]
    if not _GENERATED.search(file) and not _COMMON_FILE.fullmatch(file) and _tells(file):
        above = parts[-2] if len(parts) > 1 else ""
        return f"{above}/{file}" if above and not _GENERATED.search(above) else file
    folders = [part for part in parts[:-1] if not _GENERATED.search(part)]
    if not folders or len(folders) != len(parts) - 1:
        return ""
    end = "/".join([*folders[-2:], ""])
    return f"{end}{file}" if not _GENERATED.search(file) else end if len(folders) > 1 else ""


def _is_resource(link: HtmlElement) -> bool:
    return bool(
        {"stylesheet", "icon", "search", "apple-touch-icon"}.intersection((link.get("rel") or "").lower().split())
    )


def _quoted(text: str) -> str:
    return f'"{text}"' if "'" in text else f"'{text}'"


def _tells(text: str) -> bool:
    return text.isprintable() and len(safe_literal(text)) > SHORTEST_LITERAL and not ("'" in text and '"' in text)


def _text_sign(signal: Signal, value: str, strength: Strength, reason: str) -> Sign:
    return Sign(Pattern(signal, strength, "", value), ((signal.value, value),), reason)


def _header_sign(name: str, value: str, strength: Strength) -> Sign:
    attributes = (("header", name), ("value", value)) if value else (("header", name),)
    return Sign(Pattern(Signal.HEADER, strength, "", value, name.lower()), attributes, "the server sends this header")


def _selector_sign(xpath: str, css: str, strength: Strength, reason: str) -> Sign:
    selector = compile_selector(xpath=xpath, css=css)
    attributes = (("css", css),) if css else (("xpath", xpath),)
    return Sign(Pattern(Signal.SELECTOR, strength, "", selector=selector), attributes, reason)
