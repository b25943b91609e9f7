"""Works: every step is kept, taken back by whom it is of, and merged with what others do."""

from collections.abc import Sequence
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aahcrawler.authoring.drafting.doubts import Alternative, Doubt
from aahcrawler.authoring.editing.edit_error import EditError
from aahcrawler.authoring.editing.edits import Add, Edit, Put, Remove, SetAttribute
from aahcrawler.authoring.saved_pages import Expectation, ObjectRow
from aahcrawler.studio.works import work_folder
from aahcrawler.studio.works.work import Work
from aahcrawler.studio.works.work_collection import Works
from aahcrawler.studio.works.work_errors import StaleError, WorkError
from aahcrawler.studio.works.work_steps import StepKind
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
def works(tmp_path: Path) -> Works:
    return Works(tmp_path / "own", (SHIPPED,))


@pytest.fixture
def work(works: Works) -> Work:
    return works.begin_from(DRAFT, DOUBTS, "tinyforum", "Ada", [(TOPIC, EXPECTED)])


def css(place: str, value: str) -> SetAttribute:
    return SetAttribute(place=place, attribute="css", value=value)


def test_a_work_is_there_after_a_restart_with_all_its_steps(works: Works, work: Work, tmp_path: Path) -> None:
    work.change([css(ITEM, "div.post")], "Ada", "posts are div.post", 0)
    work.set_expectation("thread", EXPECTED.model_copy(update={"objects": ()}), "Bo")
    again = Works(tmp_path / "own", (SHIPPED, tmp_path / "own")).open("tinyforum")
    state = again.now()
    assert works.names() == ("tinyforum",)
    assert [(begun.name, begun.who, begun.source) for begun in works.begun()] == [("tinyforum", "Ada", "a draft")]
    assert state.text.data == DRAFT.replace(b'item css="div.entry"', b'item css="div.post"')
    assert [(step.who, step.said) for step in state.steps] == [
        ("Ada", "posts are div.post"),
        ("Bo", "said that the page thread is read rightly now"),
    ]
    page = again.page("thread").saved
    assert (page.page.body, page.page.url, page.expected.objects) == (TOPIC.body, TOPIC.url, ())
    assert state.doubts == DOUBTS
    with pytest.raises(WorkError, match="somebody has begun a work tinyforum"):
        works.begin_from(DRAFT, (), "tinyforum", "Bo")


def test_what_was_made_for_a_former_work_is_not_done_to_the_one_begun_under_its_name(works: Works, work: Work) -> None:
    former = works.existing("tinyforum", work.now().origin.mark)
    former.change([css(ITEM, "div.post")], "Ada", "posts are div.post", 0)
    former.discard()
    now = works.begin_from(DRAFT, DOUBTS, "tinyforum", "Bo")
    for act in (
        lambda: former.change([css(ITEM, "div.no")], "Ada", "no", 1),
        lambda: former.undo("Ada"),
        former.discard,
    ):
        with pytest.raises(WorkError, match="begun another one"):
            act()
    assert now.now().text.data == DRAFT
    assert works.existing("tinyforum", now.now().origin.mark).now().revision == 0


def test_a_work_that_cannot_be_read_is_told_and_can_be_discarded(works: Works, tmp_path: Path) -> None:
    works.begin_from(DRAFT, (), "tinyforum", "Ada")
    (tmp_path / "own" / "works" / "tinyforum" / "origin.json").write_text("{")
    (begun,) = works.begun()
    assert (begun.name, begun.when) == ("tinyforum", None)
    assert "cannot be read" in begun.fault
    works.existing("tinyforum").discard()
    assert works.begun() == ()


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".x", "x" * 100, "a..b"])
def test_no_name_leads_out_of_the_folder(works: Works, name: str) -> None:
    with pytest.raises(WorkError, match="no name for an entry"):
        works.open(name)
    with pytest.raises(WorkError, match="no name for an entry"):
        works.begin_from(DRAFT, (), name, "Ada")


