"""The replay's own pages: messages, pages around captures that are not HTML, lists of crawls and of captures."""

import re
from collections.abc import Iterable, Mapping
from email.utils import format_datetime
from html import escape
from typing import Final
from urllib.parse import quote, urlencode

from aahcrawler.replay.addresses import Address, Modifier
from aahcrawler.replay.archived_streams import StreamFormat
from aahcrawler.replay.capture_lookup import Listed
from aahcrawler.replay.recorded_responses import RecordedResponse

MEMENTO_DATETIME: Final = "Memento-Datetime"
_FEATURES: Final = (
    *("accelerometer", "autoplay", "browsing-topics"),
    *("camera", "clipboard-read", "clipboard-write", "compute-pressure", "display-capture", "encrypted-media"),
    *("fullscreen", "gamepad", "geolocation", "gyroscope", "hid", "identity-credentials-get", "idle-detection"),
    *("local-fonts", "magnetometer", "microphone", "midi", "otp-credentials", "payment"),
    *("picture-in-picture", "publickey-credentials-create", "publickey-credentials-get"),
    *("screen-wake-lock", "serial", "speaker-selection", "storage-access", "sync-xhr", "usb"),
    *("window-management", "xr-spatial-tracking"),
)
_LOADS: Final = (
    "default-src 'none'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; font-src 'self' data:; "
    "media-src 'self'; frame-src 'self'; base-uri 'none'"
)
_NO_MARKUP: Final = "require-trusted-types-for 'script'; trusted-types 'none'"
_MAX_NAME_LENGTH: Final = 100


def policy(cockpit: str = "", *, forms: bool = False, nonce: str = "") -> Mapping[str, str]:
    """Return the fields of every response, which restrict what a browser may do with it to showing it.

    ``cockpit`` is the origin whose pages may frame it as well, empty for none. ``forms`` allows forms, for the replay's
    own pages. With a ``nonce``, the one script that carries it may run, under Trusted Types.
    """
    sandbox = f"sandbox allow-same-origin{' allow-forms' if forms else ''}{' allow-scripts' if nonce else ''}"
    scripts = f"script-src 'nonce-{nonce}'; {_NO_MARKUP}" if nonce else "script-src 'none'"
    target = "'self'" if forms else "'none'"
    above = f"frame-ancestors 'self'{f' {cockpit}' if cockpit else ''}"
    fields = {
        "Content-Security-Policy": f"{sandbox}; {_LOADS}; {scripts}; form-action {target}; {above}",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-DNS-Prefetch-Control": "off",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": ", ".join(f"{feature}=()" for feature in _FEATURES),
        "Cache-Control": "private, no-cache",
        "X-Robots-Tag": "noindex, nofollow",
    }
    # The older field allows no list, and would exclude the cockpit as well.
    return fields if cockpit else fields | {"X-Frame-Options": "SAMEORIGIN"}


def told_of(response: RecordedResponse) -> Mapping[str, str]:
    """Return the header fields that describe a capture: its time (RFC 7089), and the id of its record."""
    return {
        MEMENTO_DATETIME: format_datetime(response.date.replace(microsecond=0), usegmt=True),
        "AAH-Record": "".join(sign for sign in response.record_id if "!" <= sign <= "~")[:200],
        "AAH-Status": str(response.status),
    }


def original_of(response: RecordedResponse) -> Mapping[str, str]:
    """Return the site's own fields on the payload, prefixed ``X-Archive-Orig-`` as other archives do.

    They are for clients that take the payload unchanged.
    """
    found = ((name, response.headers.get(name)) for name in ("Content-Type", "Content-Language", "Last-Modified"))
    return {
        f"X-Archive-Orig-{name}": "".join(sign for sign in value if " " <= sign <= "~")[:1000]
        for name, value in found
        if value
    }


def as_file(url: str) -> Mapping[str, str]:
    """Return the header fields that make a browser save a response as a file, named after the end of its URL."""
    name = url.partition("?")[0].rstrip("/").rpartition("/")[2][-_MAX_NAME_LENGTH:] or "capture"
    return {
        "Content-Type": "application/octet-stream",
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
    }


_STYLE: Final = """
body{font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;color:#1b2733;background:#fff;margin:0;padding:16px}
main{max-width:70rem;margin:0 auto}
h1{font-size:1.4rem;margin:0 0 12px}
a{color:#0b4f80}
:focus-visible{outline:3px solid #0b4f80;outline-offset:2px}
ul{list-style:none;margin:0;padding:0}
li{padding:6px 0;border-bottom:1px solid #d8e0e8;overflow-wrap:anywhere}
small{color:#4c5b69;display:block}
code,pre{font:14px/1.5 ui-monospace,Menlo,Consolas,monospace;overflow-wrap:anywhere;white-space:pre-wrap}
img,video{max-width:100%;height:auto}
form{display:flex;flex-wrap:wrap;gap:8px;margin:0 0 12px;align-items:end}
label{flex:1 1 20rem}
input[type=text]{width:100%;box-sizing:border-box}
input,button{font:inherit;padding:6px 8px}
"""
_FRAME: Final = "border:0;width:100%;height:90vh"
MAX_TEXT_LENGTH: Final = 2_000_000
"""Characters of a text that are shown."""


