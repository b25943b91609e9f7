"""Make URLs that no page links to: those of an application's JSON endpoints, and of filled-in forms."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, product, takewhile
from types import MappingProxyType
from urllib.parse import quote

from lxml import etree
from lxml.html import Element, HtmlElement

from aahcrawler import urls
from aahcrawler.helper.site_memory import site_of
from aahcrawler.page import Page, markup, text
from aahcrawler.page.jsontree import ITEM
from aahcrawler.query_encoding import in_form
from aahcrawler.urls import FORM_ENCODING, PostedForm, is_reserved, posted_by, posted_form_url
from knowledge_base.matching import Sight
from knowledge_base.model import Filler, Form, Navigate, RequestTemplate
from knowledge_base.selectors import Node, Selector
from knowledge_base.url_rules import ParsedUrl

MAX_CONTROLS = 500
"""The most controls that are read of one form."""

Entry = tuple[str, str]

_CONTROLS = ("button", "input", "select", "textarea")
_BUTTONS = frozenset({"submit", "image"})
_SECRET = frozenset({"password", "file"})
_OTHER_ENCODINGS = frozenset({"multipart/form-data", "text/plain"})
_BREAK = re.compile(r"\r\n?|\n")
_owned = etree.XPath("//*[self::button or self::input or self::select or self::textarea][@form = $name]")


class NotSentError(ValueError):
    """A form is not sent; the message says why and gives the alternative."""


@dataclass(frozen=True, slots=True)
class FormSubmission:
    """The submission of a form without secrets and side effects: its target URL, preset values and method.

    ``codec`` is the encoding of names and values.
    """

    target: str
    entries: tuple[Entry, ...]
    is_post: bool = False
    codec: str = "utf-8"

    def filled(self, values: Mapping[str, str]) -> str:
        """Return the canonical URL to request, with these values in place of the form's own of the same names.

        A value whose name the form does not have comes last. The query of the form's target is replaced, as by
        browsers, unless the form is posted (``aahcrawler.urls``). Raises `NotSentError` for a URL that is too long.
        """
        entries: list[Entry] = []
        left = dict(values)
        for name, value in self.entries:
            if name not in values:
                entries.append((name, value))
            elif name in left:
                entries.append((name, left.pop(name)))
        entries.extend(left.items())
        query = _encoded(entries, self.codec)
        asked = f"{self.target.partition('?')[0]}?{query}"
        url = urls.canonicalize(posted_form_url(PostedForm(self.target, query)) if self.is_post else asked)
        if url is None or (self.is_post and posted_by(url) is None):
            raise NotSentError("its URL would be too long; give it shorter values")
        return url


def submission(form: HtmlElement, page_url: str, base_url: str, *, may_post: bool = False) -> FormSubmission:
    """Return what a browser would submit on Enter in an untouched form. Raises `NotSentError`.

    These are the values of all controls that are neither disabled nor unchecked, and of the first button. A form with
    method post is only sent if it is known to change nothing (``may_post``).
    """
    controls = tuple(_controls(form))
    button = next((control for control in controls if _is_submitter(control)), None)
    override = button if button is not None else form
    method = (override.get("formmethod") or form.get("method") or "get").strip().lower()
    if method == "dialog" or (method == "post" and not may_post):
        raise NotSentError(
            f"its method is {method}, and only forms that ask and change nothing (get) are sent; "
            'name the pages it leads to by <select> or <request>, or say safe="search" where that is all it does'
        )
    encoding = (override.get("formenctype") or form.get("enctype") or "").strip().lower()
    if method == "post" and encoding in _OTHER_ENCODINGS:
        raise NotSentError(
            f"it is sent as {encoding}, and only forms sent as {FORM_ENCODING} are posted; choose another"
        )
    if any(_type(control) in _SECRET for control in controls):
        raise NotSentError("it asks for a password or a file; choose another form")
    reference = text.fold(override.get("formaction") or form.get("action") or "")
    target = urls.resolve(base_url, reference) if reference else page_url
    if target is None:
        raise NotSentError(f"its action is no URL: {reference[:100]}")
    if is_reserved(target):
        raise NotSentError(f"its action is the URL of another form: {target[:100]}")
    codec = _codec(form, base_url)
    entries = (entry for control in controls for entry in _entries(control, button, codec))
    return FormSubmission(target, tuple(entries), is_post=method == "post", codec=codec)


@dataclass(frozen=True, slots=True)
class PasswordForm:
    """A login form: where and how its values are sent, and the values of the untouched form.

    ``names`` are those of all its controls, ``asks_password`` says that one of them is for a password, ``codec`` is the
    encoding of names and values.
    """

    target: str
    method: str
    entries: tuple[Entry, ...]
    names: frozenset[str]
    asks_password: bool
    codec: str

    def filled(self, values: Mapping[str, str]) -> bytes:
        """Return the body to send, with these values in place of the form's own; tokens in hidden fields stay."""
        kept = [(name, value) for name, value in self.entries if name not in values]
        return _encoded([*kept, *values.items()], self.codec).encode("ascii")


