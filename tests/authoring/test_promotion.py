"""What was learned becomes part of the file in the way that changes least: never a variant for each site."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aahcrawler.adaptation.learned import LearnedAction
from aahcrawler.editor.entries.own_folder import OwnFolder
from aahcrawler.editor.pages.page_capture import Wish, capture
from aahcrawler.editor.pages.saved_pages import read_page
from aahcrawler.editor.repairs.consolidation import template_of
from aahcrawler.editor.repairs.insertion import PromotionError, evidence_of
from aahcrawler.editor.repairs.promotion import Plan, carried_out, planned
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Page
from aahcrawler.wrapper_induction.examples import Method
from aahcrawler.wrapper_induction.wrapper import Wrapper
from knowledge_base.loader import load
from knowledge_base.model import DateFormat, Extract, Field, FieldKind, Identity
from knowledge_base.selectors import compile_selector
from tests.authoring.tinyforum import TOPIC
from tests.helper.saved_pages import html_page

TINY = """<?xml version="1.0" encoding="UTF-8"?>
<!-- Kept as it is. -->
<application name="TinyForum" kind="web-forum">
  <detect><pattern strength="proof" generator="TinyForum" cite="header.tpl"/></detect>
  <level name="thread" role="terminal">
    <when css="div.entry div.text" cite="topic.tpl"/>   <!-- of the skin -->
    <when path="**/topic.php" cite="topic.tpl"/>
    <address path="**/topic.php" parameters="id" optional="page"/>
    <extract name="posts" type="reply" first-type="post" many="yes" always="yes">
      <item css="div.entry" cite="topic.tpl"/>
      <identity trim="entry-" prefix="entry-"><select xpath="@id" cite="topic.tpl"/></identity>
      <field name="author" kind="person"><select css=".who a" cite="topic.tpl"/></field>
      <field name="date" kind="datetime" order="dmy"><select css=".when" cite="topic.tpl"/></field>
      <!-- The text. -->
      <field name="body"><select css=".text" cite="topic.tpl"/></field>
    </extract>
  </level>
</application>
"""


def redesigned(site: str, number: int, *, decoy: str = "", more: str = "") -> Page:
    """Return a thread of a site in a new theme; with a ``decoy``, the file's items find something else."""
    posts = "".join(
        f'<article class="utterance" id="u{number}{each}"><b class="speaker">{name}</b><i class="moment">'
        f'2022-01-1{each} 10:05</i><div class="speech">The harbour of {site} froze over on day {each}.</div></article>'
        for each, name in ((1, "Ann Boyd"), (2, "Jo Dahl"))
    )
    return html_page(
        f"http://{site}/topic.php?id={number}",
        '<html><head><meta name="generator" content="TinyForum 3"><link rel="stylesheet" '
        f'href="/themes/moonlight/s.css"></head><body class="tf-page moonlight-page {site.replace(".", "-")}">'
        f"{decoy}{more}<main>{posts}</main></body></html>",
    )


def learned(
    site: str, pages: tuple[Page, ...], *, fields: tuple[str, ...] = ("body", "author", "date")
) -> LearnedAction:
    known = (
        Field("body", FieldKind.TEXT, (compile_selector(css="div.speech"),)),
        Field("author", FieldKind.PERSON, (compile_selector(css="b.speaker"),)),
        Field("date", FieldKind.DATETIME, (compile_selector(css="i.moment"),), date=DateFormat("ymd", "UTC")),
    )
    action = Extract(
        "posts",
        "reply",
        (compile_selector(css="article.utterance"),),
        tuple(field for field in known if field.name in fields),
        many=True,
        first_type="post",
        identity=Identity((compile_selector(xpath="@id"),), ("u",), "entry-"),
    )
    return LearnedAction(
        site=site,
        application="TinyForum",
        level="thread",
        action="posts",
        name="learned-posts-1",
        wrapper=Wrapper(action),
        method=Method.MEMORY,
        failure="nothing-found",
        pages=tuple(page.url for page in pages),
        before=0,
        after=4,
        confidence=0.97,
        date=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    )


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, ...]:
    """Return a knowledge base with one application and a saved page of it, and a folder of one's own."""
    base = tmp_path / "base"
    (base / "applications").mkdir(parents=True)
    (base / "applications" / "tinyforum.xml").write_text(TINY, "utf-8")
    capture(TOPIC, load(base), (base,), Wish("tinyforum", "topic"))
    return base, tmp_path / "mine"


