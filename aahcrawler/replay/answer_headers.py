"""The header fields of the replay's responses. None is copied from an archived response; all are made here."""

from collections.abc import Mapping
from email.utils import format_datetime
from typing import Final
from urllib.parse import quote

from aahcrawler.replay.recorded_answers import RecordedResponse

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


def told_of(answer: RecordedResponse) -> Mapping[str, str]:
    """Return the fields that describe the capture: its time (RFC 7089), and its record."""
    return {
        MEMENTO_DATETIME: format_datetime(answer.date.replace(microsecond=0), usegmt=True),
        "AAH-Record": "".join(sign for sign in answer.record_id if "!" <= sign <= "~")[:200],
        "AAH-Status": str(answer.status),
    }


def original_of(answer: RecordedResponse) -> Mapping[str, str]:
    """Return what the site said of a payload, marked as other archives mark it, for those who take it as it came."""
    found = ((name, answer.headers.get(name)) for name in ("Content-Type", "Content-Language", "Last-Modified"))
    return {
        f"X-Archive-Orig-{name}": "".join(sign for sign in value if " " <= sign <= "~")[:1000]
        for name, value in found
        if value
    }


def as_file(url: str) -> Mapping[str, str]:
    """Return the fields that make a browser save a response as a file, named after the end of its URL."""
    name = url.partition("?")[0].rstrip("/").rpartition("/")[2][-_MAX_NAME_LENGTH:] or "capture"
    return {
        "Content-Type": "application/octet-stream",
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
    }