def password_form(form: HtmlElement, page_url: str, base_url: str) -> PasswordForm:
    """Return what a login form would send, and to which URL; the page's own URL for a form without a valid action."""
    controls = tuple(_controls(form))
    button = next((control for control in controls if _is_submitter(control)), None)
    override = button if button is not None else form
    method = (override.get("formmethod") or form.get("method") or "get").strip().lower()
    reference = text.fold(override.get("formaction") or form.get("action") or "")
    target = (urls.resolve(base_url, reference) if reference else page_url) or page_url
    codec = _codec(form, base_url)
    entries = tuple(entry for control in controls for entry in _entries(control, button, codec))
    names = frozenset(name for control in controls if (name := control.get("name")))
    asks_password = any(_type(control) == "password" for control in controls)
    return PasswordForm(target, method, entries, names, asks_password, codec)


def _codec(form: HtmlElement, base_url: str) -> str:
    """Return the encoding in which a form is sent: the first known one that it accepts, else the document's."""
    accepted = form.get("accept-charset")
    if accepted is None:
        return base_url.codec if isinstance(base_url, urls.DocumentBase) else "utf-8"
    return next(filter(None, map(markup.codec_of, accepted.split())), "utf-8")


def _encoded(entries: Iterable[Entry], codec: str) -> str:
    """Return names and values as a query, encoded as by browsers (WHATWG URL, application/x-www-form-urlencoded)."""
    return "&".join("=".join(in_form(_BREAK.sub("\r\n", each), codec) for each in entry) for entry in entries)


def _controls(form: HtmlElement) -> Iterator[HtmlElement]:
    """Yield the controls that belong to a form and can be used, in document order."""
    name = form.get("id")
    inside = [control for control in form.iter(*_CONTROLS) if control.get("form") in (None, name)]
    outside = (
        [control for control in _owned(form, name=name) if next(control.iterancestors("form"), None) is not form]
        if name
        else []
    )
    if outside:
        wanted = {*inside, *outside}
        root = form.getroottree().getroot()
        inside = [control for control in root.iter(*_CONTROLS) if control in wanted]
    return (control for control in inside[:MAX_CONTROLS] if not _is_disabled(control))


def _is_disabled(control: HtmlElement) -> bool:
    if control.get("disabled") is not None:
        return True
    for outer in control.iterancestors("datalist", "fieldset"):
        if outer.tag == "datalist":
            return True
        if outer.get("disabled") is not None:
            legend = next(outer.iterchildren("legend"), None)
            if legend is None or legend not in control.iterancestors("legend"):
                return True
    return False


def _type(control: HtmlElement) -> str:
    written = (control.get("type") or "").strip().lower()
    if control.tag == "button":
        return written if written in ("button", "reset") else "submit"
    return (written or "text") if control.tag == "input" else str(control.tag)


def _is_submitter(control: HtmlElement) -> bool:
    return control.tag in ("button", "input") and _type(control) in _BUTTONS


def _entries(control: HtmlElement, button: HtmlElement | None, codec: str) -> Iterator[Entry]:
    name = control.get("name") or ""
    kind = _type(control)
    if kind == "image" and control is button:
        prefix = f"{name}." if name else ""
        yield from ((f"{prefix}x", "0"), (f"{prefix}y", "0"))
    elif not name or kind in ("button", "reset") or (_is_submitter(control) and control is not button):
        return
    elif control.tag == "select":
        yield from ((name, _option_value(option)) for option in _selected(control))
    elif control.tag == "textarea":
        yield name, (control.text or "").removeprefix("\n")
    elif kind in ("checkbox", "radio"):
        if control.get("checked") is not None:
            yield name, control.get("value") or ("on" if control.get("value") is None else "")
    elif kind == "hidden" and name.lower() == "_charset_":
        yield name, markup.encoding_name(codec)
    else:
        yield name, control.get("value") or ""