def done(site: str, pages: tuple[Page, ...], folders: tuple[Path, ...], action: LearnedAction | None = None) -> Plan:
    plan = planned(action or learned(site, pages), pages, folders)
    carried_out(plan, folders, "Ada")
    return plan


def bodies(page: Page, folders: tuple[Path, ...]) -> list[str]:
    found = ApplicationAwareHelper(load(*folders)).assist(page)
    return [str(each.first("body")) for each in found.objects]


KNOTS = tuple(redesigned("knots.test", number) for number in (7, 8))
SAILS = tuple(redesigned("sails.test", number) for number in (3, 4))
DECOY = '<div class="entry" id="entry-0"><p class="text">Read the rules of the board before you write.</p></div>'
KNOTS_WITH_DECOY = tuple(redesigned("knots.test", number, decoy=DECOY) for number in (7, 8))
SAILS_WITH_DECOY = tuple(redesigned("sails.test", number, decoy=DECOY) for number in (3, 4))


def test_it_becomes_one_more_alternative_of_the_action_where_all_pages_allow_it(folders: tuple[Path, ...]) -> None:
    plan = planned(learned("knots.test", KNOTS), KNOTS, folders)
    said = "\n".join(plan.lines())
    assert "one more place where the action posts of level thread looks" in said
    assert '<item css="article.utterance" cite="http://knots.test/topic.php?id=7"/>' in said
    assert "proved on 2 pages that it was learned from" in said
    assert "tried on 1 saved page:" in said
    assert not folders[-1].exists()
    carried_out(plan, folders, "Ada")
    file = (folders[-1] / "applications" / "tinyforum.xml").read_text("utf-8")
    assert "<variant" not in file
    kept = [line for line in TINY.splitlines() if "<identity" not in line]
    assert [line for line in kept if line not in file.splitlines()] == [
        '      <field name="author" kind="person"><select css=".who a" cite="topic.tpl"/></field>',
        '      <field name="body"><select css=".text" cite="topic.tpl"/></field>',
    ]
    assert 'trim="entry- u"' in file
    assert file.count("Learned on knots.test") == 1
    assert len(bodies(KNOTS[0], folders)) == len(bodies(SAILS[0], folders)) == 2
    assert len(bodies(TOPIC, folders)) == 3
    own = OwnFolder(folders[-1])
    (change,) = own.history("tinyforum")
    assert (change.who, "learned on knots.test" in change.what) == ("Ada", True)
    saved = read_page(folders[-1] / "applications" / "pages" / "tinyforum" / "thread-moonlight.html")
    assert len(saved.expected.objects) == 2


def test_what_the_file_reads_already_changes_nothing(folders: tuple[Path, ...]) -> None:
    done("knots.test", KNOTS, folders)
    before = (folders[-1] / "applications" / "tinyforum.xml").read_bytes()
    plan = done("sails.test", SAILS, folders)
    assert "already" in next(plan.lines())
    assert (folders[-1] / "applications" / "tinyforum.xml").read_bytes() == before
    assert len(OwnFolder(folders[-1]).history("tinyforum")) == 1


def test_two_sites_of_one_theme_make_one_variant_named_after_it(folders: tuple[Path, ...]) -> None:
    first = done("knots.test", KNOTS_WITH_DECOY, folders)
    assert first.variant == "moonlight"
    (reason,) = first.proof.refused
    assert "one more place where the action posts" in reason
    assert "would not be found" in reason
    second = done("sails.test", SAILS_WITH_DECOY, folders)
    assert second.insertion is None
    (variant,) = load(*folders).application("TinyForum").level("thread").variants
    assert variant.name == "moonlight"
    assert len(bodies(SAILS_WITH_DECOY[0], folders)) == 2


def test_a_variant_of_another_site_serves_with_one_more_sign(folders: tuple[Path, ...]) -> None:
    done("knots.test", KNOTS_WITH_DECOY, folders)
    file = folders[-1] / "applications" / "tinyforum.xml"
    narrow = 'css="body.knots-test article.utterance"'
    file.write_text(file.read_text("utf-8").replace('<when css="article.utterance"', f"<when {narrow}", 1), "utf-8")
    plan = done("sails.test", SAILS_WITH_DECOY, folders)
    assert plan.insertion is not None
    assert "one more sign of the variant moonlight" in plan.insertion.said
    (variant,) = load(*folders).application("TinyForum").level("thread").variants
    assert len(variant.when) == 2
    stems = {page.stem for page in (folders[-1] / "applications" / "pages" / "tinyforum").glob("*.html")}
    assert stems == {"thread-moonlight", "thread-moonlight-2"}


