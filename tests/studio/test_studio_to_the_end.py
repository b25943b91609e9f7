"""What people do in the studio, done to its end: pages by URL, packs, earlier states, groups, trials, the text."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from aahcrawler.editor.drafts.page_fetching import reading
from aahcrawler.editor.entries.entry_files import Entry
from aahcrawler.editor.entries.entry_pack import Label, packed, unpacked
from aahcrawler.editor.entries.own_folder import OwnFolder
from aahcrawler.editor.entries.staging import staged
from knowledge_base.file_selection import VARIABLE
from tests.authoring.test_sharing import TINY
from tests.authoring.tinyforum import BOARD, HEAD, POSTS, TOPIC, board, topic
from tests.cockpit.cockpit_browser import EDITOR, Cockpit, Visit, serving, told, visiting
from tests.crawl.crawling import aah, until
from tests.crawl.site import Reply, Site
from tests.crawl.site import serving as serving_site
from tests.crawl.world import define, network

pytestmark = pytest.mark.slow

HOST, CRAWL = "knots.test", "knots"
STUDIO = f"/crawls/{CRAWL}/studio"
WORK, ENTRY = f"{STUDIO}/works/tinyforum", f"{STUDIO}/entries/tinyforum"
HTML = {"Content-Type": "text/html; charset=utf-8"}
MEMBER = HEAD.format(title="A member", body="tf-page") + "<h1>A member</h1><p>Has sailed for {number} years.</p>"
PATHS = ("/board.php?id=2", *(f"/user.php?id={n}" for n in (1, 2, 3)), *(f"/print.php?id={n}" for n in (7, 8)))
BAD_BODY = TINY.replace('css=".text"', 'css=".when"')
TOPICS = """<extract name="topic-list" type="post" many="yes"><item css="ul.topics li" cite="board.tpl"/>
<identity trim="/topic.php?id=" prefix="t"><select css="a" attribute="href" cite="board.tpl"/></identity>
<field name="title"><select css="a" cite="board.tpl"/></field></extract>"""
OTHERWISE = (
    BAD_BODY.replace('"div.entry"', '"#entry-4, #entry-5, #entry-14, #entry-15"')
    .replace("</navigate>", f"</navigate>{TOPICS}")
    .replace('"intermediate"', '"terminal"')
)


@dataclass(frozen=True, slots=True)
class Knots:
    """A crawl of a small forum in a cockpit, the forum itself, and the folder of one's own entries."""

    cockpit: Cockpit
    site: Site
    own: OwnFolder


def page(text: str) -> Reply:
    return Reply(text.encode(), headers=HTML)


def forum() -> dict[str, Reply]:
    """Return the pages of a small forum, some of them not linked from any other."""
    pages = {f"/user.php?id={number}": page(MEMBER.format(number=number)) for number in (1, 2, 3)}
    pages |= {f"/print.php?id={number}": page(topic().replace("entry", "line")) for number in (7, 8)}
    storm = tuple((10 + number, user, name, date, f"{text} Storm.") for number, user, name, date, text in POSTS)
    pages |= {f"/topic.php?id={number}": page(topic(posts=posts)) for number, posts in ((7, POSTS), (8, storm))}
    pages |= {"/topic.php?id=9": page(topic())}
    pages |= {
        "/robots.txt": Reply(b"User-agent: *\nDisallow: /secret", headers={"Content-Type": "text/plain"}),
        "/board.php?id=2": page(board()),
        "/go": Reply(b"", 302, {"Location": "/topic.php?id=9"}),
        "/away": Reply(b"", 302, {"Location": "http://10.9.8.7/topic.php?id=9"}),
        "/secret": page(topic()),
    }
    return {f"//{HOST}{path}": reply for path, reply in pages.items()}


def pages_of(folder: Path) -> list[tuple[str, bytes, bytes]]:
    """Return saved pages of the entry with what it reads on them."""
    with staged(Entry("tinyforum", TINY.encode()), (folder,)) as stage:
        read = {name: reading(each, stage.knowledge_base) for name, each in (("topic", TOPIC), ("board", BOARD))}
    bodies = {"topic": TOPIC.body, "board": BOARD.body}
    return [(name, bodies[name], each.model_dump_json(exclude_defaults=True).encode()) for name, each in read.items()]


@pytest.fixture(scope="module")
def knots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Knots]:
    """Yield a cockpit of a crawl that knows the forum, and knows nothing else."""
    folder = tmp_path_factory.mktemp("knots")
    place, own = folder / "crawls", OwnFolder(folder / "own")
    place.mkdir()
    own.save("tinyforum", TINY.encode(), pages_of(folder / "own"), "Ada", "written")
    own.save("tinyforum", TINY.replace("<detect>", "<about>Ours.</about><detect>").encode(), None, "Bo", "said whose")
    with serving_site(Site({**forum()})) as site, pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(folder / "own"))
        icd = define(
            folder,
            [f"http://{HOST}{path}" for path in PATHS],
            id=CRAWL,
            topic={"keywords": ["rope", "knot", "bowline"]},
            scope={"sites": "seeds"},
            network=network(site, HOST),
            output=str(place / CRAWL),
        )
        ended = aah("crawl", icd)
        assert ended.code in (0, 3), ended.err
        with serving(place) as cockpit:
            yield Knots(cockpit, site, own)


