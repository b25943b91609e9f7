"""Small sites that behave as sites on the web do: walls, frames, redirects, encodings, and servers that do not answer.

Each names the paths that a reader with a browser without scripts reaches, and the verdict that its seed deserves. Walls
come in variants of other wording and make: those called ``unseen`` were written after the detection, which was not
changed for them.
"""

import gzip
import json
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from threading import Event, Thread

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from aahcrawler.seeds import Verdict
from benchmarks.proxies import RunningProxy, http_proxy, proxying, socks_proxy
from benchmarks.proxy_servers import SERVERS, Rules
from benchmarks.trap_sites import prose

KEYWORD = "harbour"
"""What crawls of these sites look for; every article has it."""

PROXY_PASSWORD = "a-word-of-the-proxy"  # noqa: S105 - of a proxy of ours
"""What proxies ask for; no space in it, which one of them cannot have."""

Fields = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a path is answered with. ``slow`` are the seconds over which the body is sent."""

    body: str | bytes = ""
    status: int = 200
    fields: Fields = (("Content-Type", "text/html; charset=utf-8"),)
    slow: float = 0.0


Page = Answer | Callable[[str, Mapping[str, str]], Answer]
"""An answer, or what makes one of the target and the headers of a request; ``:body`` is what was sent with it."""


@dataclass(frozen=True, slots=True)
class Site:
    """A site of one case. ``pages`` answers paths, ``other`` what is at none of them.

    ``reachable`` are the paths that a reader reaches, and ``verdict`` is that on the seed. ``listen`` is how the server
    behaves below HTTP: ``http``, ``tls``, ``tls-client`` (which asks for a certificate), ``closed``, ``silent``,
    ``drop``, ``banner`` or ``unresolved``. ``icd`` is added to the definition: ``{proxy}`` in it is the URL of a proxy,
    which ``proxy`` describes (``http``, ``socks5h``, ``socks5``, ``login`` or ``refusing``; or one of ``proxy_servers``
    alone or with ``-login`` or ``-refusing``), and ``{folder}`` has the server's certificate and the proxy's password.
    """

    verdict: Verdict
    pages: Mapping[str, Page] = field(default_factory=dict)
    reachable: frozenset[str] = frozenset()
    other: Page = Answer("<h1>Not found</h1>", 404)
    listen: str = "http"
    icd: str = ""
    proxy: str = ""


def html(body: str, head: str = "", title: str = "Harbour news", lang: str = "en") -> str:
    """Return a page."""
    return (
        f'<!doctype html><html lang="{lang}"><head><meta charset="utf-8"><title>{title}</title>{head}</head>'
        f"<body>{body}</body></html>"
    )


def article(name: str) -> Answer:
    """Return an article about the harbour."""
    said = "".join(f"<p>The {KEYWORD} of {name}: {prose(f'{name} {n}', 50)}</p>" for n in range(4))
    day = '<time datetime="2024-05-03">3 May 2024</time>'
    return Answer(html(f"<main><article><h1>The {KEYWORD} of {name}</h1>{day}{said}</article></main>", title=name))


NAMES = ("north", "south", "east", "west")
ARTICLES: Mapping[str, Page] = {f"/{name}.html": article(name) for name in NAMES}
LINKS = "".join(f'<li><a href="/{name}.html">The {KEYWORD} of {name}, and its ships</a></li>' for name in NAMES)
LIST = f"<h1>All about the {KEYWORD}</h1><p>What is new at the {KEYWORD} this week.</p><ul>{LINKS}</ul>"
ALL = frozenset(ARTICLES)


def open_site(front: Page, more: Mapping[str, Page] | None = None, reach: frozenset[str] = ALL, icd: str = "") -> Site:
    """Return a site that can be read."""
    return Site(Verdict.FETCHED, {"/": front, **ARTICLES, **(more or {})}, reach | {"/"}, icd=icd)


def walled(verdict: Verdict, body: str, head: str = "", status: int = 200, fields: Fields = ()) -> Site:
    """Return a site of which every page is the same wall."""
    wall = Answer(html(body, head, title="One moment"), status, (("Content-Type", "text/html"), *fields))
    return Site(verdict, {"/": wall, "/robots.txt": Answer("", 404)}, frozenset({"/"}), other=wall)


def _own(hosts: Mapping[str, object], listen: str, **network: object) -> Site:
    """Return a site that is reached as ``network.hosts`` says."""
    icd = f"network: {json.dumps({'allow_private': True, 'hosts': hosts, **network})}\n"
    return replace(open_site(Answer(html(LIST)), icd=icd), listen=listen)


def behind(proxy: str, hosts: Mapping[str, object] | None = None, listen: str = "http", **section: object) -> Site:
    """Return a site that is reached through a proxy."""
    return replace(_own(hosts or {}, listen, proxy={"url": "{proxy}", **section}), proxy=proxy)


def redirect(target: str, status: int = 302, *fields: tuple[str, str]) -> Answer:
    """Return a redirect."""
    return Answer("", status, (("Location", target), *fields))


def _needs_cookie(_: str, headers: Mapping[str, str]) -> Answer:
    if "seen=1" in headers.get("cookie", ""):
        return Answer(html(LIST))
    return redirect("/", 302, ("Set-Cookie", "seen=1; Path=/"))


def _never_satisfied(_: str, headers: Mapping[str, str]) -> Answer:
    """Ask for another cookie each time."""
    return redirect("/", 302, ("Set-Cookie", f"seen={len(headers.get('cookie', ''))}x{time.time()}; Path=/"))


def _counting(target: str, _: Mapping[str, str]) -> Answer:
    """Redirect for ever."""
    number = int(target.partition("=")[2] or 0)
    return redirect(f"/?n={1 - number}")


_ROBOTS_NO = Answer("User-agent: *\nDisallow: /\n", fields=(("Content-Type", "text/plain"),))
_SITEMAP = Answer(
    '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    + "".join(f"<url><loc>{{base}}/{name}.html</loc></url>" for name in NAMES)
    + "</urlset>",
    fields=(("Content-Type", "application/xml"),),
)
_FRAMES = (
    "<!doctype html><html><head><title>Harbour</title></head><frameset cols='20%,80%'>"
    "<frame src='/menu.html' name='menu'><frame src='/start.html' name='main'>"
    "<noframes><body>Your browser shows no frames.</body></noframes></frameset></html>"
)
_FORM_LOGIN = (
    "<h1>Members only</h1><form method=post action=/session><label>Name <input name=user></label>"
    "<label>Password <input type=password name=pass></label><button>Log in</button></form>"
    "<a href=/register>Register</a> <a href=/lost>Lost password</a>"
)
_CONSENT_EN = (
    "<h1>We value your privacy</h1><p>We and our 834 partners store cookies on your device. By pressing accept you"
    " consent to tracking.</p><form method=post action=/><button>Accept all</button><button>Reject</button></form>"
    "<a href='/privacy'>Privacy policy</a> <a href='/imprint'>Imprint</a>"
)
_CONSENT_DE = (
    "<h2>Bevor es weitergeht</h2><p>Diese Seite verwendet Cookies. Für die Nutzung brauchen wir Ihre Einwilligung in"
    " die Verarbeitung Ihrer Daten.</p><a href='/?ok=1'>Zustimmen und weiter</a> <a href='/?ok=0'>Ablehnen</a>"
    "<a href='/datenschutz'>Datenschutz</a>"
)
_CONSENT_FR = (
    "<div class=bandeau><p>Avec votre accord, nous et nos partenaires utilisons des cookies ou traceurs. Vous pouvez"
    " retirer votre consentement à tout moment.</p><a href='/choix?retour=%2F'>Accepter &amp; fermer</a>"
    "<a href='/abonnement?retour=%2F'>S'abonner sans cookies</a></div>"
)
_BROWSER_CHECK = (
    "<h1>Checking your browser</h1><p id=s>Please wait.</p><script>var n=0;while(n<1e5)n++;"
    "document.cookie='ok='+n+';path=/';location.reload();</script>"
)
_APP = (
    "<div id=root></div><noscript>You need to enable JavaScript to run this app.</noscript>"
    "<script src=/app.js></script>"
)

SITES: Mapping[str, Site] = {
    "plain": open_site(Answer(html(LIST))),
    "frameset": open_site(
        Answer(_FRAMES),
        {"/menu.html": Answer(html(f"<ul>{LINKS}</ul>")), "/start.html": article("start")},
        ALL | {"/menu.html", "/start.html"},
    ),
    "nested-frameset": open_site(
        Answer(
            "<html><frameset rows='*,*'><frame src=top.html><frameset cols='*,*'><frame src=menu.html></frameset>"
            "</frameset></html>"
        ),
        {"/top.html": article("top"), "/menu.html": Answer(html(f"<ul>{LINKS}</ul>"))},
        ALL | {"/top.html", "/menu.html"},
    ),
    "iframe": open_site(
        Answer(html("<h1>Harbour</h1><iframe src=/inner.html></iframe>")),
        {"/inner.html": Answer(html(LIST))},
        ALL | {"/inner.html"},
    ),
    "meta-refresh": open_site(
        Answer(html("", "<meta http-equiv=refresh content='0; url=/home.html'>")),
        {"/home.html": Answer(html(LIST))},
        ALL | {"/home.html"},
    ),
    "meta-refresh-delayed": open_site(
        Answer(html("<p>You are being forwarded.</p>", "<meta http-equiv='Refresh' content='5;URL=\"home.html\"'>")),
        {"/home.html": Answer(html(LIST))},
        ALL | {"/home.html"},
    ),
    "redirects": open_site(
        redirect("/a", 301),
        {"/a": redirect("/b", 302), "/b": redirect("/home.html", 308), "/home.html": Answer(html(LIST))},
        ALL | {"/a", "/b", "/home.html"},
    ),
    "base-href": open_site(
        Answer(html("<a href='list.html'>The list</a>", "<base href='/sub/'>")),
        {"/sub/list.html": Answer(html(LIST))},
        ALL | {"/sub/list.html"},
    ),
    "image-map": open_site(
        Answer(
            html(
                "<h1>Harbour</h1><img src=/m.png usemap=#m><map name=m>"
                + "".join(f"<area shape=rect coords='0,0,9,9' href='/{name}.html'>" for name in NAMES)
                + "</map>"
            )
        )
    ),
    "link-next": open_site(
        Answer(html(f"<h1>All about the {KEYWORD}</h1><p>First part.</p>", "<link rel=next href=/p2.html>")),
        {"/p2.html": Answer(html(LIST))},
        ALL | {"/p2.html"},
    ),
    "svg-links": open_site(
        Answer(
            html(
                "<h1>Harbour</h1><svg>"
                + "".join(f"<a xlink:href='/{name}.html'><text>{name}</text></a>" for name in NAMES)
                + "</svg>"
            )
        )
    ),
    "sitemap-only": open_site(
        Answer(html(f"<h1>The {KEYWORD}</h1><p>Welcome to the {KEYWORD}. {prose('welcome', 40)}</p>")),
        {"/sitemap.xml": _SITEMAP},
        icd="sources: {sitemaps: guess}\n",
    ),
    "windows-1252": open_site(
        Answer(
            html(LIST + "<a href='/caf\u00e9.html'>Caf\u00e9</a>").replace("utf-8", "windows-1252").encode("cp1252"),
            fields=(("Content-Type", "text/html"),),
        ),
        {"/caf%C3%A9.html": article("café")},
        ALL | {"/caf%C3%A9.html"},
    ),
    "shift-jis": open_site(
        Answer(
            html(f"<h1>港</h1><p>{'港の話です。' * 20}</p>{LIST}").replace("utf-8", "shift_jis").encode("shift_jis"),
            fields=(("Content-Type", "text/html"),),
        )
    ),
    "gzip": open_site(
        Answer(gzip.compress(html(LIST).encode()), fields=(("Content-Type", "text/html"), ("Content-Encoding", "gzip")))
    ),
    "two-content-types": open_site(
        Answer(html(LIST), fields=(("Content-Type", "text/plain"), ("Content-Type", "text/html; charset=utf-8")))
    ),
    "no-content-type": open_site(Answer(html(LIST), fields=())),
    "large-head": open_site(Answer(html(LIST), fields=(("Content-Type", "text/html"), ("Set-Cookie", "x" * 60_000)))),
    "slow-body": open_site(Answer(html(LIST), slow=3.0)),
    "redirect-loop": Site(Verdict.REDIRECT_LOOP, {"/": _counting}, frozenset({"/"})),
    "cookie": open_site(_needs_cookie),
    "cookie-loop": Site(Verdict.COOKIE_WALL, {"/": _never_satisfied}, frozenset({"/"})),
    "consent-en": walled(Verdict.CONSENT, _CONSENT_EN),
    "consent-de": walled(Verdict.CONSENT, _CONSENT_DE),
    "unseen-consent-fr": walled(Verdict.CONSENT, _CONSENT_FR),
    "consent-redirect": Site(
        Verdict.CONSENT,
        {"/": redirect("/consent?return=%2F"), "/consent": Answer(html(_CONSENT_EN))},
        frozenset({"/", "/consent?return=%2F"}),
    ),
    "login-form": walled(Verdict.LOGIN, _FORM_LOGIN),
    "login-redirect": Site(
        Verdict.LOGIN,
        {"/": redirect("/login?next=/"), "/login": Answer(html(_FORM_LOGIN))},
        frozenset({"/", "/login?next=/"}),
    ),
    "basic-401": walled(
        Verdict.UNAUTHORIZED, "<h1>Unauthorized</h1>", status=401, fields=(("WWW-Authenticate", 'Basic realm="x"'),)
    ),
    "forbidden": walled(Verdict.FORBIDDEN, "<h1>403 Forbidden</h1>", status=403),
    "challenge-header": walled(
        Verdict.CHALLENGE, "<h1>Just a moment...</h1>", status=403, fields=(("cf-mitigated", "challenge"),)
    ),
    "challenge-cookie": walled(Verdict.CHALLENGE, _BROWSER_CHECK),
    "challenge-captcha": walled(
        Verdict.CHALLENGE,
        "<p>Are you human?</p><div class=h-captcha data-sitekey=x></div><script src=//hcaptcha.com/1/api.js></script>",
        status=200,
    ),
    "unseen-challenge-pow": walled(
        Verdict.CHALLENGE,
        "<p>We are verifying that your connection is secure.</p><script>crypto.subtle.digest('SHA-256',"
        "new Uint8Array(4)).then(function(h){document.forms[0].submit()})</script>"
        "<form method=post action=/verify></form>",
        status=503,
    ),
    "script-only": walled(Verdict.SCRIPTS, _APP),
    "unseen-script-only": walled(
        Verdict.SCRIPTS, "<app-root>Loading</app-root><script type=module src=/main.js></script>"
    ),
    "empty": walled(Verdict.EMPTY, ""),
    "soft-404": walled(Verdict.SOFT_404, "<h1>404</h1><p>The page that you asked for was not found.</p>"),
    "soft-404-de": walled(Verdict.SOFT_404, "<h2>Seite nicht gefunden</h2><p>Leider gibt es sie nicht mehr.</p>"),
    "not-found": walled(Verdict.NOT_FOUND, "<h1>Not found</h1>", status=404),
    "gone": walled(Verdict.NOT_FOUND, "<h1>Gone</h1>", status=410),
    "server-error": walled(Verdict.SERVER_ERROR, "<h1>Internal error</h1>", status=500),
    "too-many": walled(Verdict.TOO_MANY, "<h1>Slow down</h1>", status=429),
    "robots": Site(Verdict.ROBOTS, {"/": Answer(html(LIST)), "/robots.txt": _ROBOTS_NO}),
    "robots-error": Site(Verdict.ROBOTS_UNREACHABLE, {"/": Answer(html(LIST)), "/robots.txt": Answer("", 503)}),
    "language": Site(
        Verdict.LANGUAGE,
        {
            "/": Answer(
                html(
                    "<h1>Der Hafen</h1><p>"
                    + "Heute liegen im Hafen viele Schiffe, und die Leute warten auf das Wetter. " * 9
                    + "</p><a href='/norden.html'>Der Norden</a>",
                    lang="de",
                )
            )
        },
        frozenset({"/"}),
        icd="scope: {languages: [en]}\n",
    ),
    "off-topic": Site(
        Verdict.OFF_TOPIC,
        {
            "/": Answer(
                html(f"<h1>Cooking</h1><p>{prose('cooking', 120)}</p><a href=/soup.html>Soup</a>", title="Cooking")
            ),
            "/soup.html": Answer(html(f"<h1>Soup</h1><p>{prose('soup', 120)}</p>", title="Soup")),
        },
        frozenset({"/", "/soup.html"}),
    ),
    "out-of-scope": Site(Verdict.OUT_OF_SCOPE, {"/": redirect("http://127.0.0.77:9/")}, frozenset({"/"})),
    "private": Site(Verdict.PRIVATE, {"/": Answer(html(LIST))}, icd="network: {allow_private: false}\n"),
    "certificate": Site(Verdict.CERTIFICATE, {"/": Answer(html(LIST))}, listen="tls"),
    "certificate-accepted": _own({"127.0.0.1": {"certificates": "accept"}}, listen="tls"),
    "certificate-trusted": _own({"127.0.0.1": {"ca_file": "{folder}/server.pem"}}, listen="tls"),
    "client-certificate": _own(
        {"127.0.0.1": {"ca_file": "{folder}/server.pem", "client_certificate": "{folder}/server.pem"}},
        listen="tls-client",
    ),
    "proxy": behind("http"),
    "proxy-tls": behind("http", {"127.0.0.1": {"certificates": "accept"}}, listen="tls"),
    "proxy-forward": behind("http", plain="forward"),
    "proxy-socks": behind("socks5h"),
    "proxy-socks-local": behind("socks5"),
    "proxy-login": behind("login", user="me", password={"file": "{folder}/password"}),
    "proxy-refuses": replace(behind("refusing"), verdict=Verdict.PROXY_REFUSED, reachable=frozenset()),
    "refused": Site(Verdict.REFUSED, listen="closed"),
    "silent": Site(Verdict.TIMEOUT, listen="silent"),
    "dropped": Site(Verdict.DISCONNECTED, listen="drop"),
    "no-http": Site(Verdict.NO_HTTP, listen="banner"),
    "unresolved": Site(Verdict.NAME, listen="unresolved"),
}


@contextmanager
def serving(site: Site, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve a site on loopback; yield the seed's URL and the list to which every target asked for is added.

    ``folder`` takes the certificate of a site with TLS.
    """
    asked: list[str] = []
    match site.listen:
        case "unresolved":
            yield "http://no-such-host.invalid/", asked
        case "closed":
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                yield f"http://127.0.0.1:{free.getsockname()[1]}/", asked
        case "silent" | "drop" | "banner":
            with _raw(site.listen) as port:
                yield f"http://127.0.0.1:{port}/", asked
        case _:
            with _http(site, asked, folder) as port:
                yield f"{'https' if site.listen.startswith('tls') else 'http'}://127.0.0.1:{port}/", asked


