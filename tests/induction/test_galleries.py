"""Albums and photographs of galleries that nobody described, and pictures that belong to no gallery."""

from collections.abc import Callable, Sequence
from itertools import product

import pytest

from aahcrawler.induction import generic_objects
from aahcrawler.page import Page
from aahcrawler.webobject import Person, Reference, WebObject
from tests.page.building import PARAGRAPH, page_of

NOTES = (
    "The first boat leaves the harbour before sunrise.",
    "Nobody has used this crane since the winter of 1963.",
    "The keeper's daughter painted the door herself!",
    "Two days later the ice carried the jetty away.",
)
TITLES = ("The early boat", "An old crane", "The blue door", "What is left of the jetty")
ABOUT = "We walked around the harbour on the first Sunday of the year. The light was good, and it was very cold."


Cell = Callable[[int, str, str], str]


def read(body: str, url: str = "http://site.test/walk/index.html", title: str = "A walk around the harbour") -> Page:
    return page_of(f"<html><head><title>{title}</title></head><body>{body}</body></html>", url=url)


def objects(page: Page) -> list[WebObject]:
    return list(generic_objects.read_objects(page).objects)


def told(found: Sequence[WebObject]) -> list[tuple[str, str, str]]:
    return [(each.type, str(each.first("title") or ""), str(each.first("body"))) for each in found]


def files(found: Sequence[WebObject]) -> list[str]:
    media = [each.first("media") for each in found if each.type == "photo"]
    return [value.url.rpartition("/")[2] for value in media if isinstance(value, Reference)]


def figures(number: int, title: str, note: str) -> str:
    return (
        f'<figure class="item"><a href="big/{number}.jpg"><img src="small/{number}.jpg" alt="{number}.jpg"></a>'
        f'<div class="hidden-text"><p>{note}</p></div><figcaption>{title}</figcaption></figure>'
    )


def attributes(number: int, title: str, note: str) -> str:
    return f'<a href="big/{number}.jpg" data-title="{note}"><img src="small/{number}.jpg" alt="{title}"></a>\n'


def markup_in_attributes(number: int, title: str, note: str) -> str:
    return (
        f'<div data-src="big/{number}.jpg" data-sub-html="&lt;h4&gt;{title}&lt;/h4&gt;&lt;p&gt;{note}&lt;/p&gt;">'
        f'<a href="big/{number}.jpg"><img src="small/{number}.jpg" alt=""></a><b>{title}</b></div>'
    )


def definitions(number: int, title: str, note: str) -> str:
    return (
        f'<dl class="gallery-item"><dt><a href="big/{number}.jpg"><img src="small/{number}.jpg" alt="{title}"></a></dt>'
        f"<dd>{note}</dd></dl>"
    )


def lines(number: int, title: str, note: str) -> str:
    return f'<a href="big/{number}.jpg"><img src="small/{number}.jpg"></a><br><b>{title}</b><br>{note}<br>'


@pytest.mark.parametrize("cell", [figures, attributes, definitions, lines])
def test_each_photograph_of_an_album_is_one_object_with_its_file(cell: Cell) -> None:
    cells = "".join(cell(n, title, note) for n, (title, note) in enumerate(zip(TITLES, NOTES, strict=True)))
    found = objects(read(f"<h1>A walk around the harbour</h1><p>{ABOUT}</p><div class=photos>{cells}</div>"))
    assert told(found) == [
        ("gallery", "A walk around the harbour", ABOUT),
        *(("photo", title, note) for title, note in zip(TITLES, NOTES, strict=True)),
    ]
    assert files(found) == [f"{number}.jpg" for number in range(4)]
    assert {each.part_of for each in found[1:]} == {found[0].iri}


def test_markup_in_an_attribute_is_read_as_text() -> None:
    pairs = enumerate(zip(TITLES, NOTES, strict=True))
    cells = "".join(markup_in_attributes(number, title, note) for number, (title, note) in pairs)
    found = objects(read(f"<h1>Pictures</h1><div id=lightgallery>{cells}</div>"))
    assert [(kind, title) for kind, title, _ in told(found)] == [("photo", title) for title in TITLES]
    assert all(note in str(each.first("body")) for each, note in zip(found, NOTES, strict=True))


