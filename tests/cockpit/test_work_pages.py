"""Pages of works by HTTP as it is: what is chosen on several pages, and what forms of former works do."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from aahcrawler.service.cockpit.site import COOKIE
from tests.cockpit.cockpit_browser import EDITOR, Cockpit
from tests.cockpit.shown_crawl import CRAWL, FORUM
from tests.service.asking import Reply

pytestmark = pytest.mark.starts

STUDIO = f"/crawls/{CRAWL}/studio"
WORK = f"{STUDIO}/works/fluxbb"


@dataclass(frozen=True, slots=True)
class Editor:
    """Somebody who edits, with a session."""

    cockpit: Cockpit
    cookie: str

    def page(self, path: str) -> str:
        answer = self.cockpit.ask("GET", path, Cookie=f"{COOKIE}={self.cookie}")
        assert answer.status == 200, (path, answer.body[:2_000])
        return answer.body.decode()

    def post(self, path: str, **fields: str) -> Reply:
        secret = self.cockpit.form_secret(self.cookie)
        return self.cockpit.post(path, {"secret": secret, **fields}, self.cookie)


@pytest.fixture
def editor(shown: Cockpit) -> Iterator[Editor]:
    """Yield an editor with a work that has pages of its own."""
    someone = Editor(shown, shown.entered(EDITOR))
    assert someone.post(f"{STUDIO}/entries/open", name="fluxbb").headers["location"].endswith("/works/fluxbb")
    yield someone
    someone.post(f"{WORK}/discard")


def test_what_is_chosen_on_a_page_of_the_work_stays_chosen_on_others(editor: Editor) -> None:
    listed = editor.page(f"{WORK}/pages?host={FORUM}")
    own = re.findall(r"/pages/(work:[\w.-]+)", listed)[0]
    captured = next(each for each in re.findall(r"/pages/([\w.:-]+)", listed) if not each.startswith("work:"))
    for asked, shown_as in ((own, 1), ("work:gone", 0)):
        page = editor.page(f"{WORK}/pages/{captured}/chosen?as=sign&element=9&right={asked}@9&right={captured}@9")
        assert page.count('<span class="tag good">this</span>') == 1 + shown_as
        assert ("1 element that you chose cannot be looked at any more" in page) is (shown_as == 0)