def test_independent_changes_are_merged_and_others_are_told(work: Work) -> None:
    work.change([Remove(place="detect/pattern[1]"), css(f"{EXTRACT}/item", ".a")], "Ada", "posts are .a", 0)
    # Bo has not seen that; his sign has another number by now.
    state = work.change(
        [
            SetAttribute(place="detect/pattern[2]", attribute="strength", value="proof"),
            Add(place=EXTRACT, xml='<field name="number"><select css=".no"/></field>', before=f"{EXTRACT}/field[date]"),
            css(f"{EXTRACT}/field[number]/select", ".number"),
        ],
        "Bo",
        "the sign is a proof",
        0,
    )
    wanted = (
        DRAFT.replace(
            DRAFT[DRAFT.index(b"    <!-- guess: the page") : DRAFT.index(b'    <pattern strength="strong')], b""
        )
        .replace(b'"strong"', b'"proof"')
        .replace(b'div.entry" cite', b'.a" cite')
        .replace(
            b"      <!-- guess: a date",
            b'      <field name="number">\n        <select css=".number"/>\n      </field>\n      <!-- guess: a date',
        )
    )
    assert state.text.data.decode() == wanted.decode()
    with pytest.raises(StaleError) as told:
        work.change([css(ITEM, ".b")], "Cleo", "posts are .b", 0)
    assert (told.value.who, told.value.what) == ("Ada", "posts are .a")
    assert f"{told.value.when:%Y-%m-%d}" in str(told.value)
    with pytest.raises(StaleError, match="Ada changed this"):
        work.change([Put(place=EXTRACT, xml='<extract name="posts" type="reply"/>')], "Cleo", "all anew", 0)
    with pytest.raises(StaleError, match="Ada changed this"):
        work.change([Remove(place="detect/pattern[1]")], "Cleo", "no sign", 0)
    with pytest.raises(StaleError, match="Bo changed this"):
        work.change([Add(place=EXTRACT, xml='<field name="number"/>')], "Cleo", "numbers", 1)
    with pytest.raises(EditError, match="there is no level"):
        work.change([Remove(place="level[nothing]")], "Cleo", "nothing", 0)
    assert work.now().revision == 2


def test_everybody_takes_back_what_is_theirs(work: Work) -> None:
    work.change([css(ITEM, ".a")], "Ada", "posts are .a", 0)
    work.change([Remove(place=f"{EXTRACT}/field[title]")], "Bo", "no title", 1)
    work.change([css(f"{EXTRACT}/field[body]/select", ".b")], "Ada", "text is .b", 2)
    before = work.now().text.data
    work.undo("Ada")
    assert b'".b"' not in work.now().text.data
    work.undo("Ada")
    state = work.now()
    assert state.text.data == DRAFT.replace(_line(b'name="title"'), b"")
    assert [step.said for step in state.steps[-2:]] == ["took back: text is .b", "took back: posts are .a"]
    with pytest.raises(WorkError, match="nothing of yours to take back"):
        work.undo("Ada")
    with pytest.raises(WorkError, match="nothing of yours to make again"):
        work.redo("Bo")
    work.redo("Ada")
    work.redo("Ada")
    assert work.now().text.data == before
    work.undo("Bo")
    assert work.now().text.data == before.replace(
        _line(b'name="author"'), _line(b'name="title"') + _line(b'name="author"')
    )
    work.change([css(ITEM, ".c")], "Bo", "posts are .c", work.now().revision)
    work.undo("Ada")
    with pytest.raises(StaleError, match=r"posts are \.c"):
        work.undo("Ada")
    # What was taken back stands in nobody's way.
    work.undo("Bo")
    assert work.undo("Ada").text.data == DRAFT


@pytest.mark.parametrize("order", ["AB", "BA"])
def test_neighbours_that_two_people_removed_come_back_in_any_order(work: Work, order: str) -> None:
    title, author = (f"{EXTRACT}/field[{name}]" for name in ("title", "author"))
    work.change([Remove(place=author)], "A", "no author", 0)
    gone = work.change([Remove(place=title)], "B", "no title", 1).text.data
    for who in order:
        state = work.undo(who)
    assert state.text.data == DRAFT
    for who in order:
        work.redo(who)
    assert work.now().text.data == gone
    for who in order:
        work.undo(who)
    assert work.now().text.data == DRAFT


def _line(part: bytes) -> bytes:
    return next(line for line in DRAFT.splitlines(keepends=True) if part in line and b"<field" in line)


def test_doubts_are_settled_come_back_and_follow_their_elements(work: Work) -> None:
    date, sign = work.now().doubts
    work.change([SetAttribute(place="level[thread]", attribute="name", value="topic")], "Bo", "it is a topic", 0)
    moved = work.now().doubts[0]
    assert moved.place == DATE.replace("thread", "topic")
    assert [edit.place for each in moved.alternatives for edit in each.edits] == [moved.place, moved.place]
    state = work.choose(date, date.alternatives[1], "Ada")
    assert b'order="mdy"' in state.text.data
    assert b"a date stands there" not in state.text.data
    assert state.steps[-1].said == "chose: the month comes first, instead of: the date of a post is .when"
    assert [doubt.said for doubt in state.doubts] == [sign.said]
    with pytest.raises(WorkError, match="settled"):
        work.confirm(date, "Bo")
    assert [doubt.said for doubt in work.undo("Ada").doubts] == [date.said, sign.said]
    gone = work.choose(date, date.alternatives[0], "Ada")
    assert b'name="date"' not in gone.text.data
    assert [doubt.place for doubt in work.undo("Ada").doubts] == [moved.place, sign.place]
    assert b"draft" in work.confirm(sign, "Ada").text.data
    # Nothing is left that nobody has confirmed.
    assert b'draft="yes"' not in work.confirm(date, "Ada").text.data
    assert work.undo("Ada").doubts == (moved,)
    with pytest.raises(WorkError, match="not among"):
        work.choose(moved, Alternative(said="invented", edits=()), "Ada")
    with pytest.raises(WorkError, match="settled"):
        work.confirm(Doubt(place="level[x]", said="never heard of", doubt=1), "Ada")