def test_captions_in_the_row_below_belong_to_the_pictures_above() -> None:
    rows = ""
    for first in (0, 2):
        numbers = range(first, first + 2)
        rows += "".join(["<tr>", *(f'<td><a href="b{n}.jpg"><img src="s{n}.jpg"></a></td>' for n in numbers), "</tr>"])
        rows += "".join(["<tr>", *(f"<td><font size=-1>{NOTES[n]}</font></td>" for n in numbers), "</tr>"])
    found = objects(read(f"<h2>A walk around the harbour</h2><p>{ABOUT}</p><table>{rows}</table>"))
    assert told(found)[1:] == [("photo", "", note) for note in NOTES]
    assert files(found) == ["b0.jpg", "b1.jpg", "b2.jpg", "b3.jpg"]


def test_a_photograph_is_the_same_object_on_each_album() -> None:
    cells = "".join(figures(n, title, note) for n, (title, note) in enumerate(zip(TITLES, NOTES, strict=True)))
    one, other = (
        {each.iri for each in objects(read(f"<h1>Walk</h1>{cells}", f"http://site.test/walk/{name}"))}
        for name in ("index.html", "newest.html")
    )
    assert one == other == {f"http://site.test/walk/big/{number}.jpg#photograph" for number in range(4)}


def test_measures_and_counts_are_no_captions_and_labels_tell_author_and_day() -> None:
    cells = "".join(
        f'<li><a href="big/{n}.jpg"><img src="s/{n}.jpg" alt=""></a><h4>{title}</h4><p>{note}</p>'
        f"<span class=by>Photographer: Ann Boyd</span><span class=day>Date: {n + 3} May 2021</span>"
        f"<span class=size>1024x768, {n}4 KB</span><span class=hits>{n}12 views</span>"
        f"<a href='big/{n}.jpg'>Download</a>"
        for n, (title, note) in enumerate(zip(TITLES, NOTES, strict=True))
    )
    found = objects(read(f"<h1>Walk</h1><ul class=photos>{cells}</ul>"))
    assert told(found) == [("photo", title, note) for title, note in zip(TITLES, NOTES, strict=True)]
    assert {each.first("author") for each in found} == {Person("Ann Boyd")}
    assert [str(each.first("date"))[:10] for each in found] == [f"2021-05-0{n + 3}" for n in range(4)]


def of_one(comments: str = "", about: str = NOTES[0]) -> Page:
    return read(
        '<div id=top><a href="/"><img src="/logo.png" alt="Home"></a></div><table class=nav><tr>'
        '<td><a href="view.php?album=2&id=6"><img src="thumb_6.jpg" width=60 height=45 alt="Previous"></a></td>'
        "<td>Picture 7/9</td>"
        '<td><a href="view.php?album=2&id=8"><img src="thumb_8.jpg" width=60 height=45 alt="Next"></a></td></tr>'
        "</table>"
        f'<h2>{TITLES[0]}</h2><div class=view><img src="normal_7.jpg" width=640 height=480 alt="harbour7.jpg"></div>'
        f"<p class=caption>{about}</p>"
        "<table class=info><tr><td>File name:</td><td>harbour7.jpg</td></tr><tr><td>Date added:</td>"
        "<td>May 4, 2021</td></tr><tr><td>Dimensions:</td><td>640 x 480 pixels</td></tr><tr><td>Displayed:</td>"
        "<td>17 times</td></tr></table>"
        f"{comments}",
        "http://site.test/view.php?album=2&id=7",
        f"My pictures - {TITLES[0]}",
    )


def test_a_page_about_one_photograph_is_that_photograph() -> None:
    (found,) = objects(of_one())
    assert told([found]) == [("photo", TITLES[0], NOTES[0])]
    assert found.iri == "http://site.test/view.php?album=2&id=7"
    assert files([found]) == ["normal_7.jpg"]
    assert str(found.first("date"))[:10] == "2021-05-04"


def test_a_photograph_without_words_of_its_own_has_its_title() -> None:
    (found,) = objects(of_one(about=""))
    assert told([found]) == [("photo", TITLES[0], TITLES[0])]


