"""A template that two pages have shown makes a third of its data, and leaves out what it cannot explain."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from lxml import html

from aahcrawler.data_templates.data_template import DataTemplate, PageSample, learned_template

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep")


def posts_of(thread: int, number: int) -> list[dict[str, Any]]:
    return [
        {
            "id": 100 * thread + place,
            "by": {"name": f"user{place * thread}"},
            "at": f"2024-0{1 + place % 9}-1{place % 9}T10:00:00Z",
            "cooked": f"<p>Post <b>number</b> {place} of thread {thread}</p><p>And more: {thread * place}</p>",
            "edits": 3 * (place % 2),
        }
        for place in range(number)
    ]


def shown_post(post: dict[str, Any]) -> str:
    day = post["at"]
    edited = f'<i class="edited">edited {post["edits"]} times</i>' if post["edits"] else ""
    return (
        f'<article id="p{post["id"]}"><a href="/u/{post["by"]["name"]}">{post["by"]["name"]}</a>'
        f"<time>{MONTHS[int(day[5:7]) - 1]} {day[8:10]}, 2024</time>"
        f'<div class="text">{post["cooked"]}</div>{edited}</article>'
    )


def sample(thread: int, number: int, *, luck: str = "") -> PageSample:
    posts, title = posts_of(thread, number), f"Talk & tales, part {7 * thread}"
    dom = (
        f"<html><head><title>{title.replace('&', '&amp;')} - Board</title><script>run()</script></head><body>"
        f'<nav><a href="/">Home</a><a href="/about">About</a></nav><main><h1>{title.replace("&", "&amp;")}</h1>'
        f"<p>{number} answers</p>{''.join(map(shown_post, posts))}<small>{luck}</small></main></body></html>"
    )
    data = {"thread": {"id": thread, "title": title, "posts": posts}}
    return PageSample(
        f"http://f.test/t/{thread}",
        dom.encode(),
        {"http://f.test/api/config": b"{}", f"http://f.test/api/t/{thread}?full=1": json.dumps(data).encode()},
    )


def learned(samples: Sequence[PageSample]) -> DataTemplate:
    template = learned_template(samples)
    assert template is not None
    return template


def made(template: DataTemplate, of: PageSample) -> html.HtmlElement:
    urls = template.endpoints(of.url)
    assert urls is not None
    page = template.page([of.responses[url] for url in urls])
    assert page is not None
    return html.document_fromstring(page)


def test_a_page_is_made_of_its_data_as_its_scripts_make_it() -> None:
    template = learned([sample(1, 3), sample(2, 5)])
    third = sample(9, 4)
    assert template.endpoints(third.url) == ("http://f.test/api/t/9?full=1",)
    page, seen = made(template, third), html.document_fromstring(third.dom)
    for path in ("//title", "//h1", "//p", "//i", "//div[@class='text']", "//nav/a"):
        assert [each.text_content() for each in page.xpath(path)] == [each.text_content() for each in seen.xpath(path)]
    assert page.xpath("//article/@id | //a/@href") == seen.xpath("//article/@id | //a/@href")
    assert page.xpath("//time/text()") == [post["at"][:10] for post in posts_of(9, 4)]
    assert not page.xpath("//script/text()")


def test_what_the_data_do_not_say_is_left_out() -> None:
    template = learned([sample(1, 3, luck="seven"), sample(2, 5, luck="three")])
    assert made(template, sample(9, 4, luck="nine")).xpath("//small")[0].text is None


def test_data_that_say_something_new_are_told() -> None:
    template = learned([sample(1, 3), sample(2, 5)])
    third = sample(9, 4).responses["http://f.test/api/t/9?full=1"]
    assert template.knows([third])
    paged = json.loads(third)
    for changed in (
        {"thread": {**paged["thread"], "pages": 2}},
        {"thread": {**paged["thread"], "posts": []}},
        {"thread": {**paged["thread"], "title": None}},
        {"error": "no such thread"},
    ):
        assert not template.knows([json.dumps(changed).encode()])
    assert not template.knows([b"<p>not found"])
    closed = {"thread": {**paged["thread"], "title": None}}
    assert template.with_page([json.dumps(closed).encode()]).knows([json.dumps(closed).encode()])


def test_what_one_page_alone_says_is_said_of_no_other() -> None:
    def closed(by: str, thread: int) -> PageSample:
        note = f"<p>Closed by {by} for good</p>" if by else ""
        data = {"title": f"Talk {thread}", "closed": bool(by), "starter": "Anna", "closer": by or None}
        dom = f"<html><body><h1>Talk {thread}</h1><i>Anna</i>{note}</body></html>".encode()
        return PageSample(f"http://f.test/t/{thread}", dom, {f"http://f.test/api/{thread}": json.dumps(data).encode()})

    template = learned([closed("", 1), closed("Ben", 2)])
    page = template.page([json.dumps({"title": "Talk 3", "closed": True, "starter": "Cy", "closer": "Dan"}).encode()])
    assert page is not None
    shown = html.document_fromstring(page)
    assert shown.xpath("//h1/text() | //i/text() | //p/text()") == ["Talk 3", "Cy"], "not who closed another one"


def test_pages_whose_data_are_nowhere_have_no_template() -> None:
    pages = [PageSample(f"http://f.test/t/{each}", b"<p>x</p>", {"http://f.test/api/all": b"[]"}) for each in (1, 2)]
    assert learned_template(pages) is None
    assert learned_template([sample(1, 3)]) is None
    assert learned([sample(1, 3), sample(2, 5)]).endpoints("http://f.test/") is None


OTHERS = (
    b'{"error": "not found"}',
    b'{"thread": {"id": 9, "title": "", "posts": []}}',
    b'{"thread": {"id": 9, "title": "Log in", "posts": null}}',
)
"""What servers answer with status 200 where there is no such page, or none for whoever asks."""


@pytest.mark.parametrize("answer", [b"no json", b"[" * 100_000, b"", b"\xff", *OTHERS])
def test_other_answers_make_no_page(answer: bytes) -> None:
    assert learned([sample(1, 3), sample(2, 5)]).page([answer]) is None


@pytest.mark.slow
def test_learning_is_bounded() -> None:
    deep = b"<div>" * 5_000
    names = {f"name{number}": f"value {number}" for number in range(50_000)}
    pages = [
        PageSample(
            f"http://f.test/t/{each}",
            b"<html><body>" + b"".join(b"<p>%d</p>" % (number * each) for number in range(5_000)) + deep,
            {f"http://f.test/api/{each}": json.dumps(names).encode()},
        )
        for each in (1, 2)
    ]
    assert learned_template(pages) is not None