@pytest.fixture(scope="module")
def visit(chromium: Browser, knots: Knots) -> Iterator[Visit]:
    """Yield a browser of somebody who may edit."""
    with visiting(chromium, knots.cockpit, EDITOR) as visit:
        yield visit


@pytest.fixture
def editing(visit: Visit) -> Iterator[Visit]:
    """Yield that browser, with a work of the entry as it was saved last."""
    with visit.client.at_work(STUDIO, "tinyforum"):
        yield visit
        assert not visit.strange()


def came_of_it(page: Page) -> str:
    """Return what came of an act that takes a while, going on where the studio says that it is done."""
    onward, note = page.locator("[data-onward]"), page.locator(".note[role=status]")
    expect(onward.or_(note).first).to_be_visible()
    if onward.is_visible():
        onward.click()
    return told(page)


def fetched(visit: Visit, url: str) -> str:
    """Give a page by its URL; return what came of it."""
    page = visit.goto(WORK)
    page.get_by_label("URL", exact=True).fill(url)
    page.get_by_role("button", name="Fetch it").click()
    return came_of_it(page)


def written(visit: Visit, text: str) -> Page:
    """Change the text of the work."""
    page = visit.goto(f"{WORK}/xml")
    page.get_by_text("Change the text").click()
    page.locator("#xml").fill(text)
    page.get_by_role("button", name="Change it").click()
    return page


def test_a_page_is_given_by_its_url_and_chosen_on(editing: Visit, knots: Knots) -> None:
    assert "robots.txt does not let us" in fetched(editing, f"http://{HOST}/secret")
    for url in ("http://10.9.8.7/topic.php", f"http://{HOST}/away"):
        assert "was not asked" in fetched(editing, url)
    assert "/secret" not in {asked.path for asked in knots.site.asked}
    assert fetched(editing, f"http://{HOST}/go").startswith("The page is fetched")
    page = editing.page
    assert all("(+test@example.org)" in asked.agent for asked in knots.site.asked if asked.path == "/go")
    page.frame_locator("[name=marked]").get_by_text("13.2.2024 14:05").click()
    expect(page.get_by_role("heading", name="What is it?")).to_be_visible()
    page.locator("#chosen").get_by_role("link", name="its date").first.click()
    page.get_by_role("link", name="Look at it").first.click()
    page.get_by_role("button", name="Keep it", exact=True).click()
    assert told(page).startswith("The date of")


def test_an_entry_is_packed_and_taken_in_elsewhere_after_its_tests_ran(
    chromium: Browser, visit: Visit, knots: Knots, tmp_path: Path
) -> None:
    page = visit.goto(ENTRY)
    with page.expect_download() as packing:
        page.get_by_role("button", name="Pack it").click()
    pack = tmp_path / packing.value.suggested_filename
    packing.value.save_as(pack)
    wrong = tmp_path / f"wrong-{pack.name}"
    wrong.write_bytes(_repacked(pack.read_bytes()))
    none, other = tmp_path / "none", tmp_path / "own"
    (none / "kinds").mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, os.pathsep.join((str(none), str(other))))
        with serving(knots.cockpit.place) as cockpit, visiting(chromium, cockpit, EDITOR) as taker:
            page = _offered(taker, wrong)
            expect(page.get_by_text("It cannot be taken in")).to_be_visible()
            expect(page.locator(".note.bad")).to_contain_text("topic")
            expect(page.get_by_role("button", name="Take it in")).to_have_count(0)
            page = _offered(taker, pack)
            expect(page.get_by_text("Its tests passed")).to_be_visible()
            page.get_by_role("button", name="Take it in").click()
            assert told(page) == "The entry tinyforum is taken in."
    taken, ours = OwnFolder(other).entry("tinyforum"), knots.own.entry("tinyforum")
    assert taken is not None
    assert ours is not None
    assert (taken.xml, [each.stem for each in taken.pages]) == (ours.xml, ["board", "topic"])


def _offered(visit: Visit, pack: Path) -> Page:
    page = visit.goto(STUDIO)
    page.locator("#document").set_input_files(pack)
    page.get_by_role("button", name="Look at it").click()
    return page


def _repacked(pack: bytes) -> bytes:
    """Return a pack whose rule for the text of a post finds something else, its digests being right."""
    sound = unpacked(pack)
    manifest = sound.manifest
    label = Label(manifest.made, manifest.by, manifest.program, manifest.licence, manifest.pages)
    return packed(replace(sound.entry, xml=BAD_BODY.encode()), label)