def test_a_variant_gets_what_it_lacked_as_alternatives(folders: tuple[Path, ...]) -> None:
    first = learned("knots.test", KNOTS_WITH_DECOY, fields=("body", "author"))
    plain = tuple(replace(page, body=page.body.replace(b'<i class="moment">', b"<i>")) for page in KNOTS_WITH_DECOY)
    done("knots.test", plain, folders, first)
    plan = done("sails.test", SAILS_WITH_DECOY, folders)
    assert plan.insertion is not None
    assert "action posts of variant moonlight" in plan.insertion.said
    file = (folders[-1] / "applications" / "tinyforum.xml").read_text("utf-8")
    assert (file.count("<variant"), "drop=" in file) == (1, False)
    found = ApplicationAwareHelper(load(*folders)).assist(SAILS_WITH_DECOY[0]).objects
    assert [each.first("date") is not None for each in found] == [True, True]


def test_why_it_cannot_be_taken_over_is_said_in_words(folders: tuple[Path, ...]) -> None:
    advert = TOPIC.body.replace(b"<h1", b'<article class="utterance">Buy rope.</article><h1')
    capture(replace(TOPIC, url=TOPIC.url + "1", body=advert), load(folders[0]), folders[:1], Wish("tinyforum", "ad"))
    with pytest.raises(PromotionError) as refused:
        planned(learned("knots.test", KNOTS_WITH_DECOY), KNOTS_WITH_DECOY, folders)
    said = str(refused.value)
    assert "Nothing was changed" in said
    assert "as one more place where the action posts" in said
    assert "as a new variant moonlight of level thread: the saved page tinyforum/ad, of another template, would" in said
    assert not folders[-1].exists()
    unknown = replace(KNOTS[0], body=KNOTS[0].body.replace(b"generator", b"maker"))
    with pytest.raises(PromotionError, match="not recognised as a page of TinyForum any more"):
        planned(learned("knots.test", KNOTS), (unknown,), folders)


def test_a_variant_that_any_page_would_show_gets_a_sign_of_its_theme(folders: tuple[Path, ...]) -> None:
    action = learned("knots.test", KNOTS_WITH_DECOY)
    items = (compile_selector(xpath="//main/article"),)
    plain = replace(action, wrapper=Wrapper(replace(action.wrapper.action, items=items)))
    plan = planned(plain, KNOTS_WITH_DECOY, folders)
    assert plan.insertion is not None
    (when,) = [line for _, line in plan.added() if "<when" in line]
    assert "//link[contains(@href, '/themes/moonlight/')]" in when


def test_a_file_of_the_same_name_that_describes_something_else_is_not_written_over(folders: tuple[Path, ...]) -> None:
    there = folders[-1] / "applications" / "tinyforum.xml"
    there.parent.mkdir(parents=True)
    text = (folders[0] / "applications" / "tinyforum.xml").read_text("utf-8")
    there.write_text(text.replace("TinyForum", "Another").replace("tinyforum", "another"), "utf-8")
    with pytest.raises(PromotionError, match="describes another application"):
        planned(learned("knots.test", KNOTS), KNOTS, folders)


def test_a_site_with_many_hyphens_in_its_name_makes_no_broken_comment() -> None:
    told = evidence_of(replace(learned("knots.test", KNOTS), site="a---b--c.test"))
    assert "a-b-c.test" in told


def test_names_of_templates_are_no_names_of_sites() -> None:
    action = learned("knots.test", KNOTS)
    assert template_of(action, KNOTS, ()).name == "moonlight"
    bare = tuple(replace(page, body=page.body.replace(b"/themes/moonlight/", b"/")) for page in KNOTS)
    assert template_of(action, bare, ()).name == "utterance"
    sited = tuple(replace(page, body=page.body.replace(b"moonlight", b"knots")) for page in KNOTS)
    assert template_of(action, sited, ()).name == "utterance"
    assert template_of(action, KNOTS, KNOTS).name == "utterance"
    assert template_of(action, KNOTS, KNOTS, {"moonlight"}).name == "moonlight"
    skinned = tuple(replace(page, body=page.body.replace(b"moonlight-page", b"skin-dusk")) for page in bare)
    assert template_of(action, skinned, ()).name == "skin-dusk"
