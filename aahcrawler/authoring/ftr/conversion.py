"""Convert one site config to an application, and list the directives without a counterpart."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from lxml import etree

from aahcrawler.authoring.ftr.config import Directive, directives, host_of
from aahcrawler.authoring.ftr.sources import ConfigFile
from knowledge_base.selectors import BadExpressionError, compile_selector

PROJECT = "github.com/fivefilters/ftr-site-config"
MOST_EXAMPLES = 5
LONGEST_EXPRESSION = 4_000

_NEEDLESS = frozenset(
    (
        *("test_url", "test_contains", "parser", "https", "native_ad_clue", "autodetect_on_failure"),
        *("autodetect_next_page", "tidy", "prune", "strip_attr", "post_strip_attr", "strip_comments", "skip_json_ld"),
        *("insert_detected_image", "src_lazy_load_attr", "convert_double_br_tags", "footnotes", "wrap_in", "dissolve"),
    )
)
"""Directives that change the form of an excerpt, or test it: the extracted text is the same without them."""

_LOGIN = "the crawler logs in nowhere; pages behind the login are not collected"
_REASONS = {
    "http_header": "the crawler identifies itself truthfully, and sends the same header fields to every site",
    "find_string": "pages are read as they were sent; text is not replaced before",
    "replace_string": "pages are read as they were sent; text is not replaced before",
    "requires_login": _LOGIN,
    "not_logged_in_xpath": _LOGIN,
    "login_uri": _LOGIN,
    "login_username_field": _LOGIN,
    "login_password_field": _LOGIN,
    "login_extra_fields": _LOGIN,
    "if_page_contains": "a rule for some pages of a site has to be written as a level or a variant by hand",
    "move_into": "the parts of a page stay where they are",
    "skip_id_or_class": "exceptions from exclusions have to be written by hand",
}
_FIELDS = {"title": ("text", "headline name"), "author": ("person", "author"), "date": ("datetime", "datePublished")}
_LINKS = {"single_page_link": "single-page", "next_page_link": "next-page"}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A directive of a config that has no counterpart, and why; ``line`` is 0 for the whole file."""

    file: str
    line: int
    directive: str
    reason: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: {self.directive}" if self.line else self.file
        return f"{where}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Conversion:
    """The result of one config. ``application`` is the root of a file, None if nothing can be extracted."""

    file: str
    host: str | None
    application: etree._Element | None
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True)
class _Expression:
    xpath: str
    cite: str


@dataclass
class _Config:
    """The directives of one config, sorted; expressions that cannot be used are left out."""

    file: ConfigFile
    left_out: list[LeftOut] = field(default_factory=list)
    expressions: dict[str, list[_Expression]] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)

    def read(self) -> None:
        for directive in directives(self.file.text):
            if directive.name == "test_url":
                self.examples.append(directive.value)
            elif directive.name in ("body", "strip", *_FIELDS, *_LINKS):
                self._keep(directive.name, directive, directive.value)
            elif directive.name == "strip_id_or_class":
                text = _quoted(directive.value.strip("\"'"))
                self._keep("strip", directive, f"//*[contains(@class, {text}) or contains(@id, {text})]")
            elif directive.name == "strip_image_src":
                self._keep("strip", directive, f"//img[contains(@src, {_quoted(directive.value.strip(chr(34)))})]")
            elif directive.name not in _NEEDLESS:
                self.leave_out(directive, _REASONS.get(directive.name, "this directive is not known"))

    def _keep(self, group: str, directive: Directive, xpath: str) -> None:
        if len(xpath) > LONGEST_EXPRESSION:
            self.leave_out(directive, f"the expression has more than {LONGEST_EXPRESSION:,} signs")
            return
        if any(ord(sign) < ord(" ") for sign in xpath):
            self.leave_out(directive, "the expression holds signs that no XML file can hold")
            return
        try:
            compile_selector(xpath=xpath)
        except BadExpressionError as error:
            self.leave_out(directive, f"the expression cannot be used: {error}")
            return
        expression = _Expression(xpath, f"{PROJECT}, {self.file.name}, line {directive.line}")
        known = self.expressions.setdefault(group, [])
        if all(expression.xpath != other.xpath for other in known):
            known.append(expression)

    def leave_out(self, directive: Directive, reason: str) -> None:
        self.left_out.append(LeftOut(self.file.name, directive.line, directive.name, reason))


