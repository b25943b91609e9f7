"""What an ICD means to the wire client: settings and request headers."""

from pathlib import Path

from aahcrawler.wire.addresses import AddressPolicy
from aahcrawler.wire.settings import Limits, Timeouts, WireSettings
from online_analysis.icd import Icd

LONGEST_TRANSFER = 3600.0
"""Seconds that a body may take as long as it keeps coming; large files on slow servers are wanted."""


def wire_settings(icd: Icd, spool: Path) -> WireSettings:
    """Return the settings of the client that crawls for an ICD; large bodies go to files in ``spool``."""
    patience = icd.politeness.timeout.total_seconds()
    return WireSettings(
        spool=spool,
        addresses=AddressPolicy(
            allow_private=icd.network.allow_private,
            resolve={host: str(endpoint) for host, endpoint in icd.network.resolve.items()},
        ),
        timeouts=Timeouts(connect=patience, first_byte=patience, idle=patience, total=LONGEST_TRANSFER),
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
