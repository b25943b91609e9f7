"""Small sites for those who are known there, by cookie, password or login; made like those of ``liveweb_sites``."""

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import parse_qs

from aahcrawler.seeds import Verdict
from benchmarks.liveweb_sites import ALL, ARTICLES, LIST, Answer, Page, Site, html

USER, PASSWORD, VARIABLE = "archivist", "open sesame & more", "AAH_LIVEWEB_PASSWORD"
SESSION = "session-of-the-archivist"
"""What all cookies begin with by which somebody is known."""
_NONCE = "bGl2ZXdlYg"
_OUT = '<p><a class="out" href="/logout">Log out</a></p>'
_EVERYTHING = {"/": Answer(html(LIST + _OUT)), **ARTICLES}


Gate = Callable[[str, Mapping[str, str]], Answer | None]
"""Returns what is answered in place of a page, None where the page is shown."""


def _kept_by(gate: Gate, verdict: Verdict, network: Mapping[str, object], reach: frozenset[str], **more: Page) -> Site:
    """Return a site whose pages are shown to those whom a gate lets in."""

    def page(path: str) -> Page:
        def shown(target: str, headers: Mapping[str, str]) -> Answer:
            found = _EVERYTHING.get(path, Answer("", 404))
            answer = gate(target, headers)
            if answer is not None:
                return answer
            assert isinstance(found, Answer)
            return Answer(str(found.body).replace("</body>", f"{_OUT}</body>"), found.status, found.fields)

        return shown

    pages = {path: page(path) for path in _EVERYTHING}
    section = {"allow_private": "true", "secrets_over_http": ["127.0.0.1"], **network}
    return Site(verdict, {**pages, **{f"/{name}": each for name, each in more.items()}}, reach, icd=_icd(section))


def _icd(network: Mapping[str, object]) -> str:
    return f"network: {json.dumps(network)}\n"


def _asks(challenge: str, known: Callable[[str, str], bool]) -> Gate:
    def gate(target: str, headers: Mapping[str, str]) -> Answer | None:
        if known(target, headers.get("authorization", "")):
            return None
        return Answer("", 401, (("WWW-Authenticate", challenge), ("Content-Type", "text/html")))

    return gate


def _basic(_: str, sent: str) -> bool:
    return sent == "Basic " + b64encode(f"{USER}:{PASSWORD}".encode()).decode()