def convert_file(file: ConfigFile) -> Conversion:
    """Convert one config.

    The application has one terminal level: a page on which one of the config's bodies is found, except the front page.
    All of its links are followed, as a config does not restrict them.
    """
    host = host_of(file)
    if host is None:
        reason = "the file is for no site of its own: its name is no host"
        return Conversion(file.name, None, None, (LeftOut(file.name, 0, "", reason),))
    config = _Config(file)
    config.read()
    if not config.expressions.get("body"):
        config.left_out.append(LeftOut(file.name, 0, "", _no_body(file)))
        return Conversion(file.name, host, None, tuple(config.left_out))
    return Conversion(file.name, host, _application(config, host), tuple(config.left_out))


def _no_body(file: ConfigFile) -> str:
    if any(directive.name == "body" for directive in directives(file.text)):
        return "no body is left that could be extracted"
    return "it names no body, and leaves it to fivefilters to find one"


def _application(config: _Config, host: str) -> etree._Element:
    root = etree.Element("application", name=host, kind="news")
    about = etree.SubElement(root, "about")
    about.text = f"Articles of {host}, converted from {PROJECT}, {config.file.name} (public domain)."
    examples = [url for url in config.examples if url.isprintable()][:MOST_EXAMPLES]
    if examples:
        about.text += f" Pages to try it on: {' '.join(examples)}"
    cite = f"{PROJECT}, {config.file.name}"
    etree.SubElement(etree.SubElement(root, "detect"), "pattern", host=host, strength="proof", cite=cite)
    level = etree.SubElement(root, "level", name="article", role="terminal")
    for expression in config.expressions["body"]:
        _with(level, "when", expression)
    etree.SubElement(level, "unless", path="/")
    _navigation(level, config.expressions)
    _extraction(level, config.expressions)
    return root


def _navigation(level: etree._Element, expressions: dict[str, list[_Expression]]) -> None:
    for directive, name in _LINKS.items():
        if directive in expressions:
            action = etree.SubElement(level, "navigate", name=name, to="article")
            _select(action, expressions[directive])
    links = etree.SubElement(level, "navigate", name="links", to="article")
    etree.SubElement(links, "select", css="a[href]")


def _extraction(level: etree._Element, expressions: dict[str, list[_Expression]]) -> None:
    action = etree.SubElement(level, "extract", name="article", type="article")
    etree.SubElement(action, "item", xpath="/html")
    for name, (kind, declared) in _FIELDS.items():
        wanted = etree.SubElement(action, "field", name=name, kind=kind, declared=declared)
        if name == "author":
            wanted.set("many", "yes")
        _select(wanted, expressions.get(name, ()))
        if name == "title" and "title" not in expressions:
            etree.SubElement(wanted, "select", xpath="//meta[@property='og:title']", attribute="content")
            etree.SubElement(wanted, "select", xpath="//title")
    body = etree.SubElement(action, "field", name="body", join="yes")
    _select(body, expressions["body"])
    for expression in expressions.get("strip", ()):
        _with(body, "without", expression)


def _select(parent: etree._Element, expressions: Iterable[_Expression]) -> None:
    for expression in expressions:
        _with(parent, "select", expression)


def _with(parent: etree._Element, tag: str, expression: _Expression) -> None:
    etree.SubElement(parent, tag, xpath=expression.xpath, cite=expression.cite)


def _quoted(text: str) -> str:
    """Write a text as XPath does, which knows no escapes: in the quotes that it does not hold, else in pieces."""
    if "'" not in text:
        return f"'{text}'"
    if '"' not in text:
        return f'"{text}"'
    return f"concat({', '.join(_pieces(text))})"


def _pieces(text: str) -> Iterator[str]:
    for number, piece in enumerate(text.split("'")):
        if number:
            yield '"\'"'
        if piece:
            yield f"'{piece}'"