def test_all_doubts_that_are_left_are_settled_at_once_and_come_back_together(work: Work) -> None:
    state = work.confirm_all("Ada")
    assert (state.doubts, dict(state.text.guesses())) == ((), {})
    assert b'draft="yes"' not in state.text.data
    with pytest.raises(WorkError, match="settled all guesses already"):
        work.confirm_all("Bo")
    assert work.undo("Ada").text.data == DRAFT
    assert work.now().doubts == DOUBTS


def test_of_what_alternatives_add_twice_the_file_has_one(works: Works) -> None:
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
    for doubt in doubts[:2]:
        text = work.choose(doubt, doubt.alternatives[0], "Ada").text
    avoid = text.element("avoid[1]")
    assert avoid is not None
    assert [url.get("path") for url in avoid] == ["**/print", "**/paper"]
    assert text.place("avoid[2]") is None
    assert work.choose(doubts[2], last, "Ada").text.element("avoid[1]") is None


def test_doubts_may_share_an_element_or_have_no_mark(works: Works) -> None:
    item, place = "posts are div.entry", f"{EXTRACT}/field[date]"
    doubts = [
        Doubt(place=place, said="the day comes first", doubt=0.5),
        Doubt(place=place, said="the date is .when", doubt=0.4),
        Doubt(place=ITEM, said=item, doubt=0.3, alternatives=(Alternative(said="li", edits=(css(ITEM, "li"),)),)),
        Doubt(place="detect/pattern[1]", said="the generator", doubt=0.2),
    ]
    work = works.begin_from(DRAFT, doubts, "shared", "Ada")
    first, second, third, fourth = work.now().doubts
    assert b"a date stands there" in work.confirm(first, "Ada").text.data
    assert b"a date stands there" not in work.confirm(second, "Bo").text.data
    assert work.undo("Ada").doubts == (first, third, fourth)
    assert work.redo("Ada").doubts == (third, fourth)
    gone = work.change([Remove(place=EXTRACT)], "Bo", "no posts", work.now().revision)
    assert gone.doubts == (fourth,)
    assert work.undo("Bo").doubts == (third, fourth)
    assert b'draft="yes"' in work.confirm(fourth, "Bo").text.data
    state = work.choose(third, third.alternatives[0], "Bo")
    assert b'item css="li"' in state.text.data
    assert b'draft="yes"' not in state.text.data
    assert [doubt.said for doubt in work.undo("Bo").doubts] == [item]


def test_pages_are_added_removed_and_expected_otherwise(work: Work) -> None:
    assert work.add_page(TOPIC, EXPECTED, "Ada") == "thread-2"
    with pytest.raises(WorkError, match="there is a page thread already"):
        work.add_page(TOPIC, EXPECTED, "Ada", "thread")
    with pytest.raises(WorkError, match="write a name"):
        work.add_page(TOPIC, EXPECTED, "Ada", "../../etc")
    work.remove_page("thread-2", "Bo")
    with pytest.raises(WorkError, match="no page thread-2"):
        work.page("thread-2")
    work.undo("Bo")
    assert work.page("thread-2").saved.page.body == TOPIC.body
    seen = work.now().revision
    work.set_expectation("thread", EXPECTED.model_copy(update={"objects": ()}), "Bo", seen)
    assert work.page("thread").saved.expected.objects == ()
    with pytest.raises(StaleError, match="said that the page thread is read rightly now"):
        work.set_expectation("thread", EXPECTED, "Ada", seen)
    with pytest.raises(WorkError, match="add the other one as a page of its own"):
        work.set_expectation("thread", EXPECTED.model_copy(update={"url": f"{TOPIC.url}&page=2"}), "Bo")


