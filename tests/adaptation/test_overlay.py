"""Learned actions are kept in files that every worker reads, and that people can take over."""

import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from lxml import etree
from typer.testing import CliRunner

from aahcrawler.adaptation.learned import Learned, LearnedAction, LearnedLinks, LearnedSign
from aahcrawler.adaptation.overlay import Overlay
from aahcrawler.cli import app
from aahcrawler.editor.repairs.insertion import PromotionError
from aahcrawler.editor.repairs.promotion import Promoted, carried_out, planned
from aahcrawler.editor.repairs.repair_list import compared
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.layout import LEARNED
from aahcrawler.page import Page
from aahcrawler.wrapper_induction.examples import Method
from aahcrawler.wrapper_induction.robust_paths import Expression
from aahcrawler.wrapper_induction.wrapper import Wrapper
from knowledge_base.file_selection import SHIPPED
from knowledge_base.loader import SCHEMA, load
from knowledge_base.model import DateFormat, Extract, Field, FieldKind, Identity, Navigate
from knowledge_base.selectors import compile_selector
from tests.page.building import page_of
from tests.shipped import shipped

URL = "http://forum.test/viewtopic.php?t=7"
REDESIGNED = page_of(
    """<html><head><meta name="generator" content="phpBB"><title>Ice</title></head><body id="phpbb"><h2>Ice</h2>
    <main>
    <article class="utterance" id="u1"><b class="speaker">Ann Boyd</b><i class="moment">2022-01-14 10:05</i>
    <div class="speech">The harbour froze over in January.</div></article>
    <article class="utterance" id="u2"><b class="speaker">Jo Dahl</b><i class="moment">2022-01-15 11:05</i>
    <div class="speech">Nobody believed it at first.</div></article>
    </main><p class="copyright">Powered by <a href="https://www.phpbb.com/">phpBB</a></p></body></html>""",
    url=URL,
)


NOTES = Wrapper(
    Extract(
        "notes",
        "thread",
        (compile_selector(css="p.copyright"),),
        (Field("body", FieldKind.TEXT, (compile_selector(xpath="."),)),),
    )
)