def page(title: str, content: str, banner: str = "") -> bytes:
    """Return a page with a title, which is text, and content, which is HTML."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><title>{markup_of(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>'
        f"<body>{banner}<main>{content}</main></body></html>\n"
    ).encode()


def message(title: str, text: str) -> bytes:
    """Return a page with a message; title and text are plain text."""
    return page(title, f"<h1>{markup_of(title)}</h1><p>{markup_of(text, 2000)}</p>")


def not_captured(address: Address) -> bytes:
    """Return the page for a URL that the archive does not hold."""
    content = (
        f"<h1>Not captured</h1><p>The archive of the crawl {markup_of(address.crawl, 80)} holds no answer of</p>"
        f"<p><code>{markup_of(address.url, 2000)}</code></p><p>Nothing is fetched from the web to show it.</p>"
    )
    return page("Not captured", content)


def shown_media(address: Address, media_type: str, size: str, banner: str) -> bytes:
    """Return the page around a picture, sound or film, or around a capture that can only be saved as a file."""
    kind = "video" if media_type == StreamFormat.HLS else media_type.partition("/")[0]
    source = _path(address, {"image": Modifier.IMAGE}.get(kind, Modifier.MEDIA))
    file = f'<p><a href="{_path(address, Modifier.FILE)}">Keep it as a file</a></p>'
    told = f"<p>{markup_of(media_type or 'unknown type', 100)}{size}</p>"
    if kind == "image":
        return page(address.url, f'<img src="{source}" alt="The archived picture">{told}{file}', banner)
    if kind in ("audio", "video"):
        return page(address.url, f'<{kind} src="{source}" controls preload="metadata"></{kind}>{told}{file}', banner)
    content = f"<h1>This capture is no page</h1>{told}<p>It is not shown here: such files can hold scripts.</p>{file}"
    return page(address.url, content, banner)


def shown_as_text(address: Address, text: str, banner: str) -> bytes:
    """Return the page around a capture that is shown as plain text."""
    return page(address.url, f"<pre>{escape(text[:MAX_TEXT_LENGTH])}</pre>", banner)


def framed(address: Address, banner: str) -> bytes:
    """Return the page around a frameset, which cannot contain a banner itself."""
    source = _path(address, Modifier.FRAME)
    return page(address.url, f'<iframe src="{source}" style="{_FRAME}" title="The archived page"></iframe>', banner)


def list_of_crawls(crawls: Iterable[str]) -> bytes:
    """Return the start page, a list of crawls."""
    items = "".join(f'<li><a href="/{quote(crawl, safe="")}/">{markup_of(crawl)}</a></li>' for crawl in crawls)
    return page("Archived crawls", f"<h1>Archived crawls</h1><ul>{items or '<li>There are none.</li>'}</ul>")


def list_of_captures(crawl: str, beginning: str, listed: Listed, *, pages_only: bool) -> bytes:
    """Return one part of the list of a crawl's captures."""
    items = []
    for each in listed.captures:
        path = Address(crawl, each.moment, Modifier.PAGE, each.url).path
        date = f"{each.date:%Y-%m-%d %H:%M:%S} UTC"
        told = "unchanged since an earlier capture" if each.is_revisit else each.media_type
        items.append(
            f'<li><a href="{escape(path)}">{markup_of(each.url)}</a>'
            f"<small>{date} · status {each.status or 'unknown'} · {markup_of(told, 100)}</small></li>"
        )
    kept = {"beginning": beginning, **({} if pages_only else {"all": "1"})}
    more = f'<p><a href="?{escape(urlencode(kept | {"after": listed.following}))}">Further captures</a></p>'
    form = (
        '<form method="get"><label>Beginning of the URL<br><input type="text" name="beginning" '
        f'value="{escape(beginning)}" placeholder="http://www.example.org/"></label>'
        f'<label style="flex:none"><input type="checkbox" name="all" value="1"{"" if pages_only else " checked"}> '
        "pictures and the like, too</label><button>Show</button></form>"
    )
    nothing = "" if items or listed.following else "<p>There is no capture of such a URL.</p>"
    content = (
        f'<p><a href="/">All crawls</a></p><h1>Captures of {markup_of(crawl, 80)}</h1>{form}<ul>{"".join(items)}</ul>'
        f"{nothing}{more if listed.following else ''}"
    )
    return page(f"Captures of {crawl}", content)


def _path(address: Address, modifier: Modifier) -> str:
    return escape(Address(address.crawl, address.moment, modifier, address.url).path)


_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)


def printable(text: str, most: int = 300) -> str:
    r"""Return a text as one line, with control characters, direction marks and invisible characters spelled out.

    A text longer than ``most`` characters is cut and ends with three dots.

    >>> printable("a\u202eb\n")
    'a⟨U+202E⟩b⟨U+000A⟩'
    """
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return _UNSEEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", cut)


def markup_of(text: str, most: int = 300) -> str:
    """Return ``printable`` text as HTML, safe in text and attributes.

    It does not change the text direction around it.
    """
    return escape(printable(text, most), quote=True)
