"""The keyboard of a browser, by which alone a page is used; where the focus is, it has to be seen."""

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page

_MOST = 400
"""How often Tab is pressed before something counts as out of reach."""
_FOCUSED = """() => {
  const each = document.activeElement;
  if (!each || each === document.body) return null;
  const shape = each.getBoundingClientRect(), style = getComputedStyle(each);
  const named = (each.ariaLabel || [...(each.labels || [])].map(label => label.innerText).join(" ")
    || each.title || each.innerText || "").replace(/\\s+/g, " ").trim();
  const shown = shape.width > 0 && shape.bottom > 0 && shape.right > 0 && shape.top < innerHeight
    && shape.left < innerWidth;
  const marked = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  return {tag: each.tagName.toLowerCase(), name: named, seen: shown && marked, html: each.outerHTML.slice(0, 200)};
}"""


@dataclass(frozen=True, slots=True)
class Keyboard:
    """Presses keys, and looks where the focus is after each; it is seen there, or the test fails."""

    page: Page

    def focused(self) -> dict[str, Any]:
        """Return tag, name and look of what has the focus; an empty mapping where nothing has."""
        found: dict[str, Any] | None = self.page.evaluate(_FOCUSED)
        return found or {}

    def tab_to(self, tag: str, name: str, *, back: bool = False) -> None:
        """Press Tab until an element of a tag has the focus whose name begins so."""
        for _ in range(_MOST):
            self.page.keyboard.press("Shift+Tab" if back else "Tab")
            at = self.focused()
            assert not at or at["tag"] == "iframe" or at["seen"], f"the focus is not seen: {at}"
            if at and at["tag"] == tag and at["name"].startswith(name):
                return
        raise AssertionError(f"Tab does not lead to {tag} {name!r}")

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def write(self, text: str) -> None:
        """Write in the place of what stands in a field."""
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)

    def go(self, tag: str, name: str, *, back: bool = False) -> None:
        """Go to a link or button, press Enter, and wait for the page that comes of it."""
        self.tab_to(tag, name, back=back)
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")
