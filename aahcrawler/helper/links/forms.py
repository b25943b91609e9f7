"""Forms as a browser submits them (HTML standard, section 4.10.22): which values they send, and to which URL."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lxml import etree
from lxml.html import HtmlElement

from aahcrawler import urls
from aahcrawler.page import charset, text
from aahcrawler.posted_forms import ENCODING, PostedForm, is_reserved, posted_by, url_of
from aahcrawler.query_encoding import in_form

MOST_CONTROLS = 500
"""The most controls of one form that are read."""

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
class Submission:
    """A form without secrets and side effects: the URL its values are sent to, its preset values, and its method.

    ``codec`` is the encoding that names and values are sent in.
    """

    target: str
    entries: tuple[Entry, ...]
    is_post: bool = False
    codec: str = "utf-8"

    def filled(self, values: Mapping[str, str]) -> str:
        """Return the canonical URL to ask for, with these values in place of the form's own of the same names.

        A value whose name the form does not have comes last. The query of the form's target is replaced, as by
        browsers, unless the form is posted (``aahcrawler.posted_forms``). Raises `NotSentError` for a URL that is too
        long.
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
        url = urls.canonicalize(url_of(PostedForm(self.target, query)) if self.is_post else asked)
        if url is None or (self.is_post and posted_by(url) is None):
            raise NotSentError("its URL would be too long; give it shorter values")
        return url


def submission(form: HtmlElement, page_url: str, base_url: str, *, may_post: bool = False) -> Submission:
    """Return the values that a browser would send on Enter in an untouched form. Raises `NotSentError`.

    They are the values of all controls that are neither disabled nor unchecked, and of the first button. A form that is
    sent with method post is only sent where somebody knows that it changes nothing (``may_post``).
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
        raise NotSentError(f"it is sent as {encoding}, and only forms sent as {ENCODING} are posted; choose another")
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
    return Submission(target, tuple(entries), is_post=method == "post", codec=codec)


@dataclass(frozen=True, slots=True)
class PasswordForm:
    """A form to log in by: where and how its values are sent, and which it would send untouched.

    ``names`` are those of all its controls, ``asks_password`` says that one of them is for a password, ``codec`` is the
    encoding that all is sent in.
    """

    target: str
    method: str
    entries: tuple[Entry, ...]
    names: frozenset[str]
    asks_password: bool
    codec: str

    def filled(self, values: Mapping[str, str]) -> bytes:
        """Return the body that is sent with these values in place of the form's own: tokens in hidden fields stay."""
        kept = [(name, value) for name, value in self.entries if name not in values]
        return _encoded([*kept, *values.items()], self.codec).encode("ascii")


def password_form(form: HtmlElement, page_url: str, base_url: str) -> PasswordForm:
    """Return what a form to log in by would send to where; the page's own URL for an action that is none."""
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
    """Return the encoding that a form is sent in: the first that it accepts and that is known, else the document's."""
    accepted = form.get("accept-charset")
    if accepted is None:
        return base_url.codec if isinstance(base_url, urls.DocumentBase) else "utf-8"
    return next(filter(None, map(charset.codec_of, accepted.split())), "utf-8")


def _encoded(entries: Iterable[Entry], codec: str) -> str:
    """Encode for a query as browsers do (WHATWG URL, application/x-www-form-urlencoded)."""
    return "&".join("=".join(in_form(_BREAK.sub("\r\n", each), codec) for each in entry) for entry in entries)


def _controls(form: HtmlElement) -> Iterator[HtmlElement]:
    """Yield the controls that belong to a form and can be used, in document order."""
    name = form.get("id")
    inside = [control for control in form.iter(*_CONTROLS) if control.get("form") in (None, name)]
    outside = [control for control in _owned(form, name=name) if _form_around(control) is not form] if name else []
    if outside:
        wanted = {*inside, *outside}
        root = form.getroottree().getroot()
        inside = [control for control in root.iter(*_CONTROLS) if control in wanted]
    return (control for control in inside[:MOST_CONTROLS] if not _is_disabled(control))


def _form_around(control: HtmlElement) -> HtmlElement | None:
    return next(control.iterancestors("form"), None)


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
        yield name, charset.name_of(codec)
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