def _selected(select: HtmlElement) -> list[HtmlElement]:
    """Return the selected options; of a list that shows a single one, the last marked option, else the first."""
    options = list(select.iter("option"))
    marked = [option for option in options if option.get("selected") is not None]
    if select.get("multiple") is not None:
        return [option for option in marked if not _is_off(option)]
    if marked:
        return [] if _is_off(marked[-1]) else marked[-1:]
    if (select.get("size") or "1").strip() not in ("0", "1"):
        return []
    return [option for option in options if not _is_off(option)][:1]


def _is_off(option: HtmlElement) -> bool:
    group = option.getparent()
    return option.get("disabled") is not None or (
        group is not None and group.tag == "optgroup" and group.get("disabled") is not None
    )


def _option_value(option: HtmlElement) -> str:
    value = option.get("value")
    return value if value is not None else text.fold("".join(option.itertext()))


MAX_REQUESTS = 200
"""The most URLs that one page may make."""

MAX_FORMS = 10
"""The most forms of one page that an action sends."""

MAX_VALUE_LENGTH = 500
"""The most characters of a value; nothing longer is a number, a name or a keyword."""

Values = Mapping[str, tuple[str, ...]]
"""The words in the Intelligent Crawl Definition: ``keywords``, ``entities``."""


def no_values() -> Values:
    """Return the values of a definition without any."""
    return MappingProxyType({})


