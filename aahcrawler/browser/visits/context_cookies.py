"""Give a browser context the cookies that a visit begins with, and read those that it ends with."""

from typing import Any

from aahcrawler.browser.devtools.devtools_connection import DevTools
from aahcrawler.browser.visits.visit_order import Cookie

COOKIES = 1_000
"""The most cookies that are read."""


async def set_cookies(devtools: DevTools, context: str, cookies: tuple[Cookie, ...]) -> None:
    """Give cookies to a context. Raises ``DevToolsError`` where the browser takes them for none."""
    if cookies:
        params = {"cookies": [_parameter(cookie) for cookie in cookies], "browserContextId": context}
        await devtools.call("Storage.setCookies", params)


async def read_cookies(devtools: DevTools, context: str) -> tuple[Cookie, ...]:
    """Return the cookies of a context, those of scripts among them."""
    answer = await devtools.call("Storage.getCookies", {"browserContextId": context})
    return tuple(_cookie(kept) for kept in answer.get("cookies", ())[:COOKIES])


def _parameter(cookie: Cookie) -> dict[str, Any]:
    parameter: dict[str, Any] = {
        "name": cookie.name,
        "value": cookie.value,
        "path": cookie.path,
        "secure": cookie.secure,
        "httpOnly": cookie.http_only,
    }
    if cookie.domain.startswith("."):
        parameter["domain"] = cookie.domain
    else:
        # A domain would make it a cookie of all hosts below it as well.
        parameter["url"] = f"{'https' if cookie.secure else 'http'}://{cookie.domain}{cookie.path}"
    if cookie.same_site.capitalize() in ("Strict", "Lax", "None"):
        parameter["sameSite"] = cookie.same_site.capitalize()
    if cookie.expires is not None:
        parameter["expires"] = cookie.expires
    return parameter


def _cookie(kept: dict[str, Any]) -> Cookie:
    expires = float(kept.get("expires", -1))
    return Cookie(
        name=str(kept.get("name", "")),
        value=str(kept.get("value", "")),
        domain=str(kept.get("domain", "")),
        path=str(kept.get("path", "/")),
        secure=bool(kept.get("secure")),
        http_only=bool(kept.get("httpOnly")),
        same_site=str(kept.get("sameSite", "")),
        expires=expires if expires >= 0 else None,
    )
