"""Actions are learned from the places of objects and values, and find on unseen pages what they should."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from lxml.html import HtmlElement

from aahcrawler.page import Page
from aahcrawler.webobject import Person
from aahcrawler.wrapper_induction.examples import Label, LabelledExample, LabelledObject, Method
from aahcrawler.wrapper_induction.induce import induce, run
from aahcrawler.wrapper_induction.wrapper import Wrapper
from knowledge_base import loader
from knowledge_base.model import DateFormat, Extract, Field, FieldKind, Identity, Run
from knowledge_base.selectors import compile_selector
from tests.pace import at_most
from tests.wrapper_induction.examples_by_hand import (
    AUTHOR,
    BODY,
    DATE,
    NAMES,
    NOTHING,
    TITLE,
    WORDS,
    Marks,
    example,
    expected,
    field_of,
    page,
    posts,
    read,
    texts,
)

Post = Callable[[int], str]


def date(n: int) -> str:
    return f"{n % 27 + 1:02}.03.2022 10:{n % 60:02}"


def name(n: int) -> str:
    return NAMES[n % len(NAMES)]


def said(n: int) -> str:
    return WORDS[n % len(WORDS)]


def named(n: int) -> str:
    """Return a post of a template that gives everything a name."""
    return (
        f'<div class="row {"odd" if n % 2 else "even"} message col-md-8" id="p{n}">'
        f'<div class="who"><a class="avatar" href="/u/{n}"><img src="a.png"></a>'
        f'<a class="username" href="/u/{n}">{name(n)}</a></div>'
        f'<p class="when">{date(n)}</p><div class="text">{said(n)}</div>'
        f'<p class="sig">Greetings from <a href="/x">{name(n + 1)}</a></p></div>'
    )


NAMED = Marks(
    "//div[@id and p]",
    {"author": "div[1]/a[2]", "date": "p[1]", "body": "div[2]"},
)


def forum(post: Post, first: int, last: int, around: str = "{}") -> str:
    menu = '<div class="menu"><a class="username" href="/login">Log in</a></div>'
    return menu + around.format("".join(map(post, range(first, last))))


def pages(post: Post, *ranges: tuple[int, int], around: str = "{}") -> list[Page]:
    return [page(forum(post, *each, around), f"t={number}") for number, each in enumerate(ranges)]


def learned_of(pages_: Sequence[Page], marks: Marks, failed: Extract | None = None) -> Wrapper:
    learned = induce([example(each, marks) for each in pages_], failed or posts())
    assert learned is not None
    return learned


def test_what_is_learned_reads_pages_that_nobody_has_shown() -> None:
    learned = learned_of(pages(named, (1, 4), (10, 12)), NAMED)
    assert read(learned, page(forum(named, 40, 47))) == expected(7, 40)
    assert learned.support.pages == 2
    assert learned.support.objects == 5
    assert {each.field: (each.right, each.wrong, each.missing) for each in learned.support.fields} == {
        "author": (5, 0, 0),
        "date": (5, 0, 0),
        "body": (5, 0, 0),
    }


def test_names_are_learned_and_no_states_numbers_places_or_grids() -> None:
    learned = learned_of(pages(named, (1, 4), (10, 12)), NAMED)
    written = " ".join(texts(learned))
    assert "div.message" in written
    assert not any(word in written for word in ("odd", "even", "col-md", "[1]", "position", "div.row"))
    assert 1 <= len(learned.action.items) <= 3


def test_one_page_is_enough_where_it_shows_several_objects() -> None:
    learned = learned_of(pages(named, (1, 5)), NAMED)
    assert read(learned, page(forum(named, 40, 43))) == expected(3, 40)


def test_nothing_is_found_where_a_example_says_that_there_is_nothing() -> None:
    other = "<div class='message'><p>Nobody has written here yet, you could be the first one.</p></div>"
    empty = LabelledExample(page(f"<main><h1>Empty</h1>{other}</main>"), Method.INDUCED, (), 0.9)
    learned = induce([example(each, NAMED) for each in pages(named, (1, 4), (10, 12))] + [empty], posts())
    assert learned is not None
    assert read(learned, empty.page) == []
    assert learned.support.absent == 1
    assert read(learned, page(forum(named, 40, 43) + other)) == expected(3, 40)


def test_what_looks_like_an_item_and_is_none_is_left_out() -> None:
    def bare(n: int) -> str:
        return f'<div class="message"><b>{name(n)}</b><i class="when">{date(n)}</i><p class="text">{said(n)}</p></div>'

    def with_advertisement(n: int) -> str:
        return bare(n) + (
            '<div class="message"><p class="buy">Buy our soup, it is hot.</p></div>' if n % 3 == 0 else ""
        )

    identity = Identity((), fields=("author", "date"))
    marks = Marks("//div[@class='message'][b]", {"author": "b", "date": "i", "body": "p"})
    learned = learned_of(pages(with_advertisement, (1, 5), (10, 14)), marks, posts(identity=identity))
    shown = page(forum(with_advertisement, 20, 26))
    assert [each[1:] for each in read(learned, shown)] == [each[1:] for each in expected(6, 20)]


def test_items_of_two_shapes_are_found_together_in_the_order_of_the_page() -> None:
    def first_apart(n: int) -> str:
        tag, class_ = ("section", "opening") if n % 10 == 1 else ("article", "answer")
        inner = f"<b>{name(n)}</b><i>{date(n)}</i><p class='text'>{said(n)}</p>"
        return f"<{tag} class='{class_}' id='p{n}'>{inner}</{tag}>"

    marks = Marks("//*[b][i]", {"author": "b", "date": "i", "body": "p"})
    learned = learned_of(pages(first_apart, (1, 4), (11, 14)), marks)
    assert read(learned, page(forum(first_apart, 21, 25))) == expected(4, 21)


def test_rows_of_a_table_hold_one_post_in_pairs() -> None:
    def rows(n: int) -> str:
        return (
            f'<tr class="head"><td class="name">{name(n)}</td><td>{date(n)}</td></tr>'
            f'<tr class="post" id="post_{n}"><td>{said(n)}</td><td><a href="#top">Top</a></td></tr>'
        )

    table = "<table>{}</table>"
    marks = Marks(
        "//tr[@id]",
        {"author": "preceding-sibling::tr[1]/td[1]", "date": "preceding-sibling::tr[1]/td[2]", "body": "td[1]"},
        beside="preceding-sibling::tr[1]",
    )
    learned = learned_of(pages(rows, (1, 4), (10, 12), around=table), marks)
    assert read(learned, page(forum(rows, 40, 44, table))) == expected(4, 40)


def test_a_template_without_any_name_is_learned_by_its_structure() -> None:
    def anonymous(n: int) -> str:
        return f"<div><div><b>{name(n)}</b><u>{date(n)}</u></div><div>{said(n)}</div></div>"

    around = "<div><span>Start</span></div><section>{}</section><div><div>Imprint</div></div>"
    marks = Marks("//section/div", {"author": "div[1]/b", "date": "div[1]/u", "body": "div[2]"})
    learned = learned_of(
        pages(anonymous, (1, 4), (10, 12), around=around),
        marks,
        posts(identity=Identity((), fields=("author", "date"))),
    )
    found = read(learned, page(forum(anonymous, 20, 24, around)))
    assert [each[1:] for each in found] == [each[1:] for each in expected(4, 20)]
    assert len({each[0] for each in found}) == 4


def test_names_made_by_programs_are_better_than_none() -> None:
    def hashed(n: int) -> str:
        return (
            f'<div class="x7q2kd"><div class="k9w4za">{name(n)}</div><div class="m3v8tb">{date(n)}</div>'
            f'<div class="z5r1yc">{said(n)}</div></div>'
        )

    marks = Marks("//div[count(div) = 3]", {"author": "div[1]", "date": "div[2]", "body": "div[3]"})
    failed = posts(identity=Identity((), fields=("author", "date")))
    learned = learned_of(pages(hashed, (1, 4), (10, 12)), marks, failed)
    other = hashed(1).replace("x7q2kd", "other").replace("m3v8tb", "none")
    assert [each[1:] for each in read(learned, page(other + forum(hashed, 20, 23)))] == [
        each[1:] for each in expected(3, 20)
    ]


def test_nested_answers_keep_to_themselves() -> None:
    def tree(n: int) -> str:
        return (
            f'<li class="comment" id="p{n}"><b class="by">{name(n)}</b><i class="when">{date(n)}</i>'
            f'<div class="text">{said(n)}</div><ul class="children">{{}}</ul></li>'
        )

    def nested(first: int, last: int) -> str:
        inner = ""
        for n in reversed(range(first, last)):
            inner = tree(n).format(inner)
        return f"<ul>{inner}</ul>"

    marks = Marks("//li", {"author": "b", "date": "i", "body": "div"})
    learned = learned_of([page(nested(1, 4)), page(nested(11, 13), "t=2")], marks)
    assert read(learned, page(nested(20, 26))) == expected(6, 20)


def test_pages_may_disagree_about_which_element_is_the_item() -> None:
    def wrapped(n: int) -> str:
        return (
            f'<li class="comment" id="p{n}"><article><b>{name(n)}</b><i>{date(n)}</i>'
            f'<p class="text">{said(n)}</p></article></li>'
        )

    first, second, third = pages(wrapped, (1, 4), (10, 12), (15, 16), around="<ol>{}</ol>")
    fields = {"author": ".//b", "date": ".//i", "body": ".//p"}
    outer, inner = Marks("//li", fields), Marks("//article", fields)
    learned = induce([example(first, inner), example(second, outer), example(third, outer)], posts())
    assert learned is not None
    assert read(learned, page(forum(wrapped, 20, 23, "<ol>{}</ol>"))) == expected(3, 20)


def test_one_wrong_example_of_several_is_left_aside_and_named() -> None:
    shown = pages(named, (1, 4), (10, 12), (15, 18), (20, 22))
    wrong = example(shown[3], replace(NAMED, item="//p[@class='sig']", fields={"body": "self::*"}), 0.6)
    learned = induce([*(example(each, NAMED) for each in shown[:3]), wrong], posts())
    assert learned is not None
    assert learned.support.dissenting == (shown[3].url,)
    assert learned.support.pages == 3
    assert read(learned, page(forum(named, 40, 43))) == expected(3, 40)


class TestFields:
    def test_guests_are_named_elsewhere_than_members(self) -> None:
        def guests(n: int) -> str:
            shown = f'<a class="member" href="/u/{n}">{name(n)}</a>' if n % 3 else f'<em class="guest">{name(n)}</em>'
            return named(n).replace(f'<a class="username" href="/u/{n}">{name(n)}</a>', shown)

        marks = replace(NAMED, fields={**NAMED.fields, "author": "div[1]/*[2]"})
        learned = learned_of(pages(guests, (1, 5), (10, 14)), marks)
        assert read(learned, page(forum(guests, 40, 47))) == expected(7, 40)

    def test_dates_are_read_from_attributes(self) -> None:
        def machine(n: int) -> str:
            moment = datetime(2022, 3, n % 27 + 1, 10, n % 60, tzinfo=UTC)
            return named(n).replace(f'<p class="when">{date(n)}</p>', f'<time datetime="{moment:%FT%TZ}">once</time>')

        marks = replace(NAMED, fields={**NAMED.fields, "date": "time/@datetime"}, item="//div[@id and time]")
        learned = learned_of(pages(machine, (1, 4), (10, 12)), marks)
        assert read(learned, page(forum(machine, 40, 44))) == expected(4, 40)

    @pytest.mark.parametrize(
        "line",
        [
            "by {name} on {date}",
            "{name} wrote at {date}:",
            "« Posted by {name}, {date} »",
        ],
    )
    def test_author_and_date_that_share_a_line_are_cut_out(self, line: str) -> None:
        def shared(n: int) -> str:
            text = line.format(name=name(n), date=date(n))
            return f'<div class="post" id="p{n}"><p class="line">{text}</p><div class="text">{said(n)}</div></div>'

        lead, _, rest = line.partition("{name}")
        between = rest.partition("{date}")[0]
        text = f"substring-before(substring-after(concat('x', normalize-space(p)), 'x{lead}'), '{between}')"
        marks = Marks(
            "//div[@id]",
            {"author": "p", "date": "p", "body": "div"},
            values={
                "author": text,
                "date": f"substring(substring-after(normalize-space(p), concat({text}, '{between}')), 1, 16)",
            },
        )
        learned = learned_of(pages(shared, (1, 6), (10, 14)), marks)
        assert read(learned, page(forum(shared, 40, 46))) == expected(6, 40)

    def test_the_order_of_day_and_month_is_that_of_the_failed_action(self) -> None:
        american = replace(DATE, date=DateFormat("mdy", "America/New_York"))

        def slashed(n: int) -> str:
            return named(n).replace(date(n), f"03/0{n % 9 + 1}/2022 10:{n:02}")

        first = page(forum(slashed, 1, 4))
        failed = posts(AUTHOR, american, BODY)
        learned = learned_of([first], NAMED, failed)
        assert [each[2] for each in read(learned, first)] == [f"0{n % 9 + 1}.03.2022 10:{n:02}" for n in (1, 2, 3)]

    def test_a_field_that_would_be_wrong_somewhere_is_left_out_and_noted(self) -> None:
        def mixed(n: int) -> str:
            lines = [f"<p>{name(n)}</p>", "<p>Nobody in particular</p>", "<p>Anybody else</p>"]
            lines = lines[n % 3 :] + lines[: n % 3]
            return f'<div class="post" id="p{n}">{"".join(lines)}<div class="text">{said(n)}</div></div>'

        marks = Marks(
            "//div[@id]",
            {"author": "p[not(starts-with(., 'Nobody')) and not(starts-with(., 'Any'))]", "body": "div"},
        )
        learned = learned_of(pages(mixed, (1, 6), (10, 15)), marks, posts(AUTHOR, BODY))
        assert not any(each.name == "author" for each in learned.action.fields)
        assert any(note.startswith("author") for note in learned.notes)
        assert [each[3] for each in read(learned, page(forum(mixed, 20, 24)))] == [each[3] for each in expected(4, 20)]

    def test_without_a_body_there_is_no_action(self) -> None:
        marks = replace(NAMED, fields={"author": "div[1]/a[2]", "body": "div[1]/a[1]"}, values={"body": "'nowhere'"})
        assert induce([example(each, marks) for each in pages(named, (1, 4), (10, 12))], posts()) is None

    def test_what_does_not_belong_to_a_body_is_left_out_of_it(self) -> None:
        def edited(n: int) -> str:
            note = '<p class="edited">Last edited by the author</p>' if n % 2 else ""
            return named(n).replace(said(n), f"{said(n)}{note}<p class='signature'>{name(n + 2)} says hello</p>")

        marks = replace(NAMED, without={"body": "p[@class='edited' or @class='signature']"})
        learned = learned_of(pages(edited, (1, 5), (10, 13)), marks)
        assert read(learned, page(forum(edited, 40, 45))) == expected(5, 40)

    def test_what_the_knowledge_base_leaves_out_stays_out(self) -> None:
        def edited(n: int) -> str:
            return named(n).replace(said(n), f'{said(n)}<p class="edited">Last edited by the author</p>')

        body = replace(BODY, without=(compile_selector(css="p.edited"),))
        learned = learned_of(pages(edited, (1, 5)), NAMED, posts(AUTHOR, DATE, body))
        assert read(learned, page(forum(edited, 40, 45))) == expected(5, 40)

    def test_a_body_of_several_elements_is_read_whole(self) -> None:
        def several(n: int) -> str:
            return (
                f'<div class="post" id="p{n}"><b class="by">{name(n)}</b><i class="when">{date(n)}</i>'
                f"<p>{said(n)}</p><p>{said(n + 1)}</p><div class='tools'>Reply</div></div>"
            )

        marks = Marks("//div[@id]", {"author": "b", "date": "i", "body": "p"})
        learned = learned_of(pages(several, (1, 4), (10, 12)), marks)
        found = read(learned, page(forum(several, 40, 42)))
        assert [each[3] for each in found] == [f"{said(n)}\n{said(n + 1)}" for n in (40, 41)]

    def test_the_title_of_the_page_is_that_of_the_first_object(self) -> None:
        titled = [
            page(f"<h1 class='topic'>Ice {first}</h1>{forum(named, first, last)}", f"t={first}")
            for first, last in ((1, 3), (10, 12), (40, 43))
        ]
        marks = replace(NAMED, fields={**NAMED.fields})
        examples = [example(each, marks) for each in titled[:2]]
        examples = [
            replace(each, objects=(_with_title(each, "//h1"), *each.objects[1:])) for each in examples if each.objects
        ]
        learned = induce(examples, posts(TITLE, AUTHOR, DATE, BODY))
        assert learned is not None
        found = run(learned.action, titled[2])
        assert found is not None
        assert [each.first("title") for each in found] == ["Ice 40", None, None]

    def test_fields_that_are_still_right_stay_as_they_are(self) -> None:
        kept = replace(AUTHOR, selectors=(compile_selector(css=".who a:not(.avatar)"),))
        learned = learned_of(pages(named, (1, 4)), NAMED, posts(kept, DATE, BODY))
        author = next(each for each in learned.action.fields if each.name == "author")
        assert author.selectors[0].css == ".who a:not(.avatar)"

    def test_fields_that_no_example_speaks_of_stay_as_they_are(self) -> None:
        tags = replace(field_of("tag", many=True), selectors=(compile_selector(css=".tags a"),))
        learned = learned_of(pages(named, (1, 4)), NAMED, posts(AUTHOR, DATE, BODY, tags))
        assert next(each for each in learned.action.fields if each.name == "tag").many

    def test_markup_is_learned_by_its_text(self) -> None:
        learned = learned_of(
            pages(named, (1, 4), (8, 10)), NAMED, posts(AUTHOR, DATE, field_of("body", FieldKind.HTML))
        )
        shown = page(forum(named, 40, 42).replace("morning", "<em>morning</em>").replace("ferry", "<em>ferry</em>"))
        assert all("<em>" in str(each[3]) or "ice" not in str(each[3]) for each in read(learned, shown))
        assert len(read(learned, shown)) == 2


def _with_title(each: LabelledExample, path: str) -> LabelledObject:
    heading = each.page.tree.xpath(path)[0]
    first = each.objects[0]
    return replace(first, labels={**first.labels, "title": Label((heading,), str(heading.text_content()))})


class TestIdentity:
    @pytest.mark.parametrize(
        ("before", "attributes", "inner"),
        [
            ("", 'id="post-{n}"', ""),
            ("", 'data-post="{n}"', ""),
            ("", "", '<a name="message{n}"></a>'),
            ("", "", '<a class="link" href="/viewtopic.php?t=7&amp;p={n}#p{n}">Link</a>'),
            ("", "", '<span id="msg_{n}">#</span>'),
            ('<a id="comment{n}"></a>', "", ""),
        ],
    )
    def test_the_number_is_found_wherever_the_template_has_it(self, before: str, attributes: str, inner: str) -> None:
        def numbered(n: int) -> str:
            filled = (each.format(n=n) for each in (before, attributes, inner))
            lead, own, within = filled
            return (
                f'{lead}<div class="post" {own}><b>{name(n)}</b><i>{date(n)}</i><p class="text">{said(n)}</p>'
                f'{within}<a href="/user/{n % 3 + 1}">profile</a></div>'
            )

        marks = Marks("//div[@class='post']", {"author": "b", "date": "i", "body": "p"})
        learned = learned_of(pages(numbered, (1, 4), (10, 13)), marks)
        assert read(learned, page(forum(numbered, 40, 44))) == expected(4, 40)

    def test_known_fragments_decide_between_numbers(self) -> None:
        def twice(n: int) -> str:
            return named(n).replace(f'id="p{n}"', f'id="row{n * 7}" data-number="{n}"')

        shown = pages(twice, (1, 4), (10, 13))
        examples = []
        for each in shown:
            whole = example(each, NAMED)
            numbers = [labelled.elements[0].get("data-number") for labelled in whole.objects]
            objects = [replace(one, fragment=f"p{n}") for one, n in zip(whole.objects, numbers, strict=True)]
            examples.append(replace(whole, objects=tuple(objects)))
        learned = induce(examples, posts())
        assert learned is not None
        assert [each[0] for each in read(learned, page(forum(twice, 40, 43)))] == ["p40", "p41", "p42"]

    def test_the_prefix_of_the_failed_action_stays(self) -> None:
        failed = posts(identity=Identity((NOTHING,), ("post_",), "pid"))
        learned = learned_of(pages(named, (1, 4)), NAMED, failed)
        assert [each[0] for each in read(learned, page(forum(named, 40, 42)))] == ["pid40", "pid41"]

    def test_numbers_of_authors_tell_no_objects_apart(self) -> None:
        def by_few(n: int) -> str:
            return (
                f'<div class="post"><a data-user="{n % 2}" href="/u?u={n % 2}">{name(n)}</a><i>{date(n)}</i>'
                f'<p class="text">{said(n)}</p></div>'
            )

        marks = Marks("//div[@class='post']", {"author": "a", "date": "i", "body": "p"})
        learned = learned_of(pages(by_few, (1, 5), (10, 13)), marks)
        found = read(learned, page(forum(by_few, 20, 25)))
        assert len({each[0] for each in found}) == 5
        assert learned.action.identity is not None
        assert learned.action.identity.fields == ("author", "date")


class TestArticles:
    ACTION = Extract("article", "article", (NOTHING,), (field_of("title"), AUTHOR, DATE, BODY), always=True)

    @staticmethod
    def article(n: int) -> Page:
        entry = (
            f'<header><h1 class="entry-title">Ice {n}</h1><span class="author">{name(n)}</span>'
            f'<time datetime="2022-03-0{n}">then</time></header><div class="entry-content"><p>{said(n)}</p>'
            f"<p>{said(n + 1)}</p></div>"
        )
        aside = "<aside><div class='teaser'><h3>Other</h3><p>Another text</p></div></aside>"
        return page(f'<main><article class="post-{n} post category-news">{entry}</article></main>{aside}', f"p={n}")

    MARKS = Marks(
        "//article",
        {"title": ".//h1", "author": ".//span", "date": ".//time/@datetime", "body": "div"},
    )

    def test_the_one_object_of_a_page_is_named_by_the_page(self) -> None:
        learned = learned_of([self.article(1), self.article(2)], self.MARKS, self.ACTION)
        found = run(learned.action, self.article(5))
        assert found is not None
        assert [(each.iri, each.first("title")) for each in found] == [(self.article(5).url, "Ice 5")]
        assert found[0].first("author") == Person(name(5))
        assert found[0].first("date") == datetime(2022, 3, 5, tzinfo=UTC)
        assert "category" not in " ".join(texts(learned))

    def test_a_example_that_took_a_little_too_much_does_not_lead_astray(self) -> None:
        shown = [self.article(n) for n in (1, 2, 3, 4)]
        examples = [example(each, self.MARKS) for each in shown]
        (labelled,) = examples[3].objects
        whole = shown[3].tree.xpath("//article")[0]
        title = shown[3].tree.xpath("//header")[0]
        more = Label((whole,), f"{name(4)} then\n{said(4)}\n{said(5)}", "", (title[0],))
        examples[3] = replace(examples[3], objects=(replace(labelled, labels={**labelled.labels, "body": more}),))
        learned = induce(examples, self.ACTION)
        assert learned is not None
        body = next(each for each in learned.support.fields if each.field == "body")
        assert (body.right, body.near, body.wrong) == (3, 1, 0)
        found = run(learned.action, self.article(5))
        assert found is not None
        assert found[0].first("body") == f"{said(5)}\n{said(6)}"

    def test_the_title_is_no_part_of_the_body(self) -> None:
        examples = []
        for n in (1, 2):
            shown = self.article(n)
            marked = example(shown, self.MARKS)
            whole, parts = shown.tree.xpath("//article")[0], shown.tree.xpath("//header/*[position() > 1]")
            text = f"Ice {n}\n{said(n)}\n{said(n + 1)}"
            labels = {**marked.objects[0].labels, "body": Label((whole,), text, "", tuple(parts))}
            examples.append(replace(marked, objects=(replace(marked.objects[0], labels=labels),)))
        learned = induce(examples, self.ACTION)
        assert learned is not None
        found = run(learned.action, self.article(5))
        assert found is not None
        assert found[0].first("body") == f"{said(5)}\n{said(6)}"

    def test_a_holder_without_a_body_is_no_article(self) -> None:
        learned = learned_of([self.article(1), self.article(2)], self.MARKS, self.ACTION)
        assert run(learned.action, page('<main><article class="post">Not found</article></main>')) == []


def test_runs_keep_their_action_and_get_another_container() -> None:
    def talk(first: int, last: int, container: str) -> str:
        lines = (
            f'<p>{said(n)} <a class="user" href="/u/{n}">{name(n)}</a> 10:{n:02}, {n} March 2022 (UTC)</p>'
            for n in range(first, last)
        )
        return f'<div class="{container}"><h2>Ice</h2>{"".join(lines)}</div><p>Privacy</p>'

    signed = Run((compile_selector(css="p"),), (compile_selector(css="a.user"),), (compile_selector(css="h2"),))
    fields = (
        Field("author", FieldKind.PERSON, (compile_selector(css=".signed"),)),
        Field("date", FieldKind.DATETIME, (compile_selector(xpath="@data-date"),)),
        Field("body", FieldKind.TEXT, (compile_selector(css=".written"),)),
    )
    failed = Extract(
        "talk", "comment", (NOTHING,), fields, many=True, identity=Identity((), fields=("author", "date")), run=signed
    )
    examples = []
    for first, last in ((1, 4), (10, 13)):
        shown = page(talk(first, last, "discussion"), f"t={first}")
        objects = []
        for element, n in zip(shown.tree.xpath("//div/p"), range(first, last), strict=True):
            assert isinstance(element, HtmlElement)
            objects.append(LabelledObject((element,), {"body": Label((element,), said(n))}))
        examples.append(LabelledExample(shown, Method.INDUCED, tuple(objects), 0.9))
    learned = induce(examples, failed)
    assert learned is not None
    found = read(learned, page(talk(20, 23, "discussion")))
    assert [each[1] for each in found] == [name(n) for n in (20, 21, 22)]
    assert [each[3] for each in found] == [said(n) for n in (20, 21, 22)]


class TestWhatIsLearned:
    LEARNED = learned_of(pages(named, (1, 4), (10, 12)), NAMED)

    def test_inducing_again_gives_the_same(self) -> None:
        again = learned_of(pages(named, (1, 4), (10, 12)), NAMED)
        assert again == self.LEARNED
        assert hash(again) == hash(self.LEARNED)
        assert again != learned_of(pages(named, (1, 4)), NAMED)

    def test_its_signs_tell_pages_of_the_template_from_others(self) -> None:
        shown, other = page(forum(named, 40, 42)), page("<div class='topic'><p class='text'>Else</p></div>")
        assert any(each.selector.holds(shown.tree) for each in self.LEARNED.signs())
        assert not any(each.selector.holds(other.tree) for each in self.LEARNED.signs())

    def test_a_file_with_it_is_valid_and_means_the_same(self, tmp_path: Path) -> None:
        names = {**NAMED.fields}
        titled = replace(TITLE, declared=("headline",), strip="»-")
        zoned = replace(DATE, date=DateFormat("dmy", "Europe/Athens", "%d.%m.%Y %H:%M"))
        learned = learned_of(pages(named, (1, 4)), replace(NAMED, fields=names), posts(titled, AUTHOR, zoned, BODY))
        root = etree.fromstring(
            '<application name="Tiny" kind="web-forum"><detect><pattern strength="proof" generator="Tiny"/></detect>'
            '<level name="thread" role="terminal"><when css="div"/></level></application>'
        )
        root[1].append(learned.xml())
        (tmp_path / "applications").mkdir()
        (tmp_path / "applications" / "tiny.xml").write_bytes(etree.tostring(root))
        kinds = Path(loader.__file__).parent / "kinds"
        (tmp_path / "kinds").symlink_to(kinds)
        action = loader.load(tmp_path).application("Tiny").level("thread").actions[0]
        shown = page(forum(named, 40, 44))
        assert isinstance(action, Extract)
        assert run(action, shown) == run(learned.action, shown)
        assert (action.type, action.first_type, action.always) == ("reply", "post", True)


class TestHostilePages:
    def test_pages_of_hundred_thousand_elements_take_no_time(self) -> None:
        many = page("<div class='message'>" * 20 + "<b>x</b>" * 100_000)
        examples = [example(many, Marks("//div[b]", {"body": "b[1]"})), example(many, Marks("//b[position() < 2000]"))]
        with at_most(5):
            assert induce(examples[:1], posts()) is None
            assert induce(examples[1:], posts()) is None

    def test_the_work_has_an_end_where_nothing_fits(self) -> None:
        def shuffled(n: int) -> str:
            inner = "".join(f'<span class="c{k * n % 13} d{k}">{k * n}</span>' for k in range(60))
            return f'<div class="a{n % 5}">{inner}<p>{said(n)}</p></div>'

        marks = Marks("//div[p][position() mod 2 = 1]", {"author": "span[last()]", "body": "p"})
        with at_most(10):
            induce(
                [example(each, marks) for each in pages(shuffled, *((n, n + 40) for n in range(1, 200, 40)))], posts()
            )

    def test_names_with_quotation_marks_break_nothing(self) -> None:
        def odd(n: int) -> str:
            return named(n).replace('class="text"', "class=\"text it's ]['\" title='&quot;'").replace("who", "w'ho")

        learned = learned_of(pages(odd, (1, 4), (10, 12)), NAMED)
        assert read(learned, page(forum(odd, 40, 43))) == expected(3, 40)

    def test_nothing_is_learned_of_nothing(self) -> None:
        assert induce([], posts()) is None
        assert induce([LabelledExample(page("<p>x</p>"), Method.INDUCED, (), 1.0)], posts()) is None

    @given(st.data())
    def test_any_elements_may_be_objects(self, data: st.DataObject) -> None:
        markup = data.draw(st.recursive(_LEAVES, lambda inner: st.builds(_element, _NAMES, _NAMES, inner, inner)))
        shown = [page(markup), page(named(1) + markup, "t=2")]
        examples = []
        for each in shown:
            elements = [one for one in each.tree.iter() if isinstance(one, HtmlElement)]
            chosen = data.draw(st.lists(st.sampled_from(elements), max_size=4, unique=True))
            objects = tuple(LabelledObject((one,), {"body": Label((one,), one.text_content())}) for one in chosen)
            examples.append(LabelledExample(each, Method.RELAXED, objects, 0.5))
        learned = induce(examples, posts())
        assert learned is None or run(learned.action, shown[0]) is not None


_NAMES = st.sampled_from(["", "post", "odd", "p1", "p2", "it's", "a b", "x9f2", "::", "ß"])
_LEAVES = st.sampled_from(
    ["", "text", "12.03.2022", "<br>", "<p>", "<table><tr><td>", "<!-- x -->", "<a href='#p1'>q</a>"]
)


def _element(class_: str, id_: str, first: str, second: str) -> str:
    return f'<div class="{class_}" id="{id_}">{first}{second}</div>'
