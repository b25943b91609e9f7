"""Make settings and request headers of the wire client from an ICD."""

from pathlib import Path

from aahcrawler.crawl.fetch.route_settings import routes
from aahcrawler.wire.ip_policy import IpPolicy
from aahcrawler.wire.settings import Limits, Timeouts, WireSettings
from online_analysis.icd import Icd

PRODUCT = "AAHCrawler"
"""What robots.txt files call us: the first word of ``Icd.user_agent`` (RFC 9309, section 2.2.1)."""
LONGEST_REMAINS = 16_000
"""Bytes that are archived of a head which never ended: for a longer one FastWARC gives up the file that it is in."""
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
        "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        **({"Accept-Language": f"{languages}, *;q=0.5"} if languages else {}),
        "Accept-Encoding": "gzip, deflate",
    }