def _digest(target: str, sent: str) -> bool:
    given = dict(re.findall(r'(\w+)="?([^",]*)"?', sent))

    def hashed(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    middle = f"{_NONCE}:{given.get('nc')}:{given.get('cnonce')}:auth"
    return given.get("response") == hashed(f"{hashed(f'{USER}:x:{PASSWORD}')}:{middle}:{hashed(f'GET:{target}')}")


def _board(lasts: int, password: str, *, redirects: bool = True) -> Site:
    """Return a site with a login whose session ends after so many pages; without it pages ask for the login."""
    sessions: dict[str, int] = {}
    tokens: set[str] = set()

    def form() -> Answer:
        token = f"t{len(tokens)}"
        tokens.add(token)
        hidden = f'<input type="hidden" name="_token" value="{token}">'
        fields = '<input name="login"><input type="password" name="word"><button>Log in</button>'
        return Answer(html(f'<h1>Log in</h1><form method="post" action="/enter">{hidden}{fields}</form>'))

    def enter(_: str, headers: Mapping[str, str]) -> Answer:
        sent = {name: values[0] for name, values in parse_qs(headers.get(":body", "")).items()}
        if sent.get("_token") not in tokens or (sent.get("login"), sent.get("word")) != (USER, password):
            return form()
        sessions[f"{SESSION}-{len(sessions)}"] = lasts
        return Answer(
            "", 302, (("Location", "/"), ("Set-Cookie", f"id={SESSION}-{len(sessions) - 1}; Path=/; HttpOnly"))
        )

    def gate(_: str, headers: Mapping[str, str]) -> Answer | None:
        session = headers.get("cookie", "").partition("id=")[2]
        if sessions.get(session, 0) > 0:
            sessions[session] -= 1
            return None
        return Answer("", 302, (("Location", "/login"),)) if redirects else form()

    def logout(_: str, headers: Mapping[str, str]) -> Answer:
        sessions.pop(headers.get("cookie", "").partition("id=")[2], None)
        return Answer(html("<h1>Good-bye</h1>"))

    login = {
        "url": "{seed}login",
        "fields": {"login": USER, "word": {"env": VARIABLE}},
        "logged_in": "css=a.out",
    }
    is_right = password == PASSWORD
    verdict, reach = (Verdict.FETCHED, ALL | {"/"}) if is_right else (Verdict.LOGIN_FAILED, frozenset({"/login"}))
    return _kept_by(gate, verdict, {"logins": [login]}, reach, login=lambda *_: form(), enter=enter, logout=logout)


def _wants_cookie(target: str, headers: Mapping[str, str]) -> Answer | None:
    """Send those without a cookie to where they get one, and back."""
    if "pass=1" in headers.get("cookie", ""):
        return None
    return Answer("", 302, (("Location", f"/door?to={target}"),))


def _gate(target: str, _: Mapping[str, str]) -> Answer:
    return Answer("", 302, (("Location", target.partition("to=")[2]), ("Set-Cookie", "pass=1; Path=/")))


def _has(field: str, value: str) -> Gate:
    """Show pages where a field of the request has a value."""

    def gate(_: str, headers: Mapping[str, str]) -> Answer | None:
        return None if headers.get(field) == value else Answer(html("<h1>Forbidden</h1>"), 403)

    return gate


_KEY = {"headers": {"127.0.0.1": {"X-Api-Key": {"env": VARIABLE}, "X-Purpose": "archive"}}}
_ACCOUNT = {"accounts": {"127.0.0.1": {"user": USER, "password": {"env": VARIABLE}}}}
_STRANGER = {"accounts": {"127.0.0.1": {"user": "nobody", "password": {"env": VARIABLE}}}}
_DIGEST = f'Digest realm="x", nonce="{_NONCE}", qop="auth", algorithm=SHA-256'
_WHOLE = ALL | {"/"}
_LASTING = 10**6

MEMBERS: Mapping[str, Site] = {
    "cookie-gate": _kept_by(_wants_cookie, Verdict.FETCHED, {}, _WHOLE, door=_gate),
    "basic": _kept_by(_asks('Basic realm="x"', _basic), Verdict.FETCHED, _ACCOUNT, _WHOLE),
    "digest": _kept_by(_asks(_DIGEST, _digest), Verdict.FETCHED, _ACCOUNT, _WHOLE),
    "basic-wrong": _kept_by(_asks('Basic realm="x"', _basic), Verdict.LOGIN_FAILED, _STRANGER, frozenset({"/"})),
    "header": _kept_by(_has("x-api-key", PASSWORD), Verdict.FETCHED, _KEY, _WHOLE),
    "cookies-file": _kept_by(
        _has("cookie", f"id={SESSION}-0"), Verdict.FETCHED, {"cookies_file": "{folder}/cookies.txt"}, _WHOLE
    ),
    "login": _board(_LASTING, PASSWORD),
    "login-in-place": _board(_LASTING, PASSWORD, redirects=False),
    "login-lost": _board(3, PASSWORD),
    "login-lost-in-place": _board(3, PASSWORD, redirects=False),
    "login-wrong": _board(_LASTING, "another"),
}
"""Cases by name; their crawls find the password in the variable ``VARIABLE`` of the environment."""


def write_cookies(target: Path) -> None:
    """Write the cookies of somebody who has logged in with a browser."""
    target.write_text(f"# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tid\t{SESSION}-0\n", "utf-8")
    target.chmod(0o600)