def test_an_earlier_state_is_brought_back(visit: Visit, knots: Knots) -> None:
    page = visit.goto(ENTRY)
    _change(page, 1).get_by_role("button", name="Bring this state back").click()
    assert "change 1" in told(page)
    entry = knots.own.entry("tinyforum")
    assert entry is not None
    assert entry.xml == TINY.encode()
    _change(page, 2).get_by_role("button", name="Bring this state back").click()
    entry = knots.own.entry("tinyforum")
    assert entry is not None
    assert b"Ours." in entry.xml


def _change(page: Page, number: int) -> Locator:
    return page.locator("ol.plain > li").filter(has_text=re.compile(rf"change {number}(?!\d)")).last


def test_levels_and_what_is_avoided_are_made_of_groups_of_addresses(editing: Visit) -> None:
    page = editing.goto(f"{WORK}/pages?host={HOST}")
    until(lambda: editing.goto(f"{WORK}/pages?host={HOST}").get_by_text("They are of level").count() > 0)
    form = _opened(page, "Make a level of", "user.php")
    form.get_by_label("A level of its own").fill("Member")
    form.get_by_role("combobox").select_option(label="holds content")
    form.get_by_role("button", name="Make it a level").click()
    assert "are of level member, which holds content" in told(page)
    section = page.locator("section").filter(has=page.get_by_role("heading", name=re.compile(r"user\.php")))
    expect(section).to_contain_text("They are of level member")
    form = _opened(page, "Avoid", "print.php")
    form.get_by_role("combobox").select_option(label="the same page for printing")
    form.get_by_role("button", name="Avoid them").click()
    assert told(page).endswith("are avoided: the same page for printing.")
    page = editing.goto(WORK)
    page.get_by_role("button", name="Instead: they lead to content (level member)").click()
    assert told(page) == "Level member leads to content."
    page.get_by_role("button", name="Instead: they lead to content (level thread)").click()
    assert told(page).startswith("Objects are read on pages of level thread; remove these first")
    text = editing.goto(f"{WORK}/xml").locator("table.lines").inner_text()
    assert re.search(r'<level name="member" role="intermediate">', text)
    assert re.search(r'<url reason="print-view" path="[^"]*print\.php"', text)


def _opened(page: Page, what: str, path: str) -> Locator:
    """Open the forms for a group of addresses; return the one for something."""
    form = page.locator(f"form[aria-label^='{what}'][aria-label*='{path}']")
    page.locator("details").filter(has=form).locator("summary").click()
    return form


def test_a_trial_on_the_archive_shows_what_would_be_gained_lost_and_read_otherwise(editing: Visit) -> None:
    assert told(written(editing, OTHERWISE)) == "The text is changed."
    page = editing.goto(WORK)
    page.get_by_role("button", name="Try it", exact=True).click()
    expect(page.get_by_role("link", name="Back to the work")).to_be_visible()
    figures = dict(zip(page.locator("dt").all_inner_texts(), page.locator("dd").all_inner_texts(), strict=True))
    counts = {name: int(figures[f"Objects {name}"]) for name in ("gained", "lost", "read differently")}
    assert counts == {"gained": 2, "lost": 2, "read differently": 4}
    for row in page.locator("details.panel:not([open]) > summary").all():
        row.click()
    changed = page.locator("li").filter(has_text=re.compile("^changed"))
    expect(changed.first.locator("del")).to_contain_text("knot holds best")
    expect(changed.first.locator("ins")).to_contain_text("13.2.2024")


def test_the_text_is_changed_and_a_mistake_in_it_loses_nothing(editing: Visit) -> None:
    broken = TINY.replace('role="terminal"', 'role="nonsense"')
    page = written(editing, broken)
    expect(page.locator("#xml")).to_have_value(broken)
    expect(page.locator(".mistake, [role=alert]").first).to_contain_text("line 9")
    page = written(editing, TINY.replace("</application>", "</application"))
    expect(page.get_by_role("alert")).to_contain_text("line 20")
    expect(page.locator("#xml")).to_have_value(TINY.replace("</application>", "</application"))
    page = written(editing, TINY)
    assert told(page) == "The text is changed."
    expect(page.locator(".mistake")).to_have_count(0)
    expect(page.locator("table.lines")).to_contain_text('role="terminal"')


def test_a_text_that_was_written_on_an_older_one_is_kept_beside_the_newer(
    chromium: Browser, knots: Knots, editing: Visit
) -> None:
    mine, theirs = (TINY.replace("</application>", f"<!-- {word} --></application>") for word in ("mine", "theirs"))
    page = editing.goto(f"{WORK}/xml")
    page.get_by_text("Change the text").click()
    page.locator("#xml").fill(mine)
    with visiting(chromium, knots.cockpit, EDITOR) as other:
        assert told(written(other, theirs)) == "The text is changed."
    page.get_by_role("button", name="Change it").click()
    expect(page.get_by_role("alert")).to_contain_text("changed this on")
    expect(page.locator("#xml")).to_have_value(mine)
    expect(page.locator("table.lines")).to_contain_text("theirs")
    page.get_by_role("button", name="Change it").click()
    assert told(page) == "The text is changed."
    expect(page.locator("table.lines")).to_contain_text("mine")