@contextmanager
def proxying_for(site: Site, folder: Path) -> Iterator[str]:
    """Run the proxy of a site, and yield its URL, empty where it has none; ``folder`` takes the proxy's password."""
    if not site.proxy:
        yield ""
        return
    password = folder / "password"
    password.write_text(PROXY_PASSWORD)
    password.chmod(0o600)
    program, _, rule = site.proxy.partition("-")
    if program in SERVERS:
        login = ("me", PROXY_PASSWORD) if rule == "login" else ("", "")
        with SERVERS[program].running(folder, Rules(*login, refuses=rule == "refusing")) as url:
            yield url
        return
    known = ("me", PROXY_PASSWORD) if site.proxy == "login" else None
    refuses = frozenset({"127.0.0.1"} if site.proxy == "refusing" else ())
    kind = site.proxy if site.proxy.startswith("socks") else "http"
    speaks = http_proxy if kind == "http" else socks_proxy
    with proxying(RunningProxy(refuses=refuses, login=known), speaks) as proxy:
        yield f"{kind}://127.0.0.1:{proxy.port}"


@contextmanager
def _http(site: Site, asked: list[str], folder: Path) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(self.path)
            page = site.pages.get(self.path, site.pages.get(self.path.partition("?")[0], site.other))
            if self.path == "/robots.txt" and self.path not in site.pages:
                page = Answer("", 404)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode("latin-1")
            headers = {":body": body, **{name.lower(): value for name, value in self.headers.items()}}
            self._send(page if isinstance(page, Answer) else page(self.path, headers))

        do_POST = do_GET  # noqa: N815

        def _send(self, answer: Answer) -> None:
            body = answer.body if isinstance(answer.body, bytes) else answer.body.encode()
            body = body.replace(b"{base}", f"http://{self.headers['Host']}".encode())
            self.send_response(answer.status)
            for name, value in answer.fields:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            parts = 6 if answer.slow else 1
            size = len(body) // parts + 1
            for n in range(parts):
                self.wfile.write(body[n * size : (n + 1) * size])
                self.wfile.flush()
                time.sleep(answer.slow / parts if answer.slow else 0)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if site.listen.startswith("tls"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        (folder / "server.pem").write_bytes(_certificate())
        (folder / "server.pem").chmod(0o600)
        context.load_cert_chain(folder / "server.pem")
        if site.listen == "tls-client":
            context.load_verify_locations(folder / "server.pem")
            context.verify_mode = ssl.CERT_REQUIRED
        server.socket = context.wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def _raw(kind: str) -> Iterator[int]:
    """Listen, and say nothing, hang up at once, or greet in another protocol."""
    ended, held = Event(), list[socket.socket]()

    def serve() -> None:
        while not ended.is_set():
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            if kind == "silent":
                held.append(connection)
                continue
            if kind == "banner":
                connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
            connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        Thread(target=serve, daemon=True).start()
        try:
            yield listening.getsockname()[1]
        finally:
            ended.set()
            listening.shutdown(socket.SHUT_RDWR)
            for connection in held:
                connection.close()


@cache
def _certificate() -> bytes:
    """Return the key and certificate of a host, which nobody has signed, in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")]), datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private + signed.public_bytes(serialization.Encoding.PEM)