def test_comments_on_a_photograph_are_comments() -> None:
    remarks = "".join(
        f"<div class=comment id=c{n}><p class=head><b class=author>{name}</b> on {n + 2} June 2021, 10:0{n}</p>"
        f"<p>{text} {ABOUT}</p></div>"
        for n, (name, text) in enumerate((("Ann Boyd", NOTES[2]), ("mo_fi", NOTES[3])))
    )
    found = objects(of_one(f"<div id=comments><h3>Comments</h3>{remarks}</div>"))
    assert [(each.type, each.first("body")) for each in found] == [
        ("photo", NOTES[0]),
        ("comment", f"{NOTES[2]} {ABOUT}"),
        ("comment", f"{NOTES[3]} {ABOUT}"),
    ]
    assert {each.part_of for each in found[1:]} == {found[0].iri}


def test_a_list_of_photographs_with_pages_of_their_own_tells_of_the_album_alone() -> None:
    cells = "".join(
        f'<td><a href="slide_{n}.html"><img src="thumb_{n}.jpg" width=100 height=75 alt="{n}.jpg"></a><br>{title}</td>'
        for n, title in enumerate(TITLES)
    )
    table = f"<table><tr>{cells}</tr></table>"
    found = objects(read(f"<h1>A walk around the harbour</h1><p>{ABOUT}</p>{table}"))
    assert told(found) == [("gallery", "A walk around the harbour", ABOUT)]
    assert objects(read(f"<h1>A walk around the harbour</h1>{table}")) == []


PLAIN_ARTICLE = "".join(
    f'<p>{PARAGRAPH} {note}</p><p><a href="big/{n}.jpg"><img src="small/{n}.jpg" alt="{title}"></a></p>'
    for n, (title, note) in enumerate(zip(TITLES, NOTES, strict=True))
)
POSTS = "".join(
    f'<div class=post id=p{n}><a href="/user/{n}"><img src="/faces/{n}.jpg" width=80 height=80></a>'
    f'<a class=author href="/user/{n}">{name}</a> <time datetime="2021-05-0{n + 1}T10:00:00Z">May {n + 1}</time>'
    f'<div class=text><p>{note} {PARAGRAPH}</p><a href="/files/{n}.jpg"><img src="/files/t{n}.jpg"></a></div></div>'
    for n, (name, note) in enumerate(zip(("Ann", "Bert", "Cyril", "Dora"), NOTES, strict=True))
)
TEASERS = "".join(
    f'<div class=teaser><a href="/news/{title.lower().replace(" ", "-")}"><img src="/t/{n}.jpg" width=200 height=150>'
    f"</a><h3><a href='/news/{title.lower().replace(' ', '-')}'>{title}</a></h3><p>{note}</p></div>"
    for n, (title, note) in enumerate(zip(TITLES, NOTES, strict=True))
)
ICONS = "".join(
    f'<li><a href="/get/{n}.jpg"><img class=icon src="/icons/{n}.png" width=16 height=16></a> {title}</li>'
    for n, title in enumerate(TITLES)
)


@pytest.mark.parametrize("body", [f"<h1>Ice</h1>{PLAIN_ARTICLE}", POSTS, TEASERS, f"<ul>{ICONS}</ul>"])
def test_pictures_of_articles_posts_teasers_and_icons_are_no_photographs(body: str) -> None:
    found = objects(read(f"<div id=main>{body}</div>", "http://site.test/2021/ice", "Ice"))
    assert not {each.type for each in found} & {"photo", "gallery"}


def test_a_later_page_of_an_album_does_not_tell_of_it_again() -> None:
    cells = "".join(figures(n, title, note) for n, (title, note) in enumerate(zip(TITLES, NOTES, strict=True)))
    body = f"<h1>A walk around the harbour</h1><p>{ABOUT}</p>{cells}"
    found = objects(read(body, "http://site.test/album.php?id=4&g_page=2"))
    assert {each.type for each in found} == {"photo"}


@pytest.mark.slow
def test_the_pictures_of_large_albums_are_read_in_linear_time() -> None:
    names = ["".join(letters) for letters in product("abcdefghijklmno", repeat=3)][:1_500]
    cells = "".join(
        lines(number, f"The boat {name} at the quay", f"{NOTES[0]} We saw {name} behind it.")
        for number, name in enumerate(names)
    )
    found = objects(read(f"<h1>Boats</h1><p class=gallery>{cells}</p>"))
    assert [each.first("title") for each in found] == [f"The boat {name} at the quay" for name in names]