_PLACE = re.compile(r"\{([^{}]+)\}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_UNWRITABLE = re.compile("[\x00-\x1f\ud800-\udfff\ufffe\uffff]")
_ONLY_DOTS = re.compile(r"\.*")


@dataclass(frozen=True, slots=True)
class Unsent:
    """A form that was not sent, and the reason."""

    action: str
    detail: str


@dataclass(frozen=True, slots=True)
class MadeUrl:
    """A URL that a request or form made, and the element whose text describes its target, if any."""

    url: str
    element: HtmlElement | None = None


@dataclass(frozen=True, slots=True)
class _Value:
    text: str
    element: HtmlElement | None = None


@dataclass
class Requests:
    """Makes the URLs of one page, at most ``MAX_REQUESTS`` for all of its actions together."""

    page: Page
    values: Values = field(default_factory=no_values)
    unsent: list[Unsent] = field(default_factory=list)
    _left: int = MAX_REQUESTS

    def of(self, action: Navigate) -> Iterator[MadeUrl]:
        """Yield the canonical URLs of an action's requests and forms, in their order, each once.

        All are on the page's own site, whatever the page contains. A request that lacks a value is not made. A form
        that lacks one, or must not be sent, is recorded in ``unsent``.
        """
        found: dict[str, MadeUrl] = {}
        for made in self._made(action):
            found.setdefault(made.url, made)
        for made in islice(found.values(), self._left):
            self._left -= 1
            yield made

    @cached_property
    def _sight(self) -> Sight:
        return Sight(self.page)

    def _made(self, action: Navigate) -> Iterator[MadeUrl]:
        for request in action.requests:
            if not request.when or any(map(self._sight.meets, request.when)):
                yield from islice(self._requested(request), MAX_REQUESTS)
        for form in action.forms:
            yield from islice(self._sent(action, form), MAX_REQUESTS)

    def _requested(self, request: RequestTemplate) -> Iterator[MadeUrl]:
        for values in self._combinations(request.fillers):
            url = address(request.address, _texts(values), self.page.url)
            if url is not None:
                yield MadeUrl(url, _subject(values))

    def _sent(self, action: Navigate, form: Form) -> Iterator[MadeUrl]:
        for element in islice(_forms(form.selector.found(self.page.tree, self.page.elements)), MAX_FORMS):
            try:
                found = submission(element, self.page.url, self.page.base_url, may_post=bool(form.safe))
                yield from self._submitted(found, form)
            except NotSentError as reason:
                self.unsent.append(Unsent(action.name, str(reason)))

    def _submitted(self, found: FormSubmission, form: Form) -> Iterator[MadeUrl]:
        if site_of(found.target) != site_of(self.page.url):
            raise NotSentError(f"it leads to another site, {found.target[:100]}; choose another form")
        for filler in form.fillers:
            if not self._values(filler):
                raise NotSentError(f"there is no value for {filler.name}; give it a text, or look elsewhere for it")
        for values in self._combinations(form.fillers):
            yield MadeUrl(found.filled(_texts(values)), _subject(values))

    def _combinations(self, fillers: Iterable[Filler]) -> Iterator[dict[str, _Value]]:
        """Yield every combination of values, one of each filler; none if a filler has no values."""
        choices = [[(filler.name, value) for value in self._values(filler)] for filler in fillers]
        return map(dict, product(*choices))

    def _values(self, filler: Filler) -> list[_Value]:
        """Return the values of a filler: all of them with ``each``, else the first; none if it has none."""
        found = list(islice(self._sources(filler), MAX_REQUESTS))
        kept = [value for value in found if value.text and len(value.text) <= MAX_VALUE_LENGTH]
        if not kept and filler.text:
            kept = [_Value(filler.text)]
        summed = [_Value(_plus(value.text, filler.add), value.element) for value in kept] if filler.add else kept
        usable = [value for value in summed if value.text]
        return usable if filler.each else usable[:1]

    def _sources(self, filler: Filler) -> Iterator[_Value]:
        if filler.selectors:
            found = (self._found(selector, filler) for selector in filler.selectors)
            yield from next(filter(None, found), [])
        elif filler.parameter:
            yield _Value(text.fold(ParsedUrl.parse(self.page.url).parameters.get(filler.parameter, "")))
        else:
            for word in self.values.get(filler.icd, ()) if filler.icd else ():
                yield _Value(text.fold(word), _saying(word))

    def _found(self, selector: Selector, filler: Filler) -> list[_Value]:
        nodes = selector.found(self.page.tree, self.page.elements)[:MAX_REQUESTS]
        records = _records(node for node in nodes if not isinstance(node, str)) if filler.each else {}
        values = []
        for node in nodes:
            if isinstance(node, str):
                values.append(_Value(text.fold(node)))
            elif (written := _written(node, selector.attribute)) is not None:
                values.append(_Value(text.fold(written), records.get(node)))
        return values


def address(template: str, values: Mapping[str, str], page_url: str) -> str | None:
    """Return the canonical URL of a template filled with values, None if it is not on the page's site.

    A ``{name}`` is replaced by a value, percent-encoded so that it stays within its part of the path or query. A value
    at the beginning of a template is a URL itself, such as the root of an application's endpoints, and is not encoded;
    if it has a query, the query of the template is added to it.

    >>> address("/posts/{id}?q={word}", {"id": "7", "word": "a&b/c"}, "http://a.test/x")
    'http://a.test/posts/7?q=a%26b%2Fc'
    >>> address("{root}wp/v2/posts?page=2", {"root": "http://a.test/?rest_route=/"}, "http://a.test/x")
    'http://a.test/?rest_route=/wp/v2/posts&page=2'
    >>> address("{root}wp/v2/posts", {"root": "http://evil.test/"}, "http://a.test/x") is None
    True
    """
    if any(_ONLY_DOTS.fullmatch(values.get(name, "")) for name in _PLACE.findall(template)):
        return None
    first = _PLACE.match(template)
    root = values[first[1]].partition("#")[0] if first else ""
    rest = _PLACE.sub(
        lambda place: quote(values[place[1]], safe="", errors="replace"), template[first.end() if first else 0 :]
    )
    if "?" in root:
        rest = rest.replace("?", "&", 1)
    url = urls.resolve(page_url, root + rest)
    return url if url is not None and site_of(url) == site_of(page_url) and not is_reserved(url) else None


def _plus(value: str, number: int) -> str:
    return str(int(value) + number) if _NUMBER.fullmatch(value) else ""


def _texts(values: Mapping[str, _Value]) -> dict[str, str]:
    return {name: value.text for name, value in values.items()}


def _subject(values: Mapping[str, _Value]) -> HtmlElement | None:
    return next((value.element for value in values.values() if value.element is not None), None)


def _saying(words: str) -> HtmlElement:
    element: HtmlElement = Element("a")
    element.text = text.fold(_UNWRITABLE.sub(" ", words))
    return element


def _written(element: HtmlElement, attribute: str) -> str | None:
    return element.get(attribute) if attribute else "".join(element.itertext())


def _records(elements: Iterable[HtmlElement]) -> dict[HtmlElement, HtmlElement]:
    """Return, for each of several elements, the largest one that contains it and none of the others."""
    listed = list(dict.fromkeys(elements))
    held = Counter(above for element in listed for above in (element, *element.iterancestors()))
    if len(listed) == 1:
        return {listed[0]: next(listed[0].iterancestors(ITEM), listed[0])}
    records = {}
    for element in listed:
        alone = takewhile(lambda above: held[above] == 1, (element, *element.iterancestors()))
        records[element] = list(alone)[-1] if held[element] == 1 else element
    return records


def _forms(nodes: Iterable[Node]) -> Iterator[HtmlElement]:
    """Yield the forms that nodes are or lie within, each once."""
    seen: set[HtmlElement] = set()
    for node in nodes:
        form = None if isinstance(node, str) else node if node.tag == "form" else next(node.iterancestors("form"), None)
        if form is not None and form not in seen:
            seen.add(form)
            yield form
