"""Make settings, request headers and routes of the wire client from an ICD."""

import os
import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from aahcrawler.credentials.given import credential_mistakes
from aahcrawler.wire.dial import tls_context
from aahcrawler.wire.ip_policy import IpPolicy
from aahcrawler.wire.settings import Limits, Proxy, ProxyKind, Route, Routes, Timeouts, Tls, WireSettings
from online_analysis.icd import Icd, Mistake
from online_analysis.icd.connections import HostConnection, ProxySection
from online_analysis.icd.secrets import PrivateFileError, Secret, SecretError, private_content

MAX_REMAINS_LENGTH = 16_000
"""Bytes that are archived of a head which never ended: for a longer one FastWARC gives up the file that it is in."""
ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
ACCEPT_RDF = (
    "text/turtle,application/n-triples,application/trig,application/n-quads,application/ld+json;q=0.9,"
    "application/rdf+xml;q=0.9,text/html;q=0.7,application/xhtml+xml;q=0.7,application/xml;q=0.6,*/*;q=0.5"
)
"""What is asked for where RDF goes before HTML: JSON-LD later, since its remote contexts are not loaded."""
ACCEPT_RESULTS = (
    "application/sparql-results+json,application/sparql-results+xml;q=0.9,application/n-triples,text/turtle;q=0.9,"
    "application/rdf+xml;q=0.8,text/csv;q=0.5,*/*;q=0.1"
)
"""What SPARQL endpoints are asked for: results of SELECT, or the graph of CONSTRUCT."""
PATIENCE = 30
"""A body may take this many times ``politeness.timeout`` while it keeps coming: slow servers have large files too."""


def wire_settings(icd: Icd, spool: Path) -> WireSettings:
    """Return the settings of the client that crawls for an ICD; large bodies go to files in ``spool``."""
    patience = icd.politeness.timeout.total_seconds()
    return WireSettings(
        spool=spool,
        addresses=IpPolicy(
            allow_private=icd.network.allow_private,
            resolve={host: str(endpoint) for host, endpoint in icd.network.resolve.items()},
        ),
        routes=routes(icd),
        timeouts=Timeouts(connect=patience, first_byte=patience, idle=patience, total=PATIENCE * patience),
        limits=Limits(payload_bytes=icd.limits.page_bytes),
    )


def request_headers(icd: Icd) -> dict[str, str]:
    """Return the headers of every request for an ICD, an honest User-Agent among them."""
    languages = ", ".join(icd.scope.languages)
    return {
        "User-Agent": icd.user_agent(),
        "Accept": ACCEPT_RDF if icd.sources.linked_data == "first" else ACCEPT,
        **({"Accept-Language": f"{languages}, *;q=0.5"} if languages else {}),
        "Accept-Encoding": "gzip, deflate",
    }


ENVIRONMENT = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
"""Variables by which other programs are given a proxy; in lower case as well."""


def routes(icd: Icd) -> Routes:
    """Return the routes of a definition. Raise ``SecretError`` for a secret that cannot be had."""
    network = icd.network
    general = Route(_proxy(network.proxy) if network.proxy else None)
    hosts = {
        host: Route(general.proxy if own.proxy is None else _proxy(own.proxy), _tls(own))
        for host, own in network.hosts.items()
    }
    return Routes(general, hosts)


def connection_mistakes(icd: Icd) -> tuple[Mistake, ...]:
    """Return what of a definition's secrets and certificates is of no use on this machine."""
    problems = (problem for host, own in icd.network.hosts.items() for problem in _tls_problems(host, own))
    return (*credential_mistakes(icd), *(icd.network_mistake(*problem) for problem in problems))


def notes(icd: Icd) -> Iterator[str]:
    """Yield what a person has to know of a definition's connections when its crawl begins."""
    given = [name for name in ENVIRONMENT if os.environ.get(name) or os.environ.get(name.lower())]
    if given and icd.network.proxy is None:
        yield f"{', '.join(given)} is set and not used: proxies are named by network.proxy in the ICD"
    if names := icd.network.resolving_proxies:
        yield (
            f"hosts behind {', '.join(names)} are resolved there: whether their IP addresses are private is not "
            "judged, and they are kept apart by name"
        )
    accepting = [host for host, own in icd.network.hosts.items() if own.certificates == "accept"]
    if accepting:
        yield f"certificates that do not verify are accepted from {', '.join(accepting)}, and noted in the archive"


def _proxy(section: ProxySection) -> Proxy | None:
    if section.is_direct:
        return None
    url = urlsplit(section.url)
    assert url.hostname is not None and url.port is not None  # noqa: S101, PT018  # the definition was checked
    kind = ProxyKind(url.scheme)
    forwards = section.plain == "forward" and kind is ProxyKind.HTTP
    return Proxy(kind, url.hostname, url.port, section.user, _revealed(section.password), forwards)


def _tls(own: HostConnection) -> Tls:
    ca_file, certificate, key = (
        Path(name).expanduser() if name else None for name in (own.ca_file, own.client_certificate, own.client_key)
    )
    return Tls(own.certificates == "accept", ca_file, certificate, key, _revealed(own.client_passphrase))


def _revealed(secret: Secret | None) -> str:
    return "" if secret is None else secret.reveal()


def _tls_problems(host: str, own: HostConnection) -> Iterator[tuple[tuple[str, ...], str, str]]:
    if key := own.client_key or own.client_certificate:
        try:
            private_content(key)
        except PrivateFileError as error:
            field = "client_key" if own.client_key else "client_certificate"
            advice = f"put it there, and keep it to yourself: chmod 600 {key}"
            yield ("hosts", host, field), f"names a file with a key, which {error}", advice
            return
    try:
        tls_context(_tls(own), verify=True)
    except SecretError:
        return  # It is named among the secrets.
    except OSError as error:
        why = "is no certificate with its key, or needs another passphrase"
        said = why if isinstance(error, ssl.SSLError) else f"cannot be read ({error.strerror})"
        field = "client_certificate" if own.client_certificate else "ca_file"
        yield ("hosts", host, field), said, "name PEM files"
