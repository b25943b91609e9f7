"""What each target of a visit is told before its first script runs."""

import platform
import secrets
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from aahcrawler.browser.visits.visit_order import VisitOrder

Command = tuple[str, Mapping[str, Any]]

WIDTH = 1280
HEIGHT = 1024
WORLD = "aahcrawler"
"""The world of scripts that pages cannot see, beside their own."""

AUTO_ATTACH: Command = (
    "Target.setAutoAttach",
    {
        "autoAttach": True,
        "waitForDebuggerOnStart": True,
        "flatten": True,
        # Chromium's own windows have pages too; a tab is only what holds the page.
        "filter": [{"type": kind, "exclude": True} for kind in ("browser", "browser_ui", "tab")] + [{}],
    },
)
_NETWORK: Command = (
    # Bodies pass through the proxy: none need be kept for DevTools.
    "Network.enable",
    {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0, "maxPostDataSize": 0},
)
RUN: Command = ("Runtime.runIfWaitingForDebugger", {})


class TargetSetup:
    """The commands for the targets of one visit, in the order to send them.

    ``binding`` is the name by which injected scripts tell of something; no page can know it before.
    """

    def __init__(self, order: VisitOrder, version: str) -> None:
        self.binding = f"tell{secrets.token_hex(8)}"
        self._identity = _identity(order, version)
        self._guard = self._script("page_guard.js")
        self._watch = self._script("page_watch.js")

    def of_page(self) -> Iterator[Command]:
        """Yield what the page that is visited is told."""
        yield "Page.enable", {}
        yield from self.of_frame()
        yield (
            "Emulation.setDeviceMetricsOverride",
            {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False},
        )
        yield (
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]},
        )
        yield "Emulation.setTimezoneOverride", {"timezoneId": "UTC"}
        yield "Emulation.setFocusEmulationEnabled", {"enabled": True}
        yield "Page.setInterceptFileChooserDialog", {"enabled": True}
        yield "Page.addScriptToEvaluateOnNewDocument", {"source": self._watch, "worldName": WORLD}
        yield "Fetch.enable", {"patterns": [{"resourceType": "Document", "requestStage": "Request"}]}

    def of_frame(self) -> Iterator[Command]:
        """Yield what a frame of another site is told."""
        yield "Runtime.enable", {}
        yield _NETWORK
        yield "Emulation.setUserAgentOverride", self._identity
        yield "Runtime.addBinding", {"name": self.binding}
        yield "Page.addScriptToEvaluateOnNewDocument", {"source": self._guard}
        yield AUTO_ATTACH

    def of_worker(self) -> Iterator[Command]:
        """Yield what a worker is told, of whatever kind."""
        yield _NETWORK
        yield "Network.setUserAgentOverride", self._identity
        yield AUTO_ATTACH

    def _script(self, name: str) -> str:
        return (files(__package__) / name).read_text().replace('"TELL"', f'"{self.binding}"')


def _identity(order: VisitOrder, version: str) -> dict[str, Any]:
    """Return who the browser says it is: the crawler, by the order's user agent, made of the Chromium that it is."""
    release = version.rpartition("/")[2]
    brands = [{"brand": "Chromium", "version": release.partition(".")[0]}]
    system = {"Darwin": "macOS"}.get(platform.system(), platform.system())
    identity: dict[str, Any] = {
        "userAgent": order.user_agent,
        "userAgentMetadata": {
            "brands": brands,
            "fullVersionList": [{"brand": "Chromium", "version": release}],
            "platform": system,
            "platformVersion": "",
            "architecture": "arm" if platform.machine() in ("aarch64", "arm64") else "x86",
            "model": "",
            "mobile": False,
        },
    }
    if order.languages:
        identity["acceptLanguage"] = ",".join(order.languages)
    return identity
