"""Somebody who uses the studio by the keyboard alone: no pointer, and no field filled but by typing."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from playwright.sync_api import Page, expect

from tests.cockpit.cockpit_browser import Visit, told
from tests.cockpit.keyboard import Keyboard
from tests.crawl.crawling import until

_MOST = 400
_AT = """() => {
  const each = document.activeElement, group = each?.closest("[role=group]");
  return [group?.ariaLabel || "", each?.type || "", (each?.labels?.[0]?.innerText || "").trim()];
}"""
_SHOWN_OPTION = "() => document.activeElement.selectedOptions[0].text"


@dataclass(frozen=True)
class Typist:
    """A person at the keys before the studio of a crawl."""

    visit: Visit
    crawl: str
    host: str

    @cached_property
    def keys(self) -> Keyboard:
        return Keyboard(self.visit.page)

    @property
    def page(self) -> Page:
        return self.visit.page

    def begin(self, name: str, kind: str, roles: Mapping[str, str]) -> None:
        """Begin an entry; roles that are none are reasons never to fetch what is of a group."""
        link = self.page.get_by_role("link", name=f"Begin an entry for {self.host}")
        until(lambda: self.visit.goto(f"/crawls/{self.crawl}/studio") is not None and link.count() > 0)
        self.keys.go("a", f"Begin an entry for {self.host}")
        while roles:
            words, role = self._next_group(roles)
            self._choose_role(role)
            roles = {each: roles[each] for each in roles if each != words}
        self.keys.tab_to("input", "Name")
        self.keys.write(name)
        self.keys.tab_to("select", "Kind")
        self.page.keyboard.type(kind)
        self.keys.go("button", "Make a draft")
        self.arrived()

    def arrived(self) -> str:
        """Go on where the studio says that it takes a moment; return what it says came of it."""
        onward = self.page.locator("[data-onward]")
        expect(self.page.get_by_role("link", name="Its pages").or_(onward)).to_be_visible()
        if onward.is_visible():
            self.keys.go("a", "Go on")
        return told(self.page)

    def look_at(self, path: str) -> None:
        """Open a captured page from the page of a work."""
        self.keys.go("a", "Its pages")
        self.keys.go("a", f"http://{self.host}{path}")
        expect(self.page.frame_locator("iframe[name=marked]").locator("body")).to_be_visible()

    def walk(self, *steps: str) -> str:
        """Walk in the page from its first element and choose what is come to; return how the studio calls it."""
        chosen = self.page.locator("#chosen")
        self._tab_into_the_page()
        self.keys.press("ArrowDown", *steps)
        expect(chosen.locator("h2")).to_be_focused()
        return chosen.locator("code").first.inner_text()

    def find(self, text: str) -> None:
        """Find what shows a text, and choose the smallest that does."""
        self.keys.tab_to("input", "Find by the text")
        self.keys.write(text)
        with self.page.expect_navigation():
            self.keys.press("Enter")
        self._follow("Choose the")

    def take(self, what: str, then: str) -> None:
        """Say what was chosen, and look at the first rule that finds it."""
        self._follow(what)
        self._follow(then)

    def keep(self) -> str:
        """Keep the rule that is looked at; return what the studio says of it."""
        self.keys.go("button", "Keep it")
        return told(self.page)

    def act(self, work: str, button: str) -> None:
        """Go to the page of a work and press a button."""
        if not self.page.get_by_role("link", name="Its pages").count():
            self.keys.go("a", work)
        self.keys.go("button", button)

    def _follow(self, link: str) -> None:
        """Follow a link that changes a part of the page."""
        self.keys.tab_to("a", link)
        self.keys.press("Enter")
        expect(self.page.locator("#chosen h2")).to_be_focused()

    def _tab_into_the_page(self) -> None:
        for _ in range(_MOST):
            self.page.keyboard.press("Tab")
            if self.keys.focused().get("tag") == "iframe":
                return
        raise AssertionError("Tab does not lead into the page")

    def _next_group(self, roles: Mapping[str, str]) -> tuple[str, str]:
        """Press Tab until one of the groups has the focus that something is to be said of."""
        for _ in range(_MOST):
            self.page.keyboard.press("Tab")
            group, sort, _ = self.page.evaluate(_AT)
            words = group.removeprefix("Pages of ")
            if sort == "radio" and words in roles:
                return words, roles[words]
        raise AssertionError(f"Tab does not lead to any of {list(roles)}")

    def _choose_role(self, role: str) -> None:
        """Say what the pages of the group are for that has the focus."""
        for _ in range(4):
            label = self.page.evaluate(_AT)[2]
            if label.startswith(role) or (label.startswith("are never") and role not in _ROLES):
                break
            self.page.keyboard.press("ArrowDown")
        else:
            raise AssertionError(f"the arrow keys do not lead to {role!r}")
        if role not in _ROLES:
            self.page.keyboard.press("Tab")
            self.page.keyboard.type(role)
            assert self.page.evaluate(_SHOWN_OPTION).startswith(role)


_ROLES = ("hold content", "lead to content", "neither")
