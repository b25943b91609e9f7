"""Pages that scripts made are shown as a browser left them, and as they were sent for those who ask."""

import re
from pathlib import Path

from aahcrawler.archive.records import Resource
from aahcrawler.page import Page
from aahcrawler.replay.addresses import Address, Modifier
from aahcrawler.replay.capture_lookup import CaptureLookup
from aahcrawler.replay.object_finding import ShownObject
from aahcrawler.replay.recorded_responses import RecordedResponse
from aahcrawler.replay.replayed_captures import Annotations, ReplayedCaptures
from tests.replay.archived import MOMENT, URL, Archived, body_of, shown

SHELL = "<!doctype html><title>App</title><p>Loading</p><div id=app></div><script src=/app.js></script>"
SHADOW = (
    "<x-card><template shadowrootmode='open' onclick='x()'><link rel=stylesheet href='card.css'>"
    "<img src='/p.png'><p>In the shadow <script>x()</script><a href='deep'>deeper</a></p><slot></slot></template>"
    "in the light</x-card>"
)
DOM = f"<!doctype html><title>App</title><body><main><p>Made by scripts</p>{SHADOW}</main></body>"
LATER = "20260102040405"


def made(dom: str = DOM, url: str = URL, at: str = "") -> tuple[Resource, ...]:
    return Resource.rendered_dom(url, dom.encode(), at), Resource.screenshot(url, b"\x89PNG")


def captures(tmp_path: Path) -> ReplayedCaptures:
    crawl = Archived(tmp_path)
    crawl.add(SHELL, resources=made(at="http://a.test/deep/er/"))
    crawl.add("<p>Plain", url="http://a.test/plain")
    return crawl.close()


def test_a_page_is_shown_as_a_browser_left_it(tmp_path: Path) -> None:
    body = body_of(shown(captures(tmp_path))).decode()
    assert "Made by scripts" in body
    assert "Loading" not in body
    assert "<script" not in body
    # What is relative leads from where the document was, in shadow roots too, which the browser shows itself.
    shadow = re.search(r'<x-card><template shadowrootmode="open">(.*?)</template>', body, re.DOTALL)
    assert shadow is not None
    assert f'href="/test/{MOMENT}cs_/http://a.test/deep/er/card.css"' in shadow[1]
    assert f'src="/test/{MOMENT}im_/http://a.test/p.png"' in shadow[1]
    assert f'href="/test/{MOMENT}mp_/http://a.test/deep/er/deep"' in shadow[1]
    assert "onclick" not in body
    assert "Shown as a browser left it" in body
    assert f'href="/test/{MOMENT}as_/{URL}"' in body


def test_what_the_server_sent_is_a_click_away(tmp_path: Path) -> None:
    replayed = captures(tmp_path)
    body = body_of(shown(replayed, modifier=Modifier.SENT)).decode()
    assert "Loading" in body
    assert "Made by scripts" not in body
    assert f'href="/test/{MOMENT}mp_/{URL}"' in body
    plain = body_of(shown(replayed, "http://a.test/plain", modifier=Modifier.SENT)).decode()
    assert "as a browser left it" not in plain
    assert body_of(shown(replayed, modifier=Modifier.FILE)).decode() == SHELL
    assert "Made by scripts" in body_of(shown(replayed, modifier=Modifier.FRAME)).decode()


def test_objects_are_outlined_on_it_in_shadow_roots_too(tmp_path: Path) -> None:
    captures(tmp_path)
    objects = (ShownObject(1, "post", body="Made by scripts"), ShownObject(2, "post", body="In the shadow deeper"))

    def annotate(_: str, response: RecordedResponse) -> Annotations:
        return Annotations(objects if response.url == URL else ())

    response = ReplayedCaptures(tmp_path, annotate).show(Address("test", MOMENT, Modifier.OBJECTS, URL))
    assert response.found == {1, 2}
    shadow = body_of(response).decode().partition('shadowrootmode="open"')[2]
    assert 'id="aah-object-2"' in shadow


def test_unchanged_pages_are_shown_by_what_was_made_of_them_before(tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    first = crawl.add(SHELL, resources=made())
    other = "http://a.test/other"
    crawl.add(SHELL, url=other, original=first, resources=made("<p>Another page", other))
    crawl.add(SHELL, moment=LATER, original=first)
    crawl.add("<p>Now without scripts", moment="20260103000000")
    crawl.add(SHELL, url="http://a.test/third", original=first)
    replayed = crawl.close()
    assert "Made by scripts" in body_of(shown(replayed, moment=LATER)).decode()
    assert "Another page" in body_of(shown(replayed, other)).decode()
    assert "Now without scripts" in body_of(shown(replayed, moment="20260103000000")).decode()
    assert "Loading" in body_of(shown(replayed, "http://a.test/third")).decode()


def test_the_list_of_captures_has_pages_alone(tmp_path: Path) -> None:
    captures(tmp_path)
    listed = CaptureLookup(tmp_path).listed("", "", 100, pages_only=False)
    assert [each.url for each in listed.captures] == [URL, "http://a.test/plain"]


def test_a_shadow_root_of_the_body_hides_no_banner(tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    crawl.add("<body><template shadowrootmode=open><p>Everything</p></template><template><p>Unused</p></template>")
    body = body_of(shown(crawl.close())).decode()
    assert body.count("shadowrootmode") == 1  # The banner's own.
    assert "Everything" in body
    assert "Unused" not in body


def test_shadow_roots_are_read(tmp_path: Path) -> None:
    response = ReplayedCaptures(captures(tmp_path).responses.lookup._archive.parent).responses.nearest(URL, MOMENT)
    assert response is not None
    page = Page(URL, 200, response.headers, DOM.encode(), response.date)
    assert "In the shadow" in page.tree.text_content()
    assert page.tree.find(".//template") is None
