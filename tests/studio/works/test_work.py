"""Works: every step is kept, taken back by whom it is of, and made on the state that its author saw."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aahcrawler.editor.drafting.annotated_xml import Alternative, Doubt
from aahcrawler.editor.drafts import draft_folder
from aahcrawler.editor.drafts.draft_collection import DraftCollection
from aahcrawler.editor.drafts.draft_state import DraftEditError, StaleError, StepKind
from aahcrawler.editor.drafts.opened_draft import OpenedDraft
from aahcrawler.editor.pages.saved_pages import Expectation, ObjectRow
from aahcrawler.editor.text.edits import Add, Edit, Put, Remove, SetAttribute
from aahcrawler.editor.text.entry_text import EditError
from knowledge_base.file_selection import SHIPPED
from tests.authoring.tinyforum import TOPIC
from tests.studio.works.sailing import DATE, DOUBTS, DRAFT, EXTRACT, ITEM

IRI = f"{TOPIC.url}#entry-4"
EXPECTED = Expectation(
    url=TOPIC.url,
    application="TinyForum",
    level="thread",
    objects=(ObjectRow(iri=IRI, type="post", author="Ada"), ObjectRow(iri=f"{TOPIC.url}#entry-5", type="reply")),
)


@pytest.fixture
def works(tmp_path: Path) -> DraftCollection:
    return DraftCollection(tmp_path / "own", (SHIPPED,))


@pytest.fixture
def work(works: DraftCollection) -> OpenedDraft:
    return works.begin_from(DRAFT, DOUBTS, "tinyforum", "Ada", [(TOPIC, EXPECTED)])


def css(place: str, value: str) -> SetAttribute:
    return SetAttribute(place=place, attribute="css", value=value)


def test_a_work_is_there_after_a_restart_with_all_its_steps(
    works: DraftCollection, work: OpenedDraft, tmp_path: Path
) -> None:
    work.change([css(ITEM, "div.post")], "Ada", "posts are div.post", 0)
    work.set_expectation("thread", EXPECTED.model_copy(update={"objects": ()}), "Bo", 1)
    again = DraftCollection(tmp_path / "own", (SHIPPED, tmp_path / "own")).open("tinyforum")
    state = again.now()
    assert works.names() == ("tinyforum",)
    assert [(begun.name, begun.who, begun.source) for begun in works.begun()] == [("tinyforum", "Ada", "a draft")]
    assert state.text.data == DRAFT.replace(b'item css="div.entry"', b'item css="div.post"')
    assert [(step.who, step.said) for step in state.steps] == [
        ("Ada", "posts are div.post"),
        ("Bo", "said that the page thread is read rightly now"),
    ]
    page = again.page("thread")
    assert (page.page.body, page.page.url, page.expected.objects) == (TOPIC.body, TOPIC.url, ())
    assert state.doubts == DOUBTS
    with pytest.raises(DraftEditError, match="somebody has begun a work tinyforum"):
        works.begin_from(DRAFT, (), "tinyforum", "Bo")


def test_what_was_made_for_a_former_work_is_not_done_to_the_one_begun_under_its_name(
    works: DraftCollection, work: OpenedDraft
) -> None:
    former = works.existing("tinyforum", work.now().origin.mark)
    former.change([css(ITEM, "div.post")], "Ada", "posts are div.post", 0)
    former.discard()
    now = works.begin_from(DRAFT, DOUBTS, "tinyforum", "Bo")
    for act in (
        lambda: former.change([css(ITEM, "div.no")], "Ada", "no", 1),
        lambda: former.undo("Ada", 1),
        former.discard,
    ):
        with pytest.raises(DraftEditError, match="begun another one"):
            act()
    assert now.now().text.data == DRAFT
    assert works.existing("tinyforum", now.now().origin.mark).now().revision == 0


def test_a_work_that_cannot_be_read_is_told_and_can_be_discarded(works: DraftCollection, tmp_path: Path) -> None:
    works.begin_from(DRAFT, (), "tinyforum", "Ada")
    (tmp_path / "own" / "works" / "tinyforum" / "origin.json").write_text("{")
    (begun,) = works.begun()
    assert (begun.name, begun.when) == ("tinyforum", None)
    assert "cannot be read" in begun.fault
    works.existing("tinyforum").discard()
    assert works.begun() == ()


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".x", "x" * 100, "a..b"])
def test_no_name_leads_out_of_the_folder(works: DraftCollection, name: str) -> None:
    with pytest.raises(DraftEditError, match="no name for an entry"):
        works.open(name)
    with pytest.raises(DraftEditError, match="no name for an entry"):
        works.begin_from(DRAFT, (), name, "Ada")


def test_a_change_of_a_state_that_is_not_the_present_one_is_refused(work: OpenedDraft) -> None:
    state = work.change([css(ITEM, ".a")], "Ada", "posts are .a", 0)
    date, sign = state.doubts
    stale: list[Callable[[], object]] = [
        lambda: work.change([Remove(place="detect/pattern[1]")], "Bo", "no sign", 0),
        lambda: work.rewrite(DRAFT, "Bo", 0),
        lambda: work.confirm(date, "Bo", 0),
        lambda: work.confirm_all("Bo", 0),
        lambda: work.choose(date, date.alternatives[0].said, "Bo", 0),
        lambda: work.undo("Ada", 0),
        lambda: work.redo("Ada", 0),
        lambda: work.add_page(TOPIC, EXPECTED, "Bo", revision=0),
        lambda: work.remove_page("thread", "Bo", 0),
        lambda: work.set_expectation("thread", EXPECTED, "Bo", 0),
        lambda: work.save("Bo", 0, force=True),
        lambda: work.discard(0),
    ]
    for act in stale:
        with pytest.raises(StaleError) as told:
            act()
        assert (told.value.who, told.value.what) == ("Ada", "posts are .a")
        assert f"{told.value.when:%Y-%m-%d}" in str(told.value)
    assert work.now() == state
    # A saving changes nothing that anybody could have missed.
    work._stepped(state, "Ada", "saved the entry", kind=StepKind.SAVE)
    assert work.confirm(sign, "Bo", state.revision).doubts == (date,)
    with pytest.raises(EditError, match="there is no level"):
        work.change([Remove(place="level[nothing]")], "Cleo", "nothing", 3)
    assert work.now().revision == 3


def test_people_take_back_their_own_latest_steps(work: OpenedDraft) -> None:
    work.change([css(ITEM, ".a")], "Ada", "posts are .a", 0)
    work.change([Remove(place=f"{EXTRACT}/field[title]")], "Bo", "no title", 1)
    changed = work.change([css(f"{EXTRACT}/field[body]/select", ".b")], "Bo", "text is .b", 2).text
    work.undo("Bo", 3)
    state = work.undo("Bo", 4)
    assert state.text.data == DRAFT.replace(b'"div.entry" cite', b'".a" cite')
    assert [step.said for step in state.steps[-2:]] == ["took back: text is .b", "took back: no title"]
    # Bo has come after Ada, though he took all of it back.
    for who in ("Ada", "Bo"):
        with pytest.raises(DraftEditError, match="nothing of yours to take back"):
            work.undo(who, 5)
    with pytest.raises(DraftEditError, match="nothing of yours to make again"):
        work.redo("Ada", 5)
    work.redo("Bo", 5)
    state = work.redo("Bo", 6)
    assert (state.text, state.steps[-1].said) == (changed, "made again: text is .b")
    state = work.undo("Bo", 7)
    work.change([css(ITEM, ".c")], "Bo", "posts are .c", 8)
    with pytest.raises(DraftEditError, match="nothing of yours to make again"):
        work.redo("Bo", 9)
    assert work.undo("Bo", 9).text == state.text
    work.add_page(TOPIC, EXPECTED, "Cleo")
    with pytest.raises(DraftEditError, match="nothing of yours to take back"):
        work.undo("Bo", 11)


def test_doubts_are_settled_come_back_and_follow_their_elements(work: OpenedDraft) -> None:
    former, sign = work.now().doubts
    work.change([SetAttribute(place="level[thread]", attribute="name", value="topic")], "Bo", "it is a topic", 0)
    date = work.now().doubts[0]
    assert date.place == DATE.replace("thread", "topic")
    assert [edit.place for each in date.alternatives for edit in each.edits] == [date.place, date.place]
    with pytest.raises(DraftEditError, match="settled"):
        work.confirm(former, "Ada", 1)
    state = work.choose(date, date.alternatives[1].said, "Ada", 1)
    assert b'order="mdy"' in state.text.data
    assert b"a date stands there" not in state.text.data
    assert state.steps[-1].said == "chose: the month comes first, instead of: the date of a post is .when"
    assert [doubt.said for doubt in state.doubts] == [sign.said]
    with pytest.raises(DraftEditError, match="settled"):
        work.confirm(date, "Ada", 2)
    assert [doubt.said for doubt in work.undo("Ada", 2).doubts] == [date.said, sign.said]
    gone = work.choose(date, date.alternatives[0].said, "Ada", 3)
    assert b'name="date"' not in gone.text.data
    assert [doubt.place for doubt in work.undo("Ada", 4).doubts] == [date.place, sign.place]
    assert b"draft" in work.confirm(sign, "Ada", 5).text.data
    # Nothing is left that nobody has confirmed.
    assert b'draft="yes"' not in work.confirm(date, "Ada", 6).text.data
    assert work.undo("Ada", 7).doubts == (date,)
    with pytest.raises(DraftEditError, match="not among"):
        work.choose(date, "invented", "Ada", 8)
    with pytest.raises(DraftEditError, match="settled"):
        work.confirm(Doubt(place="level[x]", said="never heard of", doubt=1), "Ada", 8)


def test_all_doubts_that_are_left_are_settled_at_once_and_come_back_together(work: OpenedDraft) -> None:
    state = work.confirm_all("Ada", 0)
    assert (state.doubts, dict(state.text.guesses())) == ((), {})
    assert b'draft="yes"' not in state.text.data
    with pytest.raises(DraftEditError, match="settled all guesses already"):
        work.confirm_all("Bo", 1)
    assert work.undo("Ada", 1).text.data == DRAFT
    assert work.now().doubts == DOUBTS


def test_of_what_alternatives_add_twice_the_file_has_one(works: DraftCollection) -> None:
    urls = [f'<url reason="print-view" path="**/{name}"/>' for name in ("print", "paper")]
    alternatives = [
        Alternative(said="avoid", edits=(Add(place="", xml=f"<avoid>{url}</avoid>", before="level[forum]"),))
        for url in urls
    ]
    last = Alternative(said="none", edits=(Remove(place="avoid[1]/url[1]"), Remove(place="avoid[1]/url[1]")))
    doubts = [
        Doubt(place=place, said=f"guess {place}", doubt=0.5, alternatives=(alternative,))
        for place, alternative in zip((DATE, ITEM, EXTRACT), (*alternatives, last), strict=True)
    ]
    work = works.begin_from(DRAFT, doubts, "twice", "Ada")
    for number, doubt in enumerate(doubts[:2]):
        text = work.choose(doubt, doubt.alternatives[0].said, "Ada", number).text
    avoid = text.element("avoid[1]")
    assert avoid is not None
    assert [url.get("path") for url in avoid] == ["**/print", "**/paper"]
    assert text.place("avoid[2]") is None
    assert work.choose(doubts[2], last.said, "Ada", 2).text.element("avoid[1]") is None


def test_doubts_may_share_an_element_or_have_no_mark(works: DraftCollection) -> None:
    item, place = "posts are div.entry", f"{EXTRACT}/field[date]"
    doubts = [
        Doubt(place=place, said="the day comes first", doubt=0.5),
        Doubt(place=place, said="the date is .when", doubt=0.4),
        Doubt(place=ITEM, said=item, doubt=0.3, alternatives=(Alternative(said="li", edits=(css(ITEM, "li"),)),)),
        Doubt(place="detect/pattern[1]", said="the generator", doubt=0.2),
    ]
    work = works.begin_from(DRAFT, doubts, "shared", "Ada")
    first, second, third, fourth = work.now().doubts
    assert b"a date stands there" in work.confirm(first, "Ada", 0).text.data
    assert b"a date stands there" not in work.confirm(second, "Bo", 1).text.data
    assert work.undo("Bo", 2).doubts == (second, third, fourth)
    assert work.redo("Bo", 3).doubts == (third, fourth)
    gone = work.change([Remove(place=EXTRACT)], "Bo", "no posts", 4)
    assert gone.doubts == (fourth,)
    assert work.undo("Bo", 5).doubts == (third, fourth)
    assert b'draft="yes"' in work.confirm(fourth, "Bo", 6).text.data
    state = work.choose(third, third.alternatives[0].said, "Bo", 7)
    assert b'item css="li"' in state.text.data
    assert b'draft="yes"' not in state.text.data
    assert [doubt.said for doubt in work.undo("Bo", 8).doubts] == [item]


def test_pages_are_added_removed_and_expected_otherwise(work: OpenedDraft) -> None:
    assert work.add_page(TOPIC, EXPECTED, "Ada") == "thread-2"
    with pytest.raises(DraftEditError, match="there is a page thread already"):
        work.add_page(TOPIC, EXPECTED, "Ada", "thread")
    with pytest.raises(DraftEditError, match="write a name"):
        work.add_page(TOPIC, EXPECTED, "Ada", "../../etc")
    work.remove_page("thread-2", "Bo", 1)
    with pytest.raises(DraftEditError, match="no page thread-2"):
        work.page("thread-2")
    work.undo("Bo", 2)
    assert work.page("thread-2").page.body == TOPIC.body
    work.set_expectation("thread", EXPECTED.model_copy(update={"objects": ()}), "Bo", 3)
    assert work.page("thread").expected.objects == ()
    with pytest.raises(StaleError, match="said that the page thread is read rightly now"):
        work.set_expectation("thread", EXPECTED, "Ada", 3)
    with pytest.raises(DraftEditError, match="add the other one as a page of its own"):
        work.set_expectation("thread", EXPECTED.model_copy(update={"url": f"{TOPIC.url}&page=2"}), "Bo", 4)


def test_a_crash_between_any_two_writings_loses_no_step(work: OpenedDraft, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line of the step counts: what was not written after it is made again."""
    write = draft_folder._write
    wanted = DRAFT
    for survive in range(4):
        left = survive

        def dying(file: Path, data: bytes) -> None:
            nonlocal left
            if left == 0:
                raise OSError(5, "gone")
            left -= 1
            write(file, data)

        selector = f"div.n{survive}"
        revision = work.now().revision
        with monkeypatch.context() as patched:
            patched.setattr(draft_folder, "_write", dying)
            if survive < 3:
                with pytest.raises(DraftEditError, match="gone"):
                    work.change([css(ITEM, selector), Remove(place="detect/pattern[1]")], "Ada", "n", revision)
            else:
                work.change([css(ITEM, selector), Remove(place="detect/pattern[1]")], "Ada", "n", revision)
        state = work.now()
        wanted = DRAFT.replace(b'item css="div.entry"', f'item css="{selector}"'.encode())
        assert state.revision == revision + 1
        assert len(state.doubts) == 1
        work.undo("Ada", state.revision)
        assert work.now().text.data == DRAFT
        assert len(work.now().doubts) == 2
    assert b"div.n3" in wanted