def learned(site: str = "forum.test", name: str = "learned-posts-1", application: str = "phpBB") -> LearnedAction:
    action = Extract(
        "posts",
        "reply",
        (compile_selector(css="article.utterance"),),
        (
            Field("body", FieldKind.TEXT, (compile_selector(css="div.speech"),)),
            Field("author", FieldKind.PERSON, (compile_selector(xpath="b[@class='speaker']"),)),
            Field("date", FieldKind.DATETIME, (compile_selector(css="i.moment"),), date=DateFormat("ymd", "UTC")),
        ),
        many=True,
        first_type="post",
        identity=Identity((compile_selector(xpath=".", attribute="id"),), ("u",), "p"),
    )
    return LearnedAction(
        site=site,
        application=application,
        level="topic",
        action="posts",
        name=name,
        wrapper=Wrapper(action),
        method=Method.MEMORY,
        failure="nothing-found",
        pages=(URL, "http://forum.test/viewtopic.php?t=8"),
        before=0,
        after=4,
        confidence=0.97,
        date=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    )


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds phpBB and its like of what ships: each change is tried on all saved pages."""
    folder = tmp_path_factory.mktemp("known")
    shutil.copytree(SHIPPED / "kinds", folder / "kinds")
    for name in ("phpbb", "mybb"):
        shutil.copytree(SHIPPED / "applications" / "pages" / name, folder / "applications" / "pages" / name)
        shutil.copy(SHIPPED / "applications" / f"{name}.xml", folder / "applications")
    return folder


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "kb"
    shutil.copytree(SHIPPED / "kinds", folder / "kinds")
    (folder / "applications").mkdir()
    return folder


def topic_level() -> str:
    return next(level.name for level in shipped().application("phpBB").levels if level.role == "terminal")


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    return tmp_path / "crawl"


def kept(crawl: Path, *actions: LearnedAction) -> Overlay:
    overlay = Overlay(crawl / LEARNED)
    for each in actions:
        overlay.keep(replace(each, level=topic_level()))
    return overlay


def promote(learned: Learned, pages: Sequence[Page], folders: Sequence[Path], variant: str = "") -> Promoted:
    return carried_out(planned(learned, pages, folders, variant), folders, "")


def test_what_is_kept_is_read_back_and_finds_the_same(crawl: Path) -> None:
    (found,), problems = kept(crawl, learned()).actions(shipped())
    assert problems == ()
    expected = replace(learned(), level=topic_level())
    assert replace(found, wrapper=expected.wrapper) == expected
    extract = found.wrapper.action
    assert [element.get("id") for element in extract.items[0].elements(REDESIGNED.tree)] == ["u1", "u2"]
    assert found.wrapper.xml().tag == "extract"


def test_the_files_are_valid_for_editors(crawl: Path) -> None:
    path = kept(crawl, learned(), learned("other.test")).keep(learned(application="../../etc/x"))
    schema = etree.XMLSchema(etree.parse(SCHEMA))
    files = sorted((crawl / LEARNED).glob("*.xml"))
    assert len(files) == 2
    assert all(schema.validate(etree.parse(file)) for file in files)
    assert path.parent == crawl / LEARNED


def test_one_of_the_same_name_site_and_level_is_replaced(crawl: Path) -> None:
    overlay = kept(crawl, learned(), learned("other.test"), replace(learned(), after=9))
    assert sorted((each.site, each.after) for each in overlay.actions(shipped())[0]) == [
        ("forum.test", 9),
        ("other.test", 4),
    ]


def test_workers_may_write_at_once(crawl: Path) -> None:
    with ThreadPoolExecutor(8) as executor:
        list(executor.map(lambda number: kept(crawl, learned(f"site{number}.test")), range(24)))
    assert len(Overlay(crawl / LEARNED).actions(shipped())[0]) == 24


def test_its_stamp_changes_with_its_files(crawl: Path) -> None:
    overlay = Overlay(crawl / LEARNED)
    before = overlay.stamp()
    kept(crawl, learned())
    assert before == ()
    assert overlay.stamp() != before


@pytest.mark.parametrize("text", ["", "<learned", "<application/>", "<learned application='phpBB'><action/></learned>"])
def test_a_broken_file_is_told_and_the_others_are_read(crawl: Path, text: str) -> None:
    overlay = kept(crawl, learned())
    (crawl / LEARNED / "Broken.xml").write_text(text)
    actions, problems = overlay.actions(shipped())
    assert len(actions) == 1
    assert all("Broken.xml" in str(problem) for problem in problems)
    assert problems


def test_a_broken_file_does_not_keep_new_things_from_being_kept(crawl: Path) -> None:
    overlay = kept(crawl, learned())
    (crawl / LEARNED / "phpBB.xml").write_text("<learned")
    kept(crawl, learned("other.test"))
    assert [each.site for each in overlay.actions(shipped())[0]] == ["other.test"]
    assert (crawl / LEARNED / "phpBB.broken").exists()


def test_an_expression_that_cannot_be_compiled_is_told_with_its_line(crawl: Path) -> None:
    overlay = kept(crawl, learned())
    file = crawl / LEARNED / "phpBB.xml"
    file.write_text(file.read_text().replace("article.utterance", "article..utterance", 1))
    actions, problems = overlay.actions(shipped())
    assert actions == ()
    assert problems[0].line > 1


def test_expressions_are_kept_as_they_were_written(crawl: Path) -> None:
    file = Overlay(crawl / "first").keep(replace(learned(), level="thread"))
    assert 'css="article.utterance"' in file.read_text()
    (read,), _ = Overlay(crawl / "first").actions(shipped())
    assert Overlay(crawl / "again").keep(read).read_text() == file.read_text()


def test_what_another_knowledge_base_knows_is_left_alone(crawl: Path) -> None:
    overlay = Overlay(crawl / LEARNED)
    overlay.keep(learned(application="Elsewhere"))
    overlay.keep(replace(learned(), level="nowhere"))
    assert overlay.actions(shipped()) == ((), ())


@pytest.mark.slow
def test_a_promoted_action_is_a_variant_that_reads_the_page(known: Path, base: Path) -> None:
    action = replace(learned(), level=topic_level())
    promoted = promote(action, (REDESIGNED,), (known, base), "dark")
    assert promoted.file == base / "applications" / "phpbb.xml"
    assert promoted.captured is not None
    assert promoted.captured.misfits == ()
    found = ApplicationAwareHelper(load(known, base)).assist(REDESIGNED)
    assert found.match is not None
    assert found.match.variant == promoted.variant
    assert [each.iri.partition("#")[2] for each in found.objects] == ["p1", "p2"]
    original = (SHIPPED / "applications" / "phpbb.xml").read_text().splitlines()
    added = [line for line in promoted.file.read_text().splitlines() if line not in original]
    rest = [line for line in promoted.file.read_text().splitlines() if line in original]
    assert [line for line in original if line not in rest] == []
    assert sum("<variant" in line for line in added) == 1


@pytest.mark.slow
def test_a_variant_that_finds_nothing_on_its_page_is_refused(known: Path, base: Path) -> None:
    action = replace(learned(), level=topic_level())
    other = replace(REDESIGNED, body=REDESIGNED.body.replace(b"utterance", b"statement"))
    with pytest.raises(PromotionError, match="Nothing was changed"):
        promote(action, (other,), (known, base))
    assert not list((base / "applications").iterdir())


@pytest.mark.slow
def test_names_that_are_there_already_or_unknown_are_refused(known: Path, base: Path) -> None:
    action = replace(learned(), level=topic_level())
    promote(action, (REDESIGNED,), (known, base), "mine")
    with pytest.raises(PromotionError, match="--as"):
        promote(action, (REDESIGNED,), (known, base), "mine")
    with pytest.raises(PromotionError, match="no file"):
        promote(replace(action, application="Nobody's"), (REDESIGNED,), (known, base))
    with pytest.raises(PromotionError, match="level nowhere"):
        promote(replace(action, level="nowhere"), (REDESIGNED,), (known, base))


@pytest.mark.slow
def test_actions_of_one_level_and_template_go_into_one_variant(known: Path, base: Path) -> None:
    posts = replace(learned(), level=topic_level())
    notes = replace(posts, action="notes", name="learned-notes-1", wrapper=NOTES)
    first = promote(posts, (REDESIGNED,), (known, base), "dark")
    second = promote(notes, (REDESIGNED,), (known, base))
    assert (second.file, second.variant) == (first.file, first.variant)
    (variant,) = (
        each
        for each in load(known, base).application("phpBB").level(topic_level()).variants
        if each.name == first.variant
    )
    assert {"posts", "notes"} <= {action.name for action in variant.actions}
    found = ApplicationAwareHelper(load(known, base)).assist(REDESIGNED).objects
    assert {each.type for each in found} == {"post", "reply", "thread"}


@pytest.mark.slow
def test_a_file_without_line_breaks_is_changed_in_the_right_place(known: Path, base: Path) -> None:
    original = (SHIPPED / "applications" / "phpbb.xml").read_bytes()
    parser = etree.XMLParser(remove_blank_text=True)
    own = base / "applications" / "phpbb.xml"
    own.write_bytes(etree.tostring(etree.fromstring(original, parser), encoding="utf-8"))
    promoted = promote(replace(learned(), level=topic_level()), (REDESIGNED,), (known, base), "dark")
    found = etree.parse(own).find(f".//variant[@name='{promoted.variant}']")
    assert found is not None
    holder = found.getparent()
    assert holder is not None
    assert holder.get("name") == topic_level()


def test_what_differs_stands_side_by_side() -> None:
    rows = {row.part: row for row in compared(replace(learned(), level=topic_level()), shipped())}
    assert (
        rows["body"].after
        == ("descendant-or-self::div[@class and contains(concat(' ', normalize-space(@class), ' '), ' speech ')]",)
        or "speech" in rows["body"].after[0]
    )
    assert rows["body"].before != rows["body"].after
    assert "item" in rows


@pytest.mark.slow
def test_the_command_line_lists_what_was_learned(crawl: Path) -> None:
    kept(crawl, learned())
    said = CliRunner().invoke(app, ["kb", "learned", str(crawl)])
    assert said.exit_code == 0
    assert "learned-posts-1: phpBB" in said.output
    assert "+ " in said.output
    assert "confidence 0.97" in said.output
    refused = CliRunner().invoke(app, ["kb", "promote", str(crawl), "something"])
    assert refused.exit_code == 2
    empty = crawl.parent / "empty"
    empty.mkdir()
    assert "nothing had to be learned" in CliRunner().invoke(app, ["kb", "learned", str(empty)]).output


def without(action: LearnedAction, name: str) -> LearnedAction:
    extract = action.wrapper.action
    fields = tuple(field for field in extract.fields if field.name != name)
    return replace(action, wrapper=Wrapper(replace(extract, fields=fields)))


@pytest.mark.slow
def test_a_field_that_the_learned_action_has_not_is_not_taken_from_the_level(known: Path, base: Path) -> None:
    level = shipped().application("phpBB").level(topic_level())
    (posts,) = (each for each in level.actions if isinstance(each, Extract) and each.name == "posts")
    assert {"title", "date"} <= {field.name for field in posts.fields}
    promoted = promote(without(replace(learned(), level=level.name), "date"), (REDESIGNED,), (known, base), "dark")
    found = etree.parse(promoted.file).find(f".//variant[@name='{promoted.variant}']/extract")
    assert found is not None
    assert {"title", "date"} <= set(str(found.get("drop")).split())
    objects = ApplicationAwareHelper(load(known, base)).assist(REDESIGNED).objects
    assert objects
    assert all(each.first("date") is None and each.first("title") is None for each in objects)


@pytest.mark.slow
def test_another_template_of_a_site_gets_a_variant_of_its_own(known: Path, base: Path) -> None:
    posts = replace(learned(), level=topic_level())
    first = promote(posts, (REDESIGNED,), (known, base), "dark")
    again = replace(REDESIGNED, body=REDESIGNED.body.replace(b"utterance", b"statement"))
    items = (compile_selector(css="article.statement"),)
    other = replace(posts, name="learned-posts-2", wrapper=Wrapper(replace(posts.wrapper.action, items=items)))
    second = promote(other, (again,), (known, base), "light")
    assert (first.variant, second.variant) == ("dark", "light")
    helper = ApplicationAwareHelper(load(known, base))
    for page, promoted in ((REDESIGNED, first), (again, second)):
        found = helper.assist(page)
        assert found.match is not None
        assert (found.match.variant, len(found.objects)) == (promoted.variant, 2)


@pytest.mark.slow
def test_all_pages_of_the_evidence_must_be_read_as_the_crawl_did(known: Path, base: Path) -> None:
    action = replace(learned(), level=topic_level())
    other = replace(REDESIGNED, body=REDESIGNED.body.replace(b"utterance", b"statement"))
    with pytest.raises(PromotionError, match="Nothing was changed"):
        promote(action, (REDESIGNED, other), (known, base))


@pytest.mark.slow
def test_signs_that_fit_the_pages_of_another_template_are_refused(known: Path, base: Path) -> None:
    action = replace(learned(), level=topic_level())
    items = (*action.wrapper.action.items, compile_selector(css="body"))
    wrapper = Wrapper(replace(action.wrapper.action, items=items))
    with pytest.raises(PromotionError, match="saved page phpbb/"):
        promote(replace(action, wrapper=wrapper), (REDESIGNED,), (known, base))


SIGN = LearnedSign(
    site="forum.test",
    application="phpBB",
    level="",
    name="learned-sign-1",
    expression=Expression(css=".phpbb-ltr"),
    method=Method.RELAXED,
    pages=(URL,),
    others=3,
    confidence=0.8,
    date=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
)


@pytest.mark.slow
def test_a_learned_sign_of_a_level_becomes_one_more_of_its_signs(known: Path, base: Path) -> None:
    sign = replace(
        SIGN, level=topic_level(), name="learned-sign-topic-1", expression=Expression(css="article.utterance")
    )
    promoted = promote(sign, (REDESIGNED,), (known, base))
    assert (promoted.variant, promoted.captured is not None) == ("", True)
    found = ApplicationAwareHelper(load(known, base)).assist(REDESIGNED).match
    assert found is not None
    assert found.level is not None
    assert found.level.name == topic_level()
    (row,) = compared(sign, load(known, base))
    assert row.after == ("article.utterance",)
    assert "body.section-viewtopic" in row.before


@pytest.mark.slow
def test_a_learned_sign_of_the_application_recognises_its_pages(known: Path, base: Path) -> None:
    markup = b'<html><body class="phpbb-ltr"><article class="utterance" id="u1"><p>Ice</p></article></body></html>'
    page = replace(REDESIGNED, body=markup)
    with pytest.raises(PromotionError, match="one hint is not enough"):
        promote(replace(SIGN, expression=Expression(css=".utterance")), (page,), (known, base))
    promoted = promote(SIGN, (page,), (known, base))
    assert '<pattern strength="strong" css=".phpbb-ltr"' in promoted.file.read_text()
    assert promoted.captured is None
    found = ApplicationAwareHelper(load(known, base)).assist(page).match
    assert found is not None
    assert found.application.name == "phpBB"


BOARD_URL = "http://forum.test/viewforum.php?f=3"
BOARD = page_of(
    """<html><head><meta name="generator" content="phpBB"><title>Ice</title></head>
    <body id="phpbb" class="section-viewforum"><ul class="subjects">
    <li><b class="subject"><a href="./viewtopic.php?t=7">One</a></b></li>
    <li><b class="subject"><a href="./viewtopic.php?t=8">Two</a></b></li></ul></body></html>""",
    url=BOARD_URL,
)
LINKS = LearnedLinks(
    site="forum.test",
    application="phpBB",
    level="forum",
    action="threads",
    to="thread",
    name="learned-threads-1",
    expression=Expression(css="b.subject a"),
    documented=False,
    method=Method.RELAXED,
    failure="nothing-found",
    pages=(BOARD_URL,),
    before=0,
    after=2,
    confidence=0.75,
    date=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "documented", "variant"),
    [(Expression(css="b.subject a"), False, "dark"), (Expression(css="a[href]"), True, "")],
)
def test_learned_navigation_becomes_a_variant_or_what_runs_where_that_of_the_level_finds_nothing(
    known: Path, base: Path, written: Expression, documented: bool, variant: str
) -> None:
    levels = shipped().application("phpBB").level("forum")
    action = next(each.name for each in levels.actions if isinstance(each, Navigate) and each.to == topic_level())
    links = replace(LINKS, action=action, to=topic_level(), expression=written, documented=documented)
    promoted = promote(links, (BOARD,), (known, base), variant)
    assert promoted.variant == variant
    found = ApplicationAwareHelper(load(known, base)).assist(BOARD)
    followed = [link.url for link in found.document.outlinks]
    assert followed == ["http://forum.test/viewtopic.php?t=7", "http://forum.test/viewtopic.php?t=8"]
    assert found.match is not None
    assert found.match.variant == variant


@pytest.mark.slow
def test_the_command_line_promotes_what_it_lists(crawl: Path, base: Path) -> None:
    overlay = Overlay(crawl / LEARNED)
    overlay.keep(replace(LINKS, documented=True, expression=Expression(css="a[href]")))
    overlay.keep(replace(SIGN, level="forum", name="learned-sign-forum-1"))
    runner = CliRunner()
    listed = runner.invoke(app, ["kb", "learned", str(crawl)]).output
    assert "learned-threads-1: phpBB, level forum, action threads" in listed
    assert "learned-sign-forum-1: phpBB, sign of level forum" in listed
    done = runner.invoke(app, ["kb", "promote", str(crawl), "learned-sign-forum-1", "--kb", f"shipped:{base}"])
    assert done.exit_code == 0, done.output
    assert "has no test" in done.output
    assert 'css=".phpbb-ltr"' in (base / "applications" / "phpbb.xml").read_text()
