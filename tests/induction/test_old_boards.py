"""Threads of old boards, in tables without identifiers, and pages whose tags nobody closed."""

from collections.abc import Sequence

import pytest

from aahcrawler.induction import generic_objects
from aahcrawler.page import Page
from aahcrawler.webobject import Person, WebObject
from tests.page.building import page_of

ENGLISH = (
    "The pilot brought the old boat back to the harbour before the storm, and nobody was hurt.",
    "We painted the lighthouse last week, and now everybody can see it from the other shore.",
    "My father kept a book about every ship that came here, and I would like to read it again.",
)
JAPANESE = (
    "古い船は嵐の前に港へ戻ってきましたが、幸いなことに怪我をした人は誰もいませんでした。",
    "先週みんなで灯台を塗り直したので、今では向こう岸からもはっきり見えるようになりました。",
    "父はここに来たすべての船のことを帳面に書いていたので、もう一度それを読みたいと思います。",
)
HEBREW = (
    "הסירה הישנה חזרה אל הנמל לפני הסערה ולמרבה המזל איש לא נפגע ממנה.",
    "בשבוע שעבר צבענו את המגדלור ועכשיו כולם יכולים לראות אותו מן החוף השני.",
    "אבא שלי כתב מחברת על כל אונייה שהגיעה לכאן ואני רוצה לקרוא אותה שוב.",
)


def thread(shown: Sequence[str], texts: Sequence[str] = ENGLISH, lang: str = "en") -> Page:
    """Return a thread, a row a post, with what each row shows as its date."""
    rows = "".join(
        f'<tr class="row{number % 2 + 1}"><td class="poster"><b>{author}</b></td>'
        f'<td><span class="small">{date}</span><hr><div class="message">{text}</div></td></tr>'
        for number, (author, date, text) in enumerate(zip(("Ann", "Bert", "Cyril"), shown, texts, strict=True))
    )
    return page_of(
        f'<html lang="{lang}"><head><title>The boats</title></head><body><h2>The boats</h2><table>{rows}</table>'
        "</body></html>"
    )


def read(page: Page) -> list[WebObject]:
    return list(generic_objects.read_objects(page).objects)


def posts(page: Page) -> list[tuple[str, str, str]]:
    """Return the author, the day and the text of each object."""
    found: list[tuple[str, str, str]] = []
    for each in read(page):
        author = each.first("author")
        name = author.name if isinstance(author, Person) else ""
        found.append((name, str(each.first("date"))[:10], str(each.first("body"))))
    return found


@pytest.mark.parametrize(
    ("template", "texts", "lang"),
    [
        ("平成13年3月{}日 14:05", JAPANESE, "ja"),
        ("2001年3月{}日 午後2:05", JAPANESE, "ja"),
        ("יום שלישי, {} במרץ 2001, 14:05", HEBREW, "he"),
        ("Reply #1 on: 03/{}/01 at 14:05:30", ENGLISH, "en"),
        ("« Reply #2 on: March {}, 2001, 2:05pm »", ENGLISH, "en"),
        ('<time datetime="2001-03-{} 14:05">a day of March</time>', ENGLISH, "en"),
    ],
)
def test_posts_in_rows_without_identifiers_have_their_own_days(template: str, texts: Sequence[str], lang: str) -> None:
    page = thread([template.format(day) for day in (13, 20, 27)], texts, lang)
    assert posts(page) == [
        (author, f"2001-03-{day}", text)
        for author, day, text in zip(("Ann", "Bert", "Cyril"), (13, 20, 27), texts, strict=True)
    ]


@pytest.mark.parametrize("shown", ["2:05 pm", "March 2001", "00.00.0000, 00:00", "NaN/NaN/NaN", "{{ post.date }}"])
def test_a_thread_without_days_has_all_of_its_rows_and_no_date(shown: str) -> None:
    found = read(thread([f'{shown} <a href="#m{number}">#{number}</a>' for number in (1, 2, 3)]))
    said = "\n".join(str(each.first("body")) for each in found)
    assert all(text in said for text in ENGLISH)
    assert not any(each.first("date") for each in found)


def test_people_and_days_within_the_sentences_of_a_text_make_no_posts_of_it() -> None:
    told = "".join(
        f"<p>On <i>{day} March 2001</i> the mayor <b>{name}</b> spoke to the crew. {text}</p>"
        for name, day, text in zip(("Ann", "Bert", "Cyril"), (13, 20, 27), ENGLISH, strict=True)
    )
    found = read(page_of(f"<title>The boats</title><h1>The boats</h1><div>{told}</div>"))
    assert [each.type for each in found] == ["article"]


@pytest.mark.parametrize("tags", ["<font><b><i>", "<div>"])
def test_text_that_is_nested_too_deeply_to_tell_its_elements_apart_is_read(tags: str) -> None:
    first, second, third = (f"{text} {text} {text}" for text in ENGLISH)
    page = page_of(
        f"<title>The boats</title><div id='content'><h1>The boats</h1><p>{first}</p>{tags * 150}<p>{second}</p>"
        f"<p>{third}</p>"
    )
    said = "\n".join(str(each.first("body")) for each in read(page))
    assert all(text in said for text in (first, second, third))