def test_a_disk_that_is_full_for_long_loses_no_step_either(work: OpenedDraft, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Path, __: bytes) -> None:
        raise OSError(28, "No space left")

    with monkeypatch.context() as patched:
        patched.setattr(draft_folder, "_write", full)
        for number in range(3):
            with pytest.raises(DraftEditError, match="cannot be written to: No space left"):
                work.change([css(ITEM, f".n{number}")], "Ada", f"step {number}", number)
    # After the first nothing was done: its outcome has to be on disk before there is a second.
    assert [step.said for step in work.now().steps] == ["step 0"]
    assert work.undo("Ada", 1).text.data == DRAFT


def test_a_line_cut_short_by_a_crash_is_no_step(work: OpenedDraft, tmp_path: Path) -> None:
    work.change([css(ITEM, ".a")], "Ada", "posts are .a", 0)
    steps = tmp_path / "own/works/tinyforum/steps.jsonl"
    whole = steps.read_bytes()
    steps.write_bytes(whole + whole[: len(whole) // 2])
    assert work.now().revision == 1
    work.change([css(ITEM, ".b")], "Ada", "posts are .b", 1)
    assert [step.said for step in work.now().steps] == ["posts are .a", "posts are .b"]


def test_damage_is_told_in_words(work: OpenedDraft, tmp_path: Path) -> None:
    (tmp_path / "own/works/tinyforum/entry.xml").write_bytes(b"<nothing")
    with pytest.raises(DraftEditError, match="discard it and begin anew"):
        work.now()
    work.discard()
    with pytest.raises(DraftEditError, match="somebody has discarded it"):
        work.now()


def test_steps_are_bounded_and_old_ones_are_forgotten(work: OpenedDraft, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_folder, "MAX_STEPS", 6)
    work.change([css(ITEM, ".n0")], "Ada", "step 0", 0)
    saved = work._stepped(work.now(), "Ada", "saved the entry", kind=StepKind.SAVE).base
    for number in range(1, 8):
        work.change([css(ITEM, f".n{number}")], "Ada", f"step {number}", number + 1)
    state = work.now()
    assert [step.said for step in state.steps] == [f"step {number}" for number in range(2, 8)]
    assert b'".n1"' in (state.text_at(3) or state.text).data
    assert state.base == saved
    with pytest.raises(StaleError):
        work.change([css("level[forum]/when", "ul")], "Bo", "lists", 1)
    work.change([css("level[forum]/when", "ul")], "Bo", "lists", 9)


def test_a_text_that_somebody_wrote_is_a_step_like_any_other(work: OpenedDraft) -> None:
    date, sign = work.now().doubts
    text = DRAFT.replace(b"    <paging", b"    <!-- by hand -->\n    <paging").replace(b'".text"', b'".words"')
    state = work.rewrite(text, "Bo", 0)
    assert (state.text.data, state.doubts, state.steps[-1].who) == (text, (date, sign), "Bo")
    with pytest.raises(EditError, match="no file of an application"):
        work.rewrite(b"<kind/>", "Bo", 1)
    assert work.undo("Bo", 1).text.data == DRAFT


def test_of_all_who_change_a_state_at_once_one_does_and_the_others_are_told(
    works: DraftCollection, work: OpenedDraft
) -> None:
    places = ["detect/pattern[2]", "level[forum]/when", "level[thread]/when", ITEM]
    refused: list[str] = []

    def many(place: str, who: str) -> None:
        mine, done = works.open("tinyforum"), 0
        while done < 5:
            try:
                mine.change([css(place, f".n{done}")], who, f"{place} {done}", mine.now().revision)
            except StaleError as error:
                refused.append(error.who)
            else:
                done += 1

    threads = [Thread(target=many, args=(place, str(number))) for number, place in enumerate(places)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state = work.now()
    assert state.revision == 20
    assert state.text.data.count(b'css=".n4"') == 4
    assert set(refused) <= set("0123")


@pytest.fixture
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no disk: this test writes thousands of files."""
    monkeypatch.setattr("os.fsync", lambda _: None)


_PLACES = st.sampled_from(
    ["detect/pattern[1]", "detect/pattern[2]", "level[forum]", "level[forum]/when", ITEM, DATE, f"{EXTRACT}/field[1]"]
)


@st.composite
def _edits(draw: st.DrawFn) -> Sequence[Edit]:
    place = draw(_PLACES)
    kind = draw(st.sampled_from(["set", "remove", "put", "add"]))
    match kind:
        case "set":
            return [css(place, draw(st.sampled_from([".x", "b > i"])))]
        case "remove":
            return [Remove(place=place)]
        case "put":
            return [Put(place=place, xml='<field name="new"/>')]
    return [Add(place=place, xml='<field name="more"/>'), css(place, ".added")]


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.usefixtures("quick_disk")
@given(st.lists(_edits(), min_size=1, max_size=4))
def test_whatever_was_done_is_taken_back_and_made_again_step_by_step(
    tmp_path: Path, changes: Sequence[Sequence[Edit]]
) -> None:
    works = DraftCollection(tmp_path, ())
    for name in works.names():
        works.open(name).discard()
    work = works.begin_from(DRAFT, DOUBTS, "tinyforum", "Ada")
    states = [work.now()]
    for edits in changes:
        # What an earlier change took away can be changed no more, and what changes nothing is no step.
        with suppress(EditError):
            state = work.change(edits, "Ada", "a change", states[-1].revision)
            states += [state] if state.revision > states[-1].revision else []
    revision = states[-1].revision
    for state in reversed(states[:-1]):
        back = work.undo("Ada", revision)
        revision = back.revision
        assert (back.text, back.doubts) == (state.text, state.doubts)
    for state in states[1:]:
        again = work.redo("Ada", revision)
        revision = again.revision
        assert (again.text, again.doubts) == (state.text, state.doubts)
