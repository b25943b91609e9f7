"""What a former crawl extracted is found again on a page that looks different."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.adaptation.repair.memory import MemoryStrategy, recall
from aahcrawler.adaptation.repair.value_places import WordTable, placed, words
from aahcrawler.helper.adaptation_protocol import Question
from aahcrawler.induction.outline import Outline
from aahcrawler.metadata import Metadata
from aahcrawler.page.text import excerpt
from aahcrawler.webobject import Person, Value, WebObject
from aahcrawler.wrapper_induction.examples import LabelledExample, LabelledObject, Method
from knowledge_base.model import Extract, PageLevel
from tests.pace import at_most
from tests.page.building import page_of
from tests.shipped import shipped

URL = "http://forum.test/viewtopic.php?t=7"
POSTS: Sequence[tuple[str, str, datetime]] = (
    (
        "Ann Boyd",
        "The harbour froze over in January and everybody walked across it.",
        datetime(2022, 1, 14, 10, 5, tzinfo=UTC),
    ),
    (
        "Jürgen Müller",
        "Nobody believed it at first, least of all the ferry company.",
        datetime(2022, 1, 14, 11, 30, tzinfo=UTC),
    ),
    ("Ann Boyd", "+1", datetime(2022, 1, 15, 8, 0, tzinfo=UTC)),
    ("王小明", "港口結冰了，每個人都走在冰上，渡輪停開三天。", datetime(2022, 1, 16, 9, 45, tzinfo=UTC)),
)


def topic() -> PageLevel:
    """Return the level of topics of phpBB."""
    return next(level for level in shipped().application("phpBB").levels if level.role == "terminal")


def reading() -> Extract:
    """Return the action that reads posts there."""
    return next(action for action in topic().actions if isinstance(action, Extract))


def former(posts: Sequence[tuple[str, str, datetime]] = POSTS) -> tuple[WebObject, ...]:
    def properties(author: str, body: str, date: datetime) -> dict[str, tuple[Value, ...]]:
        return {"author": (Person(author),), "body": (body,), "date": (date,), "title": ("Ice",)}

    return tuple(
        WebObject(f"{URL}#p{n}", reading().first_type if n == 1 else reading().type, URL, properties(*post), URL)
        for n, post in enumerate(posts, 1)
    )


def divisions(posts: Sequence[tuple[str, str, datetime]] = POSTS) -> str:
    return "".join(
        f'<article class="message" id="m{n}"><header>By <a class="who" href="/u/{n}">{author}</a>'
        f'<span class="when">{date:%Y-%m-%d %H:%M}</span></header>'
        f'<div class="said"><p>{body}</p></div><footer>Like Share Report</footer></article>'
        for n, (author, body, date) in enumerate(posts, 1)
    )


def rows(posts: Sequence[tuple[str, str, datetime]] = POSTS) -> str:
    made = (
        f'<tr class="head"><td>{date:%Y-%m-%d %H:%M}</td><td>#{n}</td></tr>'
        f'<tr class="main"><td class="user"><b>{author}</b></td><td class="text">{body}</td></tr>'
        for n, (author, body, date) in enumerate(posts, 1)
    )
    return f"<table>{''.join(made)}</table>"


def shown(posts: str) -> str:
    side = "<div class=side><ul><li><a href=/u/1>Ann Boyd</a></li><li>+1 for winter</li></ul></div>"
    return f"<html><head><title>Ice - Forum</title></head><body><h1>Ice</h1>{side}<main>{posts}</main></body></html>"


def example(posts: str, objects: Sequence[WebObject] = ()) -> LabelledExample:
    found = recall(page_of(shown(posts), url=URL), reading(), objects or former())
    assert found is not None
    return found


def told(labelled: LabelledObject, name: str) -> str:
    return " ".join(excerpt(element, 300) for element in labelled.labels[name].elements)


@pytest.mark.parametrize("template", [divisions, rows])
def test_all_objects_are_found_again_in_another_template(template: object) -> None:
    assert callable(template)
    found = example(template())
    assert found.method is Method.MEMORY
    assert [told(each, "body") for each in found.objects] == [body for _, body, _ in POSTS]
    assert [told(each, "author") for each in found.objects] == [author for author, _, _ in POSTS]
    assert [each.labels["date"].value for each in found.objects] == [date for *_, date in POSTS]
    assert [each.fragment for each in found.objects] == ["p1", "p2", "p3", "p4"]
    assert found.confidence == 1.0


def test_an_object_is_held_by_its_own_elements_and_by_no_other_ones() -> None:
    assert [each.elements[0].get("id") for each in example(divisions()).objects] == ["m1", "m2", "m3", "m4"]
    for labelled in example(rows()).objects:
        assert [element.get("class") for element in labelled.elements] == ["head", "main"]


def test_the_title_of_the_page_belongs_to_no_single_object() -> None:
    assert all(told(each, "title") == "Ice" for each in example(divisions()).objects)
    assert {each.labels["title"].elements[0].tag for each in example(divisions()).objects} == {"h1"}


def test_posts_that_are_new_are_part_of_the_example() -> None:
    more = (*POSTS, ("Olga Petrova", "The ice has gone now, sadly.", datetime(2022, 2, 1, 7, 7, tzinfo=UTC)))
    found = example(divisions(more))
    assert told(found.objects[-1], "body") == "The ice has gone now, sadly."
    assert found.objects[-1].labels["author"].value == Person("Olga Petrova", "http://forum.test/u/5")
    assert found.objects[-1].fragment is None


def test_what_was_edited_is_found_and_what_was_deleted_is_not() -> None:
    edited = (POSTS[0][0], POSTS[0][1] + " Even the mayor did.", POSTS[0][2])
    found = example(divisions((edited, *POSTS[2:])))
    assert [told(each, "body") for each in found.objects] == [edited[1], POSTS[2][1], POSTS[3][1]]
    assert found.confidence < 1.0


def test_the_newest_first_is_the_same_content() -> None:
    found = example(divisions(POSTS[::-1]))
    assert [each.fragment for each in found.objects] == ["p4", "p3", "p2", "p1"]


def test_content_that_is_gone_is_absent() -> None:
    found = recall(page_of(shown("<p>This topic does not exist any more.</p>"), url=URL), reading(), former())
    assert found is not None
    assert found.objects == ()
    assert found.confidence > 0.8


def test_nothing_is_said_where_nothing_is_remembered_or_too_little_is_left() -> None:
    page = page_of(shown(divisions()), url=URL)
    assert recall(page, reading(), ()) is None
    other = [WebObject(each.iri, "profile", URL, each.properties) for each in former()]
    assert recall(page, reading(), other) is None
    assert recall(page_of(shown("<p>The harbour froze over in January.</p>"), url=URL), reading(), former()) is None
    assert recall(page_of("%PDF", "application/pdf", url=URL), reading(), former()) is None
    short = former(((POSTS[2][0], "Thanks!", POSTS[2][2]),))
    assert recall(page_of(shown("<p>Not here.</p>"), url=URL), reading(), short) is None


def test_the_strategy_asks_the_former_capture() -> None:
    page = page_of(shown(divisions()), url=URL)
    question = Question(page, shipped().application("phpBB"), topic(), reading(), Metadata(objects=former()))
    found = MemoryStrategy().label(question)
    assert found is not None
    assert len(found.objects) == 4
    assert MemoryStrategy().label(Question(page, shipped().application("phpBB"), topic(), reading())) is None


def test_a_text_that_stands_in_several_places_goes_between_its_neighbours() -> None:
    outline = Outline(page_of("<p>yes</p><p>one two three four five</p><p>yes</p><p>six seven eight nine</p>").tree)
    table = WordTable(outline)
    texts = ["one two three four five", "yes", "six seven eight nine"]
    found = placed([table.find(text) for text in texts], [len(words(text)) for text in texts])
    assert [each.first if each else None for each in found] == [1, 6, 7]


@given(st.lists(st.sampled_from(["a", "b", "c", "d e f g", "h i j k l"]), min_size=1, max_size=12))
def test_no_two_texts_are_given_the_same_words(texts: list[str]) -> None:
    table = WordTable(Outline(page_of("".join(f"<p>{text}</p>" for text in texts)).tree))
    found = [each for each in placed([table.find(text) for text in texts], [len(words(t)) for t in texts]) if each]
    assert len(found) == len(texts)
    taken = sorted((each.first, each.last) for each in found)
    assert all(before[1] <= behind[0] for before, behind in pairwise(taken))


def test_answers_that_share_sentences_are_found_each_at_its_own_place() -> None:
    said = [
        "ice held until noon today",
        "nobody crossed the harbour basin",
        "ferries stayed in their berths",
        "salt was short",
    ]
    texts = [" ".join(said[each] for each in order) for order in ((0, 1, 2), (2, 0, 1), (1, 3), (3, 0, 2))]
    page = page_of("".join(f"<i>by Ann on Monday</i><p>{text}</p>" for text in texts))
    table = WordTable(Outline(page.tree))
    found = placed([table.find(text) for text in texts], [len(words(text)) for text in texts])
    assert [table.words[each.first : each.last] if each else None for each in found] == [text.split() for text in texts]


def test_a_text_that_another_one_quotes_stays_at_its_own_place() -> None:
    first, answer = "ice held until noon and nobody crossed", "ferries stayed in their berths for the whole day"
    texts = [first, f"Ann wrote {first} {answer}"]
    page = page_of("".join(f"<i>by Bo on Monday</i><p>{text}</p>" for text in texts))
    table = WordTable(Outline(page.tree))
    found = placed([table.find(text) for text in texts], [len(words(text)) for text in texts])
    assert [each.first if each else None for each in found] == [4, 4 + len(first.split()) + 4]


def test_signatures_that_stand_on_all_posts_belong_to_each() -> None:
    texts = [f"{word} and thanks -- Measure twice cut once and keep the offcuts" for word in ("yes", "no", "maybe")]
    page = page_of("".join(f"<i>by Bo on Monday</i><p>{text}</p>" for text in texts))
    table = WordTable(Outline(page.tree))
    found = placed([table.find(text) for text in texts], [len(words(text)) for text in texts])
    assert [each.share if each else 0 for each in found] == [1.0, 1.0, 1.0]


@pytest.mark.slow
def test_a_page_that_says_one_thing_fifty_thousand_times_takes_no_long_time() -> None:
    page = page_of(shown("<p>" + "harbour froze over in " * 50_000 + "</p>"), url=URL)
    with at_most(10):
        recall(page, reading(), former((("Ann Boyd", "the harbour froze over in " * 2_000, POSTS[0][2]),)))


def headed(behind: int) -> str:
    """Return posts with their heads before their texts, but for one with its head behind; all titles are the same."""
    made: list[str] = []
    for n, (author, body, date) in enumerate(POSTS, 1):
        head = (
            f'<div class="head"><a href="#{n}" title="Ice">#{n}</a><b>{author}</b> <i>{date:%Y-%m-%d %H:%M}</i></div>'
        )
        text = f'<div class="said">{body}</div>'
        made.append(f'<div class="post" id="m{n}">{text + head if n == behind else head + text}</div>')
    return "".join(made)


@pytest.mark.parametrize("behind", [0, 1, 2, 4])
def test_a_head_belongs_to_the_text_that_it_is_alone_with(behind: int) -> None:
    for labelled in example(headed(behind)).objects:
        (item,) = labelled.elements
        for name in ("title", "author", "date"):
            (element,) = labelled.labels[name].elements
            assert item in element.iterancestors()
        assert labelled.labels["title"].attribute == "title"


def test_nothing_is_a_new_object_that_stands_elsewhere_or_that_nobody_signed() -> None:
    posts = headed(0).replace(' class="post"', "")
    unsigned = '<div><div class="head"></div><div class="said">Answers are closed.</div></div>'
    elsewhere = '<section><div><div class="head"><b>Eve</b></div><div class="said">Visit us!</div></div></section>'
    assert len(example(posts + unsigned + elsewhere).objects) == len(POSTS)


@pytest.mark.parametrize("head", ["Ice", "A long winter it was, and a cold one, and nobody has forgotten any of it"])
def test_one_element_holds_a_text_however_much_of_it_is_something_else(head: str) -> None:
    author, body, date = POSTS[0]
    article = (
        f'<article><h2>{head}</h2><p>{body}</p><p>{WINTER}</p><div class="meta">by <b>{author}</b> on '
        f"<i>{date:%Y-%m-%d %H:%M}</i></div></article>"
    )
    (labelled,) = example(article, former([(author, f"{body} {WINTER}", date)])).objects
    (element,) = labelled.labels["body"].elements
    assert [part.tag for part in labelled.labels["body"].without] == ["h2", "div"]
    assert element.tag == "article" or "article" in {each.tag for each in element.iterdescendants()}
    assert labelled.labels["body"].value == f"{body}\n{WINTER}"


WINTER = "We had to break the ice around the hull every single morning until the end of March."


@pytest.mark.parametrize(
    ("written", "attribute"),
    [
        ("<b>{}</b>", ""),
        ("<b>by {}</b>", ""),
        ('<img src="a.png" alt="{}">', "alt"),
        ('<i data-by="{}">#</i>', "data-by"),
    ],
)
def test_an_author_is_found_in_texts_that_end_with_the_name_and_in_attributes(written: str, attribute: str) -> None:
    posts = "".join(
        f'<div class="post">{written.format(author)}<p>{body}</p><footer>Like Share Report</footer></div>'
        for author, body, _ in (POSTS[0], *POSTS[3:])
    )
    known = former([POSTS[0], *POSTS[3:]])
    found = (recall(page_of(f"<html><body>{posts}</body></html>", url=URL), reading(), known) or example("")).objects
    assert [(str(each.labels["author"].value), each.labels["author"].attribute) for each in found] == [
        (str(Person(author)), attribute) for author, *_ in (POSTS[0], *POSTS[3:])
    ]
