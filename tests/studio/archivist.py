"""Somebody who adds software in the studio by what is seen: pages are pointed at, and nothing is known of HTML."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from playwright.sync_api import FrameLocator, Locator, Page, expect

from tests.cockpit.cockpit_browser import Visit, told
from tests.crawl.crawling import until

CONTENT, LIST, NEITHER = _ROLES = "hold content", "lead to content", "neither"
_NEVER = "are never to be fetched"


@dataclass(frozen=True)
class Archivist:
    """A person in front of the studio of a crawl."""

    visit: Visit
    crawl: str
    host: str

    @property
    def page(self) -> Page:
        return self.visit.page

    @property
    def studio(self) -> str:
        return f"/crawls/{self.crawl}/studio"

    @property
    def framed(self) -> FrameLocator:
        """The archived page, as it is shown with marks."""
        return self.page.frame_locator("iframe[name=marked]")

    @property
    def chosen(self) -> Locator:
        """What the studio says of what was pointed at."""
        return self.page.locator("#chosen")

    def begin(self, name: str, kind: str, roles: dict[str, str]) -> None:
        """Begin an entry for the site; roles say what pages of groups are for where that is not what is suggested.

        A reason never to fetch them is a role, too.
        """
        link = self.page.get_by_role("link", name=f"Begin an entry for {self.host}")
        until(lambda: self.visit.goto(self.studio) is not None and link.count() > 0)
        link.click()
        for words, role in roles.items():
            group = self.page.get_by_role("group", name=f"Pages of {words}", exact=True)
            group.get_by_role("radio", name=role if role in _ROLES else _NEVER).check()
            if role not in _ROLES:
                group.get_by_role("combobox").select_option(label=role)
        self.page.get_by_label("Name", exact=True).fill(name)
        self.page.get_by_label(re.compile("^Kind")).select_option(kind)
        self.page.get_by_role("button", name=re.compile("draft")).click()
        self.arrive(name)

    def mend(self, name: str) -> None:
        """Begin to change the entry by which the site is read."""
        button = self.page.get_by_role("button", name="Change its entry")
        until(lambda: self.visit.goto(self.studio) is not None and button.count() > 0)
        button.click()
        self.arrive(name)

    def arrive(self, name: str) -> None:
        """Wait for the page of a work, going on where the studio says that it has taken its time."""
        words = re.compile(f"^{re.escape(name)}$", re.IGNORECASE)
        onward, heading = self.page.locator("[data-onward]"), self.page.get_by_role("heading", level=1, name=words)
        expect(heading.or_(onward)).to_be_visible()
        if onward.is_visible():
            onward.click()
        expect(heading).to_be_visible()
        self.page.wait_for_load_state()

    def open(self, name: str) -> None:
        """Go to a work."""
        self.visit.goto(f"{self.studio}/works/{name}")

    def guesses(self) -> Sequence[str]:
        """Return the guesses that are to be confirmed, in their order."""
        return [guess.strip() for guess in self.page.locator(".doubts > li strong").all_text_contents()]

    def settle(self, guess: str, instead: str = "") -> str:
        """Say that a guess that begins so is right, or what is right instead; return what came of it."""
        for more in self.page.get_by_text("less doubtful").all():
            more.click()
        item = self.page.locator(".doubts > li").filter(has=self.page.locator("strong", has_text=guess)).first
        item.get_by_role("button", name=f"Instead: {instead}" if instead else "It is right").first.click()
        return told(self.page)

    def avoid_what_leads_nowhere(self, *paths: str) -> None:
        """Say of addresses, which the list of guesses says to be of no level, that they lead to nothing new."""
        for path in paths:
            self.settle(f"URLs like http://{self.host}{path}", instead="they lead to nothing new")

    def confirm_the_rest(self) -> str:
        """Say that all guesses that are left are right; return what came of it."""
        self.page.get_by_role("button", name="All that is left is right").click()
        return told(self.page)

    def look_at(self, name: str, path: str) -> None:
        """Open a captured page in a work."""
        self.open(name)
        self.page.get_by_role("link", name="Its pages").click()
        for more in self.page.get_by_text(re.compile("more of the sample")).all():
            more.click()
        self.page.get_by_role("link", name=f"http://{self.host}{path}", exact=True).first.click()
        expect(self.framed.locator("body")).to_be_visible()
        frame = self.page.frame("marked")
        assert frame is not None
        frame.wait_for_load_state()  # Before that a click is nobody's.

    def values(self) -> dict[str, str]:
        """Return the values that are read of the first object of the page, by their names."""
        facts = self.page.locator("ol.objects > li").first.locator("dl")
        return dict(zip(facts.locator("dt").all_inner_texts(), facts.locator("dd").all_inner_texts(), strict=True))

    def point_at(self, text: str, number: int = 0) -> None:
        """Click on what shows a text in the page; where several do, on that of a number from 0."""
        self.framed.get_by_text(text).nth(number).click(position={"x": 6, "y": 6})
        expect(self.chosen.get_by_role("heading", level=2)).to_be_visible()
        expect(self.chosen).not_to_have_attribute("aria-busy", "true")

    def say(self, of: str, what: str) -> None:
        """Press what names the thing that was pointed at, under a heading that begins so."""
        buttons = self.chosen.locator("h3", has_text=re.compile(f"^{of}")).locator("+ .acts")
        buttons.get_by_role("link", name=re.compile(f"^{what}")).first.click()
        expect(self.chosen.get_by_role("heading", level=2)).to_be_visible()

    def look_at_the_first_rule(self) -> None:
        """Look at the rule that is suggested first."""
        self.chosen.get_by_role("link", name=re.compile("^Look at it")).first.click()
        expect(self.chosen.get_by_text(re.compile("^It finds something on"))).to_be_visible()

    def keep_it(self) -> str:
        """Keep the rule that is looked at; return what the studio says of it."""
        self.chosen.get_by_role("button", name="Keep it").click()
        return told(self.page)

    def keep(self) -> str:
        """Take the first rule that is suggested; return what the studio says of it, which is that it was kept."""
        self.look_at_the_first_rule()
        said = self.keep_it()
        assert self.page.locator(".note.bad[role=status]").count() == 0, said
        return said

    def take_out(self, part: str) -> str:
        """Remove a part of the entry that reads so; return what came of it."""
        self.page.get_by_role("button", name=f"Remove {part}").first.click()
        return told(self.page)

    def look_at_repair(self, name: str) -> None:
        """Open a repair that the crawl has learned."""
        link = self.page.get_by_role("link", name="Look at them, and accept or reject each")
        until(lambda: self.visit.goto(self.studio) is not None and link.count() > 0)
        link.click()
        self.page.get_by_role("row", name=name).get_by_role("link").click()

    def told_of_repairs(self) -> str:
        """Return what came of an act on a repair, going on where the studio says that it takes a moment."""
        onward = self.page.locator("[data-onward]")
        heading = self.page.get_by_role("heading", level=1, name="Learned repairs")
        expect(heading.or_(onward)).to_be_visible()
        if onward.is_visible():
            onward.click()
        expect(heading).to_be_visible()
        return told(self.page)

    def save(self, name: str) -> str:
        """Save a work, in spite of warnings too; return what the studio says of it."""
        self.open(name)
        self.page.get_by_role("button", name="Save", exact=True).click()
        self.arrive(name)
        anyway = self.page.get_by_role("button", name="Save it all the same")
        if anyway.count():
            anyway.click()
            self.arrive(name)
        return told(self.page)
