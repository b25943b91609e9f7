"""Cookies on their way between a site's session and the browser that visits one of its pages."""

import time
from collections.abc import Iterator, Sequence
from http.cookiejar import Cookie as KeptCookie
from typing import Final

from aahcrawler.browser.visits.visit_order import Cookie
from aahcrawler.credentials.site_cookies import (
    MOST_BYTES,
    MOST_COOKIES,
    SiteCookies,
    is_http_only,
    same_site,
    shown_to,
    site_of_domain,
)

_LOCAL: Final = ".local"
"""What the standard library adds to hosts without a dot (RFC 2965, section 1)."""


def begun_with(cookies: SiteCookies) -> tuple[Cookie, ...]:
    """Return the cookies of a site as a browser takes them."""
    return tuple(
        Cookie(
            each.name,
            each.value or "",
            each.domain.removesuffix(_LOCAL),
            each.path,
            secure=each.secure,
            http_only=is_http_only(each),
            same_site=same_site(each),
            expires=None if each.expires is None else float(each.expires),
        )
        for each in cookies.all()
    )


def brought_back(site: str, cookies: Sequence[Cookie], begun: Sequence[Cookie]) -> Iterator[KeptCookie]:
    """Yield the cookies of a site that a browser has at the end, and did not begin with, as the session keeps them.

    Such as are too long, or expired, are left out.
    """
    known = {(each.name, each.domain, each.path): each.value for each in begun}
    host = site.rpartition(":")[0] or site
    for each in cookies[:MOST_COOKIES]:
        is_news = known.get((each.name, each.domain, each.path)) != each.value
        is_sites = site_of_domain(each.domain) in (site, host)
        is_over = each.expires is not None and 0 <= each.expires <= time.time()
        if is_news and is_sites and not is_over and len(each.name) + len(each.value) <= MOST_BYTES:
            yield _kept(each)


def _kept(cookie: Cookie) -> KeptCookie:
    domain = cookie.domain if "." in cookie.domain else cookie.domain + _LOCAL
    is_wide = domain.startswith(".")
    # Browsers write -1 for a cookie that ends with the session.
    expires = int(cookie.expires) if cookie.expires is not None and cookie.expires >= 0 else None
    return KeptCookie(
        version=0,
        name=cookie.name,
        value=cookie.value,
        port=None,
        port_specified=False,
        domain=domain,
        domain_specified=is_wide,
        domain_initial_dot=is_wide,
        path=cookie.path,
        path_specified=True,
        secure=cookie.secure,
        expires=expires,
        discard=expires is None,
        comment=None,
        comment_url=None,
        rest=shown_to(http_only=cookie.http_only, same_site=cookie.same_site),
    )
