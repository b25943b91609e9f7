"""Sites that let nobody in whom they do not know: by cookie, password, key or form."""

import hashlib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

USER, PASSWORD, KEY = "archivist", "correct horse & battery=staple", "key-9b1f7c52aa"
TOPIC = "<p>The storm surge broke the dike, and the harbour stood under water for a week.</p>"
NONCE = "bm9uY2Ugb2YgdGhlIHRlc3Q"
COOKIE_HOSTS = ("cookie.test", "bounce.test", "forgetful.test")
HOSTS = (*COOKIE_HOSTS, "basic.test", "digest.test", "key.test", "members.test")


@dataclass(slots=True)
class Members:
    """What the sites know, and all that they were asked: host, method, path, headers, body.

    A session of members.test ends by itself after ``lasts`` pages.
    """

    lasts: int = 10**9
    password: str = PASSWORD
    asked: list[tuple[str, str, str, dict[str, str], str]] = field(default_factory=list)
    sessions: dict[str, int] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)
    logins: int = 0
    port: int = 0

    def of(self, host: str) -> list[tuple[str, str]]:
        """Return method and path of each request to a host, robots.txt apart."""
        return [(method, path) for at, method, path, _, _ in self.asked if at == host and path != "/robots.txt"]

    def network(self, **more: Any) -> dict[str, Any]:
        """Return the section that leads to the sites."""
        names = dict.fromkeys(HOSTS, f"127.0.0.1:{self.port}")
        return {"allow_private": ["127.0.0.0/8"], "resolve": names, "secrets_over_http": list(HOSTS), **more}


Said = tuple[int, dict[str, str], str]


def page(title: str, body: str = TOPIC) -> Said:
    """Return a page."""
    return 200, {}, f"<!doctype html><title>{title}</title><body>{body}</body>"


def to(target: str, **headers: str) -> Said:
    """Return a redirect."""
    return 302, {"Location": target, **headers}, ""


def answer(members: Members, asked: tuple[str, str, str, dict[str, str], str]) -> Said:
    """Answer a request as its host does."""
    host, method, path, headers, body = asked
    if path == "/robots.txt":
        return 404, {}, ""
    cookie = headers.get("Cookie", "")
    match host:
        case "cookie.test":
            return page("In") if "seen=1" in cookie else to("/", **{"Set-Cookie": "seen=1; Path=/"})
        case "bounce.test" if "seen=1" in cookie:
            return page("In")
        case "bounce.test":
            return to("/", **{"Set-Cookie": "seen=1; Path=/"}) if path == "/set" else to("/set")
        case "forgetful.test":
            return to("/", **{"Set-Cookie": f"seen={len(members.asked)}; Path=/"})
        case "basic.test":
            known = headers.get("Authorization") == "Basic YXJjaGl2aXN0OmNvcnJlY3QgaG9yc2UgJiBiYXR0ZXJ5PXN0YXBsZQ=="
            return (
                page("In", TOPIC + '<a href="/2">2</a>') if known else (401, {"WWW-Authenticate": "Basic realm=x"}, "")
            )
        case "digest.test":
            return digest(headers.get("Authorization", ""), method, path)
        case "key.test":
            return page("In") if headers.get("X-Api-Key") == KEY else (403, {}, "no key")
        case _:
            return of_members(members, method, path, cookie, body)


def digest(sent: str, method: str, path: str) -> Said:
    """Answer by RFC 7616, with SHA-256."""
    given = dict(re.findall(r'(\w+)="?([^",]*)"?', sent))

    def hashed(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    secret, what = hashed(f"{USER}:x:{PASSWORD}"), hashed(f"{method}:{path}")
    middle = f"{NONCE}:{given.get('nc')}:{given.get('cnonce')}:auth"
    if given.get("response") == hashed(f"{secret}:{middle}:{what}"):
        return page("In", TOPIC + '<a href="/2?a=b&amp;c=%20">2</a>')
    return 401, {"WWW-Authenticate": f'Digest realm="x", nonce="{NONCE}", qop="auth", algorithm=SHA-256'}, ""


def of_members(members: Members, method: str, path: str, cookie: str, body: str) -> Said:
    """Answer for a board that shows nothing to those who are not logged in."""
    place = urlsplit(path).path
    if place == "/login" and method == "GET":
        token = f"token-{len(members.asked)}"
        members.tokens.add(token)
        hidden = f'<input type=hidden name=csrf value="{token}"><input type=checkbox name=stay checked>'
        fields = '<input name=user><input type=password name=pass><button name=go value="Log in">Log in</button>'
        search = '<form action="/search"><input name=q></form>'
        return page("Log in", f'{search}<form method=post action="/login?do=it">{hidden}{fields}</form>')
    if place == "/login":
        sent = {name: values[0] for name, values in parse_qs(body).items()}
        known = sent.get("csrf") in members.tokens and sent.get("go") == "Log in" and sent.get("stay") == "on"
        if known and (sent.get("user"), sent.get("pass")) == (USER, members.password):
            members.logins += 1
            session = f"session-of-the-archivist-{members.logins}"
            members.sessions[session] = members.lasts
            return to("/", **{"Set-Cookie": f"sid={session}; Path=/; HttpOnly"})
        return page("Log in", "<p>That was wrong.</p><form method=post><input type=password name=pass></form>")
    session = cookie.partition("sid=")[2].partition(";")[0]
    if members.sessions.get(session, 0) <= 0:
        return to(f"/login?back={path}")
    members.sessions[session] -= 1
    if place in ("/logout", "/farewell"):
        del members.sessions[session]
        return page("Gone")
    links = "".join(f'<a href="/t/{number}">{number}</a> ' for number in range(1, 9))
    out = '<a class=out href="/logout?now=1">Log out</a> <a href="/farewell">Log out</a>'
    return page(f"Topic {place}", f"{TOPIC} {place} {links} {out} Your session is {session}, your word {PASSWORD}")


@contextmanager
def serving(members: Members) -> Iterator[Members]:
    """Serve the sites while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            """Answer any request."""
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            host = self.headers.get("Host", "").partition(":")[0]
            with lock:
                members.asked.append((host, self.command, self.path, dict(self.headers.items()), body))
                status, headers, text = answer(members, members.asked[-1])
            self.send_response(status)
            for name, value in {"Content-Type": "text/html; charset=utf-8", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        do_POST = do_GET  # noqa: N815 - the name is the library's

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    lock = threading.Lock()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    members.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield members
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
