"""A person with a browser: looks at the pages of a site one after another, and notes what is shown. No code of ours.

Playwright drives Chromium. What is noted are visible texts; what the site was asked for meanwhile its server knows.
"""

import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from playwright.sync_api import Error, Frame, Page, sync_playwright

from benchmarks.browser.site import Act, Deed, Parts, View
from benchmarks.software.scorer import Described

CHROMIUM: Final = "AAH_CHROMIUM"
"""The variable of the environment that names another executable than ``chromium``."""
_WITHIN: Final = 15_000.0
_QUIET: Final = 0.2
"""Seconds without a request after which nothing more comes."""
_LONGEST_QUIET: Final = 15.0
_SCREENS: Final = 400
_CLICKS: Final = 100
_LONGEST_FILM: Final = 40.0

Seen = dict[tuple[str, str, str], Described]
"""Objects by what they say, who says it, and when."""

_READ: Final = """
parts => {
  const shown = each => each.checkVisibility({visibilityProperty: true, opacityProperty: true});
  const text = (item, selector) => {
    const found = selector ? item.querySelector(selector) : item;
    return found && shown(found) ? found.innerText.trim() : '';
  };
  const body = item => {
    let said = text(item, parts.body);
    if (parts.without) for (const each of item.querySelectorAll(parts.without)) said = said.replace(each.innerText, '');
    return said.trim();
  };
  const dated = item => {
    const found = parts.date ? item.querySelector(parts.date) : null;
    return found && shown(found) ? (found.getAttribute('datetime') || found.innerText.trim()) : '';
  };
  return [...document.querySelectorAll(parts.items)].filter(shown).map(item => ({
    body: body(item), title: parts.title ? text(item, parts.title) : '',
    author: parts.author ? text(item, parts.author) : '', date: dated(item),
    heading: parts.heading ? text(document, parts.heading) : ''}));
}
"""
_SCROLLED: Final = """
() => {
  const whole = document.scrollingElement;
  const before = whole.scrollTop;
  whole.scrollBy(0, innerHeight * 0.8);
  return whole.scrollTop > before + 1;
}
"""
_PLAYED: Final = "() => [...document.querySelectorAll('video, audio')].every(each => each.ended || each.error)"


class NoBrowserError(Exception):
    """Raised where there is no browser for the person; the message tells what to install."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What a person saw of a page: its objects, and all of its visible text, frames included, at the end."""

    view: View
    objects: tuple[Described, ...]
    text: str


class Person:
    """Looks at pages, one after another, in one tab."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._under_way, self._last = 0, 0.0
        page.set_default_timeout(_WITHIN)
        page.on("request", lambda _: self._changed(1))
        page.on("requestfinished", lambda _: self._changed(-1))
        page.on("requestfailed", lambda _: self._changed(-1))

    def looked(self, view: View, address: str) -> Looked:
        """Look at a page under an address, and do there what its view says."""
        self._under_way = 0
        self.page.goto(address, wait_until="load")
        self.page.wait_for_selector(view.shows, state="visible")
        self.wait()
        return self.look(view, self.page.main_frame)

    def look(self, view: View, frame: Frame) -> Looked:
        """Look at a page that is there in a frame, and do what its view says."""
        seen: Seen = {}
        for act in view.acts:
            self._do(act, view, frame, seen)
        self._read(view, frame, seen)
        return Looked(view, tuple(seen.values()), "\n".join(_texts(frame)))

    def wait(self) -> None:
        """Wait until nothing more is asked for."""
        until = time.monotonic() + _LONGEST_QUIET
        self._last = time.monotonic()
        while time.monotonic() < until:
            self.page.wait_for_timeout(50)
            if not self._under_way and time.monotonic() - self._last > _QUIET:
                return

    def _changed(self, step: int) -> None:
        self._under_way, self._last = max(0, self._under_way + step), time.monotonic()

    def _do(self, act: Act, view: View, frame: Frame, seen: Seen) -> None:
        match act.deed:
            case Deed.SCROLL:
                self._scroll(view, frame, seen)
            case Deed.CLICK:
                for _ in range(_CLICKS):
                    found = frame.locator(act.selector).locator("visible=true").first
                    if not found.count():
                        break
                    found.click()
                    self.wait()
            case Deed.OPEN:
                for found in frame.locator(act.selector).locator("visible=true").all():
                    found.click()
                    self.wait()
            case Deed.PLAY:
                self._play(act, frame)

    def _scroll(self, view: View, frame: Frame, seen: Seen) -> None:
        for _ in range(_SCREENS):
            self._read(view, frame, seen)
            moved = frame.evaluate(_SCROLLED)
            self.page.wait_for_timeout(60)
            if self._under_way or not moved:
                self.wait()
            if not moved and not frame.evaluate(_SCROLLED):
                return

    def _play(self, act: Act, frame: Frame) -> None:
        for each in (frame, *frame.child_frames):
            if (found := each.locator(act.selector)).count():
                found.first.click()
                self.page.wait_for_timeout(500)
                with suppress(Error):
                    each.wait_for_function(_PLAYED, timeout=1000 * _LONGEST_FILM)
        self.wait()

    @staticmethod
    def _read(view: View, frame: Frame, seen: Seen) -> None:
        for parts in view.parts:
            for found in frame.evaluate(_READ, _selectors(parts)):
                key = (found["body"], found["author"], found["date"])
                if found["body"] and key not in seen:
                    seen[key] = _described(found, parts, view.path, heads=not seen and not view.continued)


def _described(found: Mapping[str, str], parts: Parts, path: str, *, heads: bool) -> Described:
    title = found["title"] or (found["heading"] if heads else "")
    date = found["date"]
    if date and parts.date_form:
        date = datetime.strptime(date, parts.date_form).replace(tzinfo=UTC).isoformat()
    hidden = tuple(n for n, value in (("title", title), ("author", found["author"]), ("date", date)) if not value)
    values = (title or None, found["author"] or None, date or None)
    return Described(f"{path} {found['body'][:40]}", path, found["body"], *values, hidden)


def _selectors(parts: Parts) -> dict[str, Any]:
    names = ("items", "body", "title", "heading", "author", "date", "without")
    return {name: getattr(parts, name) for name in names}


def _texts(frame: Frame) -> Iterator[str]:
    with suppress(Error):
        yield str(frame.evaluate("() => document.body.innerText"))
    for each in frame.child_frames:
        yield from _texts(each)


@contextmanager
def somebody() -> Iterator[Person]:
    """Start a browser for a person until the block ends. Raises ``NoBrowserError``."""
    executable = shutil.which(os.environ.get(CHROMIUM) or "chromium")
    if executable is None:
        raise NoBrowserError(
            f"no Chromium: install Debian's package chromium (apt-get install chromium), or name one in {CHROMIUM}"
        )
    rights = ["--no-sandbox"] if os.geteuid() == 0 else []
    quiet = [*rights, "--autoplay-policy=no-user-gesture-required", "--mute-audio"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=quiet)
        context = browser.new_context(ignore_https_errors=True)
        try:
            yield Person(context.new_page())
        finally:
            context.close()
            browser.close()


def looked_at(views: Sequence[View], origin: str) -> list[Looked]:
    """Have a person look at all views of a site; an object that several of them show counts for the first."""
    found: list[Looked] = []
    known: set[tuple[str, str | None, str | None]] = set()
    with somebody() as person:
        for view in views:
            looked = person.looked(view, origin + view.path)
            new = tuple(each for each in looked.objects if (each.body, each.author, each.date) not in known)
            known.update((each.body, each.author, each.date) for each in new)
            found.append(replace(looked, objects=new))
    return found
