"""Manage all targets of one visit: its page, frames of other sites, and workers. Popups are closed."""

import asyncio
import platform
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any

from aahcrawler.browser.process.devtools_connection import DevTools
from aahcrawler.browser.visits.bounded_upstream import RequestLog
from aahcrawler.browser.visits.rendered_page import VisitOrder, VisitTally

Command = tuple[str, Mapping[str, Any]]

WIDTH = 1280
HEIGHT = 1024
WORLD = "aahcrawler"
"""The name of the isolated world of our scripts, which pages cannot see."""

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
    """The commands to send to the targets of one visit, in order.

    ``binding`` is the name by which injected scripts report events; a page cannot know it in advance.
    """

    def __init__(self, order: VisitOrder, version: str) -> None:
        self.binding = f"tell{secrets.token_hex(8)}"
        self._identity = _identity(order, version)
        self._guard = self._script("page_guard.js")
        self._watch = self._script("page_watch.js")

    def of_page(self) -> Iterator[Command]:
        """Yield the commands for the visited page."""
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
        """Yield the commands for a frame of another site."""
        yield "Runtime.enable", {}
        yield _NETWORK
        yield "Emulation.setUserAgentOverride", self._identity
        yield "Runtime.addBinding", {"name": self.binding}
        yield "Page.addScriptToEvaluateOnNewDocument", {"source": self._guard}
        yield AUTO_ATTACH

    def of_worker(self) -> Iterator[Command]:
        """Yield the commands for a worker of any kind."""
        yield _NETWORK
        yield "Network.setUserAgentOverride", self._identity
        yield AUTO_ATTACH

    def _script(self, name: str) -> str:
        return (files(__package__) / name).read_text().replace('"TELL"', f'"{self.binding}"')


def _identity(order: VisitOrder, version: str) -> dict[str, Any]:
    """Return the browser's identity: the order's user agent and languages, and Chromium's real version."""
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


FLOOD = 100
TARGETS = 200
"""The most targets that may run. Any further one stays paused before its first script."""
_STOP: tuple[Command, ...] = (
    ("Runtime.terminateExecution", {}),
    ("Emulation.setScriptExecutionDisabled", {"value": True}),
    ("Network.disable", {}),
)
_OFFLINE = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
_STOP_WORKER: tuple[Command, ...] = (
    ("Runtime.terminateExecution", {}),
    ("Network.emulateNetworkConditions", _OFFLINE),
)
_WORKERS = frozenset({"worker", "shared_worker", "service_worker"})


class VisitTargets:
    """The targets of one browser context, each set up by ``setup`` and listened to from its start.

    ``page`` becomes the session and main frame of the page; ``frames`` are those of other sites, by session.
    ``announced`` collects the requests that they make; ``on_flood`` is called when those exceed ``FLOOD`` plus twice
    the capacity of the log. Pass the browser's own events about targets of the context to ``attach``.
    """

    def __init__(self, devtools: DevTools, setup: TargetSetup, log: RequestLog, tally: VisitTally) -> None:
        self.page: asyncio.Future[tuple[str, str]] = asyncio.get_running_loop().create_future()
        self._devtools = devtools
        self._setup = setup
        self._log = log
        log.all_announced = self._all_answer
        self._answering = asyncio.Lock()
        self._tally = tally
        self.frames: dict[str, str] = {}
        self.announced = 0
        self.on_flood: Callable[[], None] = lambda: None
        self._flood = 2 * log.most + FLOOD
        self._sessions: dict[str, str] = {}
        self._stopped = False

    def attach(self, event: dict[str, Any]) -> None:
        """Process an event ``Target.attachedToTarget``."""
        target, session = event.get("targetInfo", {}), str(event.get("sessionId", ""))
        kind, target_id = str(target.get("type", "")), str(target.get("targetId", ""))
        self._sessions[session] = kind
        if self._stopped:
            return  # It stays as it began.
        if kind == "page" and self.page.done():
            self._tally.refuse("popup")
            self._devtools.post("Target.closeTarget", {"targetId": target_id})
        elif len(self._sessions) > TARGETS:
            self._tally.refuse("target")
        elif kind == "page":
            self._listen(session, in_background=False)
            self._send(session, self._setup.of_page())
            self.page.set_result((session, target_id))
        elif kind == "iframe":
            self.frames[session] = target_id
            self._listen(session, in_background=False)
            self._send(session, [*self._setup.of_frame(), RUN])
        elif kind in _WORKERS:
            self._listen(session, in_background=kind == "service_worker")
            self._send(session, [*self._setup.of_worker(), RUN])
        else:
            self._send(session, [RUN])

    def stop(self) -> None:
        """Stop all scripts of the page and its frames for good, and all requests of workers."""
        self._stopped = True
        self._log.end()
        for session, kind in self._sessions.items():
            self._send(session, _STOP_WORKER if kind in _WORKERS else _STOP)

    def end(self) -> None:
        """Stop listening."""
        for session in self._sessions:
            self._devtools.forget(session)
        self._sessions.clear()

    async def _all_answer(self) -> None:
        """Wait until each target has answered a command; what it announced before comes before the answer."""
        async with self._answering:  # Many requests at once must not use up the commands that may be pending.
            commands = [
                self._devtools.post("Runtime.getIsolateId", session=one) for one in list(self._sessions)[:TARGETS]
            ]
            try:
                if commands:
                    await asyncio.wait(commands)
            finally:
                for command in commands:
                    command.cancel()  # A page that never answers must leave none pending.

    def _send(self, session: str, commands: Iterable[Command]) -> None:
        for method, params in commands:
            self._devtools.post(method, params, session)

    def _listen(self, session: str, *, in_background: bool) -> None:
        def announce(event: dict[str, Any]) -> None:
            self._log.announce(event, in_background=in_background)
            self.announced += 1
            if self.announced == self._flood:
                self.on_flood()

        def say(event: dict[str, Any]) -> None:
            text = " ".join(map(_shown, event.get("args", [])[:20]))
            if not self._tally.say(str(event.get("type", "")), text, _place(event.get("stackTrace"))):
                self._devtools.post("Runtime.disable", session=session)

        listen = self._devtools.listen
        listen(session, "Network.requestWillBeSent", announce)
        listen(session, "Network.webSocketCreated", lambda _: self._tally.refuse("websocket"))
        listen(session, "Network.webTransportCreated", lambda _: self._tally.refuse("webtransport"))
        listen(session, "Runtime.consoleAPICalled", say)
        listen(session, "Runtime.exceptionThrown", self._fault)
        listen(session, "Runtime.bindingCalled", self._told)
        listen(session, "Target.attachedToTarget", self.attach)
        listen(session, "Target.detachedFromTarget", self._detach)

    def _detach(self, event: dict[str, Any]) -> None:
        self.frames.pop(str(event.get("sessionId", "")), None)

    def _fault(self, event: dict[str, Any]) -> None:
        details = event.get("exceptionDetails", {})
        thrown = details.get("exception", {})
        text = str(thrown.get("description") or thrown.get("value") or details.get("text", ""))
        self._tally.say("error", text, str(details.get("url") or _place(details.get("stackTrace"))))

    def _told(self, event: dict[str, Any]) -> None:
        if event.get("name") == self._setup.binding and event.get("payload") in ("webrtc", "print", "navigation"):
            self._tally.refuse(event["payload"])


def _shown(argument: dict[str, Any]) -> str:
    return str(argument.get("value", argument.get("description", argument.get("unserializableValue", ""))))


def _place(stack: dict[str, Any] | None) -> str:
    frames = (stack or {}).get("callFrames") or [{}]
    return str(frames[0].get("url", ""))
