"""Fetch one page for a person, as politely as a crawl would, and tell which line of a robots.txt forbids it."""

import asyncio
import re
import tempfile
from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from urllib.parse import urlsplit

from aahcrawler import urls
from aahcrawler.page import Page
from aahcrawler.wire.client import IpPolicy, Limits, RefusedAddressError, Timeouts, WireClient, WireError, WireSettings
from aahcrawler.wire.ip_policy import Network
from aahcrawler.wire.polite_client import DelayError, Manners, PoliteClient, TooManyRedirectsError
from aahcrawler.wire.robots_txt import RobotsDeniedError, RobotsUnreachableError
from online_analysis.icd import Politeness, user_agent

PAGE_BYTES = 10 * 1024 * 1024
"""The bytes of a page that are read; the rest is left out."""
TIMEOUTS = Timeouts(connect=15.0, first_byte=30.0, idle=20.0, total=90.0)
_POLITENESS = Politeness.model_validate({"delay": "0 s"})
"""A page is wanted at once after its robots.txt, unless that asks for a Crawl-delay."""
_CONTACT = re.compile(r"(?:mailto:)?[!-~]+@[!-~]+|https?://[!-~]+")


class FetchError(Exception):
    """A page could not be fetched; the message says why and what to do."""


def fetch_page(
    url: str,
    *,
    allow_private: bool = False,
    contact: str = "",
    redirected: Callable[[str, str], object] = lambda _, __: None,
    addresses: IpPolicy | None = None,
) -> Page:
    """Fetch one page, whatever its status, and follow redirects to it.

    The page's ``url`` is that of the last redirect, in canonical form; ``redirected`` is called with each step (from,
    to). Every host's robots.txt is fetched first and obeyed, its Crawl-delay as well. ``contact`` is an e-mail address
    or a URL at which the site's owner reaches the user, part of the User-Agent; it may be empty with ``allow_private``
    alone, which permits hosts on private networks. A URL that names this machine, or a private IP address, permits that
    as well: a person typed it here. Where ``addresses`` is given, it alone says where connections may go. Pages are cut
    at ``PAGE_BYTES``, and each request takes at most ``TIMEOUTS.total`` seconds. Must not be called in a running event
    loop. Raises `FetchError`.
    """
    address = urls.canonicalize(url.strip())
    if address is None:
        raise FetchError(f"{url!r} is no URL; write one that begins with http:// or https://")
    policy = addresses or IpPolicy(allow_private or _named_networks(address))
    agent = _agent(contact, needed=addresses is not None or not policy.allow_private)
    with tempfile.TemporaryDirectory(prefix="aah-") as spool:
        settings = WireSettings(
            Path(spool),
            policy,
            TIMEOUTS,
            Limits(body_bytes=PAGE_BYTES, payload_bytes=PAGE_BYTES),
        )
        return asyncio.run(_fetch(address, settings, agent, redirected))


def _named_networks(url: str) -> tuple[Network, ...]:
    """Return the private networks named by a URL that a person typed: this machine, or its private IP address."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return (IPv4Network("127.0.0.0/8"), IPv6Network("::1/128"))
    try:
        address = ip_address(host)
    except ValueError:
        return ()
    return () if address.is_global else (ip_network(address),)


def _agent(contact: str, *, needed: bool) -> str:
    contact = contact.strip()
    if needed and not contact:
        raise FetchError(
            "give a contact, so that the owner of the site can reach you: --contact you@example.org, or set AAH_CONTACT"
        )
    if contact and not _CONTACT.fullmatch(contact):
        raise FetchError(f"{contact!r} is neither an e-mail address nor a URL; write --contact you@example.org")
    return user_agent(contact)


async def _fetch(url: str, settings: WireSettings, agent: str, redirected: Callable[[str, str], object]) -> Page:
    headers = {"User-Agent": agent, "Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"}
    client = WireClient(settings)
    try:
        polite = PoliteClient(client, _POLITENESS, Manners(headers, PAGE_BYTES, patience=TIMEOUTS.total))
        return await polite.final_page(url, redirected)
    except RobotsDeniedError as error:
        raise FetchError(f"{error}. Save the page with your browser and give the file.") from error
    except RobotsUnreachableError as error:
        raise FetchError(f"{error}, so nothing may be fetched from there now; try again later") from error
    except DelayError as error:
        raise FetchError(f"{url}: {error}; try again later") from error
    except TooManyRedirectsError as error:
        raise FetchError(f"{error}; give the URL of the page itself") from error
    except RefusedAddressError as error:
        reason = str(error).partition(";")[0]
        raise FetchError(f"{url} was not asked: {reason}. If it is your own machine, add --allow-private.") from error
    except WireError as error:
        advice = "try again later" if error.retryable else "check the URL"
        raise FetchError(f"{url} gave no answer: {error}; {advice}") from error
    finally:
        await client.close()