def test_a_crash_between_any_two_writings_loses_no_step(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line of the step counts: what was not written after it is made again."""
    write = work_folder._write
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
            patched.setattr(work_folder, "_write", dying)
            if survive < 3:
                with pytest.raises(WorkError, match="gone"):
                    work.change([css(ITEM, selector), Remove(place="detect/pattern[1]")], "Ada", "n", revision)
            else:
                work.change([css(ITEM, selector), Remove(place="detect/pattern[1]")], "Ada", "n", revision)
        state = work.now()
        wanted = DRAFT.replace(b'item css="div.entry"', f'item css="{selector}"'.encode())
        assert state.revision == revision + 1
        assert len(state.doubts) == 1
        work.undo("Ada")
        assert work.now().text.data == DRAFT
        assert len(work.now().doubts) == 2
    assert b"div.n3" in wanted


def test_a_disk_that_is_full_for_long_loses_no_step_either(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Path, __: bytes) -> None:
        raise OSError(28, "No space left")

    with monkeypatch.context() as patched:
        patched.setattr(work_folder, "_write", full)
        for number in range(3):
            with pytest.raises(WorkError, match="cannot be written to: No space left"):
                work.change([css(ITEM, f".n{number}")], "Ada", f"step {number}", number)
    # After the first nothing was done: its outcome has to be on disk before there is a second.
    assert [step.said for step in work.now().steps] == ["step 0"]
    assert work.undo("Ada").text.data == DRAFT


def test_a_line_cut_short_by_a_crash_is_no_step(work: Work, tmp_path: Path) -> None:
    work.change([css(ITEM, ".a")], "Ada", "posts are .a", 0)
    steps = tmp_path / "own/works/tinyforum/steps.jsonl"
    whole = steps.read_bytes()
    steps.write_bytes(whole + whole[: len(whole) // 2])
    assert work.now().revision == 1
    work.change([css(ITEM, ".b")], "Ada", "posts are .b", 1)
    assert [step.said for step in work.now().steps] == ["posts are .a", "posts are .b"]


def test_damage_is_told_in_words(work: Work, tmp_path: Path) -> None:
    (tmp_path / "own/works/tinyforum/entry.xml").write_bytes(b"<nothing")
    with pytest.raises(WorkError, match="discard it and begin anew"):
        work.now()
    work.discard()
    with pytest.raises(WorkError, match="somebody has discarded it"):
        work.now()


def test_steps_are_bounded_and_old_ones_are_forgotten(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_folder, "MOST_STEPS", 6)
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
    work.change([css("level[forum]/when", "ul")], "Bo", "lists", 5)


def test_a_text_that_somebody_wrote_is_a_step_like_any_other(work: Work) -> None:
    date, sign = work.now().doubts
    text = DRAFT.replace(b"    <paging", b"    <!-- by hand -->\n    <paging").replace(b'".text"', b'".words"')
    state = work.rewrite(text, "Bo", 0)
    assert (state.text.data, state.doubts, state.steps[-1].who) == (text, (date, sign), "Bo")
    work.change([css("level[forum]/when", "ul")], "Ada", "lists", 0)
    with pytest.raises(StaleError, match="wrote the text"):
        work.change([css(ITEM, ".a")], "Ada", "posts are .a", 0)
    with pytest.raises(StaleError, match="lists"):
        work.rewrite(DRAFT, "Bo", 1)
    with pytest.raises(EditError, match="no file of an application"):
        work.rewrite(b"<kind/>", "Bo", 2)
    assert work.undo("Bo").text.data == DRAFT.replace(b'"ul.topics a.topic-link"', b'"ul"')


def test_several_threads_change_a_work_at_once(works: Works, work: Work) -> None:
    places = ["detect/pattern[2]", "level[forum]/when", "level[thread]/when", ITEM]

    def many(place: str, who: str) -> None:
        mine = works.open("tinyforum")
        for number in range(5):
            mine.change([css(place, f".n{number}")], who, f"{place} {number}", mine.now().revision)

    threads = [Thread(target=many, args=(place, str(number))) for number, place in enumerate(places)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state = work.now()
    assert state.revision == 20
    assert state.text.data.count(b'css=".n4"') == 4


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


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.usefixtures("quick_disk")
@given(_edits(), _edits())
def test_of_two_changes_at_once_both_hold_or_one_is_told(
    tmp_path: Path, mine: Sequence[Edit], theirs: Sequence[Edit]
) -> None:
    """Where both hold, their order makes no difference; and each is taken back without the other."""
    outcomes: list[bytes | None] = []
    alone: list[bytes] = []
    for number, (first, second) in enumerate(((mine, theirs), (theirs, mine))):
        works = Works(tmp_path / str(number), ())
        for name in works.names():
            works.open(name).discard()
        work = works.begin_from(DRAFT, DOUBTS, "tinyforum", "Ada")
        alone.append(work.change(first, "Ada", "first", 0).text.data)
        try:
            outcomes.append(work.change(second, "Bo", "second", 0).text.data)
        except StaleError:
            outcomes.append(None)
            continue
        assert work.undo("Bo").text.data == alone[-1]
        work.redo("Bo")
        work.undo("Ada")
        alone.append(work.now().text.data)
    assert outcomes[0] == outcomes[1]
    if outcomes[0] is not None:
        assert alone[1] == alone[2]
        assert alone[0] == alone[3]
