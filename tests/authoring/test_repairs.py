"""What a crawl learned is shown beside what it replaces, accepted (edited or not), or rejected for good."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aahcrawler.adaptation.learned import DECISIONS, LearnedLinks, LearnedSign, State
from aahcrawler.cli import app
from aahcrawler.editor.entries.own_folder import OwnFolder
from aahcrawler.editor.repairs import repair_list
from aahcrawler.editor.repairs.repair_list import (
    Repair,
    RepairError,
    accept,
    edited,
    planned_repair,
    read_both,
    reject,
    repair_of,
    repairs_of,
)
from aahcrawler.editor.text.edits import Add, SetAttribute
from aahcrawler.layout import LEARNED
from aahcrawler.wrapper_induction.robust_paths import Expression
from tests.adaptation.redesigned import new, old, said, thread
from tests.crawl.test_learned import FORUM, crawled


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, ...]:
    file = tmp_path / "base" / "applications" / "harbour.xml"
    file.parent.mkdir(parents=True)
    file.write_text(FORUM, "utf-8")
    return (tmp_path / "base", tmp_path / "mine")


@pytest.fixture
def crawl(tmp_path: Path, folders: tuple[Path, ...]) -> Path:
    """Return the folder of a crawl that learned the posts of the new skin."""
    crawled(folders[:1], tmp_path / "crawl", 1, 2, 3)
    return tmp_path / "crawl"


def only(crawl: Path, folders: tuple[Path, ...]) -> Repair:
    (repair,) = repairs_of(crawl, folders)
    return repair


def test_it_is_shown_on_a_page_with_the_elements_of_both(crawl: Path, folders: tuple[Path, ...]) -> None:
    repair = only(crawl, folders)
    assert repair.state is State.WAITING
    assert {row.part for row in repair.replaces} >= {"item", "body", "author"}
    page = thread(4, new)
    both = read_both(repair, page)
    assert both.before.objects == ()
    assert "nothing-found" in both.before.failure
    assert [each.row.body for each in both.after.objects] == said(4)
    first = both.after.objects[0]
    assert first.element is not None
    assert first.element.tag == "article"
    assert first.element.getroottree().getroot() is page.tree
    assert [element.get("class") for element in first.fields["author"]] == ["poster"]
    assert both.differing == tuple(each.row.iri for each in both.after.objects)
    before = read_both(repair, thread(4, old))
    assert [each.row.body for each in before.before.objects] == said(4)
    assert before.before.objects[0].fields["body"][0].get("class") == "said"


def test_links_and_signs_are_shown_with_their_elements(crawl: Path, folders: tuple[Path, ...]) -> None:
    learned = only(crawl, folders).learned
    common = {name: getattr(learned, name) for name in ("site", "application", "level", "method", "pages")}
    common |= {"confidence": 0.9, "date": learned.date}
    sign = LearnedSign(**common, name="sign", expression=Expression(css="div.all"), others=4)
    links = LearnedLinks(
        **common,
        name="links",
        expression=Expression(css="a.poster"),
        action="threads",
        to="thread",
        documented=False,
        failure="nothing-found",
        before=0,
        after=3,
    )
    page, repair = thread(4, new), only(crawl, folders)
    both = read_both(replace(repair, learned=sign), page)
    assert [[each.tag for each in reading.signs] for reading in (both.before, both.after)] == [["body"], ["div"]]
    both = read_both(replace(repair, learned=links), page)
    assert both.before.links == ()
    assert both.differing == tuple(f"http://forum.test/u/{number}" for number in (400, 401, 402))


def test_what_is_accepted_becomes_part_of_the_file(
    crawl: Path, folders: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repair_list, "pages_of", lambda _: (thread(1, new), thread(2, new)))
    repair = only(crawl, folders)
    plan = planned_repair(repair, folders)
    assert plan.proof.evidence == 2
    assert only(crawl, folders).state is State.WAITING
    accept(repair, folders, "Ada")
    (decided,) = repairs_of(crawl, folders)
    assert decided.decision is not None
    assert (decided.state, decided.decision.who) == (State.ACCEPTED, "Ada")
    assert "took over learned-posts-1" in OwnFolder(folders[-1]).history("harbour")[-1].what
    (read,) = crawled(folders, None, 5)
    assert [each.first("body") for each in read.objects] == said(5)


def test_it_can_be_accepted_with_other_selectors(
    crawl: Path, folders: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repair_list, "pages_of", lambda _: (thread(1, new), thread(2, new)))
    repair = only(crawl, folders)
    place = "field[body]/select[1]"
    edits = (SetAttribute(place=place, attribute="css", value="header + section"),)
    changed = edited(repair, edits)
    assert [each.row.body for each in read_both(changed, thread(4, new)).after.objects] == said(4)
    accept(repair, folders, "Ada", edits)
    file = (folders[-1] / "applications" / "harbour.xml").read_text("utf-8")
    assert "header + section" in file
    (decided,) = repairs_of(crawl, folders)
    assert decided.decision is not None
    assert decided.decision.why == "with changes"
    for wrong in (
        SetAttribute(place=place, attribute="css", value="a..b"),
        SetAttribute(place="field[nobody]", attribute="css", value="a"),
        Add(place="", xml="<field name='body'"),
    ):
        with pytest.raises(RepairError):
            edited(repair, (wrong,))


def test_what_is_rejected_is_not_used_or_learned_again(crawl: Path, folders: tuple[Path, ...]) -> None:
    used = crawled(folders[:1], crawl, 4)
    assert used[0].learned == "learned-posts-1"
    with pytest.raises(RepairError, match="--because"):
        reject(only(crawl, folders), "Ada", " \n")
    reject(only(crawl, folders), "Ada", "the dates are those\nof the server")
    before = {file.name: file.read_bytes() for file in (crawl / LEARNED).glob("*")}
    after = crawled(folders[:1], crawl, 4, 5, 6, 1, 2)
    assert [each.learned for each in after] == [""] * 5
    assert [each.objects for each in after[1:]] == [()] * 4
    assert "rejected" in after[-1].failed_actions[0].detail
    assert {file.name: file.read_bytes() for file in (crawl / LEARNED).glob("*")} == before
    repair = only(crawl, folders)
    assert repair.decision is not None
    assert (repair.state, repair.decision.why) == (State.REJECTED, "the dates are those of the server")


def test_a_torn_decision_costs_itself_alone(crawl: Path, folders: tuple[Path, ...]) -> None:
    reject(only(crawl, folders), "Ada", "wrong")
    with (crawl / LEARNED / DECISIONS).open("ab") as file:
        file.write(b'{"key": "')
    reject(only(crawl, folders), "Bo", "still wrong")
    assert (crawl / LEARNED / DECISIONS).read_bytes().count(b"\n") == 3
    decision = only(crawl, folders).decision
    assert decision is not None
    assert decision.who == "Bo"


@pytest.mark.slow
def test_commands_list_and_reject(crawl: Path, folders: tuple[Path, ...]) -> None:
    runner, kb = CliRunner(), ("--kb", f"{folders[0]}:{folders[1]}")
    listed = runner.invoke(app, ["kb", "learned", str(crawl), *kb])
    assert "learned-posts-1: Harbour Board, level thread, action posts, on forum.test (waiting)" in listed.output
    assert "the file's action found nothing, where each page of the level has something" in listed.output
    shown = runner.invoke(app, ["kb", "promote", str(crawl), "learned-posts-1", "--show", *kb])
    assert shown.exit_code == 0, shown.output
    assert "nothing was written" in shown.output
    assert not folders[-1].exists()
    assert runner.invoke(app, ["kb", "reject", str(crawl), "learned-posts-1", *kb]).exit_code == 2
    because = ["--because", "no dates", "--as-person", "Ada"]
    assert runner.invoke(app, ["kb", "reject", str(crawl), "learned-posts-1", *because, *kb]).exit_code == 0
    listed = runner.invoke(app, ["kb", "learned", str(crawl), *kb])
    assert "rejected by Ada" in listed.output
    assert "no dates" in listed.output
    unknown = runner.invoke(app, ["kb", "reject", str(crawl), "nothing", *because, *kb])
    assert (unknown.exit_code, "there is learned-posts-1" in unknown.output) == (2, True)


def test_one_of_several_has_to_be_named(crawl: Path, folders: tuple[Path, ...]) -> None:
    repair = only(crawl, folders)
    assert repair_of((repair,), repair.key) is repair
    with pytest.raises(RepairError, match=r"--site forum\.test"):
        repair_of((repair, repair), "learned-posts-1")
