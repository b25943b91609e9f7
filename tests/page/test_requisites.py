from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.page.requisites import MAX_REQUISITES, frames, of_page, of_stylesheet, shown_by
from tests.pace import at_most
from tests.page.building import page_of

HEAD = """
<link rel="Stylesheet alternate" href="main.css?v=2"><link rel="shortcut icon" href="/favicon.ico">
<link rel="preload" as="font" href="text.woff2" crossorigin><link rel="preload" as="fetch" href="data.json">
<link rel="modulepreload" href="module.js"><link rel="manifest" href="site.webmanifest">
<link rel="canonical" href="http://site.test/"><link rel="next" href="2.html"><link rel="dns-prefetch" href="//x.test">
<style>@import "print.css"; body { background: url(tile.png) }</style>
<script src="app.js"></script><script>var url = "url(no.png)";</script>
"""
BODY = """
<img src="one.jpg" srcset="small.jpg 1x, large.jpg 2x"><img src="one.jpg">
<img data-src="lazy.jpg" src="data:image/gif,x">
<picture><source srcset="wide.webp 800w, wider.webp 1600w"></picture>
<video poster="still.jpg"><source src="film.mp4"></video><input type="image" src="go.gif"><input src="no.gif">
<svg><use xlink:href="icons.svg#star"></use><use href="#here"></use><image href="map.png"/></svg>
<div style="background-image: url('hero.jpg')"></div><table background="old.gif"></table><a href="page.html">x</a>
<iframe src="frame.html"></iframe><img src=""><img src="mailto:x"><img src="http://[bad">
"""


def test_everything_that_shows_the_page_and_nothing_else() -> None:
    page = page_of(f"<html><head>{HEAD}</head><body>{BODY}</body></html>", url="http://site.test/a/b.html")
    found = [url.removeprefix("http://site.test/a/") for url in of_page(page)]
    assert found[:2] == ["main.css?v=2", "print.css"]
    assert found[2:5] == ["module.js", "app.js", "text.woff2"]
    assert found[5:] == [
        *("http://site.test/favicon.ico", "tile.png", "one.jpg", "small.jpg", "lazy.jpg"),
        *("wider.webp", "still.jpg", "go.gif", "icons.svg", "map.png", "hero.jpg", "old.gif", "film.mp4"),
    ]


@pytest.mark.parametrize(
    ("css", "found"),
    [
        ('a { background: image-set("a.png" 1x, "b.png" 2x) }', ["a.png", "b.png"]),
        ("a { background: -webkit-image-set(url(a.png) 1x, url('b.png') 2x) }", ["a.png", "b.png"]),
        ('a { background: image-set("a.avif" type("image/avif"), url(a.png) type("image/png")) }', ["a.avif", "a.png"]),
        ('a { background: IMAGE-SET( linear-gradient(red, blue) 1x, "b.png" calc(2 * 1x) ) }', ["b.png"]),
        ('a { background: image-set("a.png" 1x); content: "no.png" } b { background: url(b.png) }', ["a.png", "b.png"]),
        ('a { background: image-set("a.png" 1x', ["a.png"]),
        ('a { background: image-set(/* "no.png" */ "a.png" 1x) }', ["a.png"]),
        ('a { background: my-image-set("no.png" 1x) }', []),
        ('@import src("a.css"); a { background: src("b.png"); src: local("no.png") }', ["a.css", "b.png"]),
        ("a { background: src(var(--no)) }", []),
    ],
)
def test_strings_are_urls_in_some_functions_of_style_sheets(css: str, found: list[str]) -> None:
    assert of_stylesheet(css, "http://site.test/") == tuple(f"http://site.test/{each}" for each in found)
    style = css.partition("{")[2].rpartition("}")[0].replace('"', "&quot;")
    if css.startswith("a {") and css.count("{") == 1 and style:
        assert of_page(page_of(f'<p style="{style}">', url="http://site.test/")) == of_stylesheet(
            css, "http://site.test/"
        )


@pytest.mark.slow
def test_a_hostile_image_set_takes_no_time() -> None:
    with at_most(5):
        assert len(of_stylesheet("image-set(" * 100_000 + '"a.png"', "http://site.test/")) == 0
        assert of_stylesheet('image-set("a.png" 1x,' * 50_000, "http://site.test/") == ("http://site.test/a.png",)


def test_styles_are_in_utf_8_whatever_their_page_is_in() -> None:
    markup = "<img src='a.png?\u0451'><p style='background: url(b.png?\u0451)'><style>@import 'c.png?\u0451'</style>"
    page = page_of(markup.encode("windows-1251"), "text/html; charset=windows-1251", "http://site.test/")
    assert sorted(of_page(page)) == [
        "http://site.test/a.png?%B8",
        "http://site.test/b.png?%D1%91",
        "http://site.test/c.png?%D1%91",
    ]


def test_a_document_within_an_attribute_has_requisites_of_the_page() -> None:
    inner = "<link rel=stylesheet href=x.css><img src=/i/a.png>"
    page = page_of(f'<base href="/b/"><iframe srcdoc="{inner}"></iframe>', url="http://site.test/")
    assert of_page(page) == ("http://site.test/b/x.css", "http://site.test/i/a.png")


def test_references_resolve_against_the_base() -> None:
    page = page_of('<base href="//cdn.test/x/"><img src="a.png">')
    assert of_page(page) == ("http://cdn.test/x/a.png",)


@pytest.mark.parametrize(
    ("srcset", "chosen"),
    [
        ("a.png", "a.png"),
        ("a.png, b.png 2x", "a.png"),
        ("b.png 2x, a.png", "a.png"),
        ("c.png 3x, b.png 1.5x", "b.png"),
        ("a.png 0.5x", "a.png"),
        (" , a.png 1x,b.png 2x ,", "a.png"),
        ("a,b.png 1x, c.png 2x", "a,b.png"),
        ("data:image/png;base64,AA== 1x, c.png 2x", "c.png"),
        ("a.png (x, y) 1x, b.png 2x", "a.png"),
        ("a.png 320w, b.png 1300w, c.png 2600w", "b.png"),
        ("a.png 320w, b.png 640w", "b.png"),
        ("a.png 320w 200h, b.png 1280w 800h", "b.png"),
        ("a.png 99999999999999999999w", "a.png"),
    ],
)
def test_of_candidates_the_one_for_a_usual_window_is_taken(srcset: str, chosen: str) -> None:
    page = page_of(f'<img srcset="{srcset}">', url="http://s.test/")
    assert of_page(page) == (f"http://s.test/{chosen}",)
    assert shown_by(next(page.tree.iter("img"))) == chosen


@pytest.mark.parametrize("srcset", ["", " ,, "])
def test_no_candidates(srcset: str) -> None:
    assert of_page(page_of(f'<img srcset="{srcset}">')) == ()


@pytest.mark.parametrize(
    ("sizes", "chosen"),
    [
        ("300px", "a.png"),
        ("(max-width: 900px) 100vw, 600px", "b.png"),
        ("(min-width: 60em) 300px, 100vw", "a.png"),
        ("(min-width: 100rem) 300px, 50vw", "b.png"),
        ("calc(100% - 2em)", "c.png"),
        ("auto", "c.png"),
        ("(min-width: ...px) 3px", "c.png"),
        ("1.2.3px", "c.png"),
    ],
)
def test_the_width_that_a_picture_is_shown_in_decides(sizes: str, chosen: str) -> None:
    page = page_of(f'<img sizes="{sizes}" srcset="a.png 320w, b.png 640w, c.png 1280w">', url="http://s.test/")
    assert of_page(page) == (f"http://s.test/{chosen}",)


def test_sharper_pictures_are_left_out_where_there_is_a_plain_one() -> None:
    page = page_of('<img src="a.png" srcset="b.png 2x, c.png 3x">', url="http://s.test/")
    assert of_page(page) == ("http://s.test/a.png",)


@pytest.mark.parametrize(
    ("css", "names"),
    [
        ("@import 'a.css';@import url(b.css) screen;@IMPORT URL( \"c.css\" );", ["a.css", "b.css", "c.css"]),
        ("@import/**/'a.css'", ["a.css"]),
        ("/* url(no.png) */ a { background: url(yes.png) }", ["yes.png"]),
        ('a { content: \'url(no.png)\' } b { content: "\\"url(no.png)" } c { x: url(yes.png) }', ["yes.png"]),
        ("a { src: url(f.eot?#iefix), url('f.woff2') format('woff2'), url(f.ttf), url(f.svg#f) }", ["f.woff2"]),
        ("a { src: url(f.eot) } b { src: url(g.ttf) } c { d: url(g.png) }", ["f.eot", "g.ttf", "g.png"]),
        ("a { b: url(x.svg) } c { src: url(y.woff) }", ["y.woff", "x.svg"]),
        ("a { b: url(x.png) } @import 'late.css'; c { src: url(y.woff) }", ["late.css", "y.woff", "x.png"]),
        ("a { b: url(with\\ space.png) }", ["with%20space.png"]),
        ("a { b: url(\\61 .png) }", ["a.png"]),
        ("a { b: url('line\\\nbreak.png') }", ["linebreak.png"]),
        ("@namespace svg url(http://www.w3.org/2000/svg); a { b: url(x.png) }", ["x.png"]),
        ("a { b: url(data:image/png;base64,AAAA); c: url(#filter); d: url() }", []),
        ("a { b: my-url(no.png) }", []),
        ("a { b: url(x.png); } c { d: url(x.png) }", ["x.png"]),
        ("a { b: url('unclosed.png", ["unclosed.png"]),
        ("a { content: 'unclosed\n; b: url(x.png) }", ["x.png"]),
        ("/* never closed url(x.png)", []),
    ],
)
def test_style_sheets(css: str, names: list[str]) -> None:
    found = of_stylesheet(css, "http://s.test/main.css")
    assert [url.removeprefix("http://s.test/") for url in found] == names


@pytest.mark.parametrize(
    ("markup", "names"),
    [
        ("<video src=a.mp4 poster=a.jpg><track src=a.vtt></video>", ["a.jpg", "a.mp4", "a.vtt"]),
        (
            "<video><source src=a.m3u8 type=application/x-mpegURL><source src=a.webm><source src=a.mp4></video>",
            ["a.webm"],
        ),
        ("<video src=b.mp4><source src=a.webm></video>", ["b.mp4"]),
        ("<audio><source src=a.ogg type=audio/ogg><source src=a.mp3></audio>", ["a.ogg"]),
        ("<audio data-src=a.mp3></audio><bgsound src=b.mid>", ["a.mp3", "b.mid"]),
        ("<video><source src=a.mpd type=application/dash+xml></video><video></video>", ["a.mpd"]),
        ("<object data=a.swf type=application/x-shockwave-flash></object><embed src=b.svg>", ["a.swf", "b.svg"]),
        ("<object><param name=Movie value=a.swf><param name=loop value=no><embed src=a.swf></object>", ["a.swf"]),
        ("<object data=a.html></object><embed src=b.pdf type=application/pdf><object></object>", []),
        ("<video src='blob:http://s.test/1'></video><audio src=data:audio/wav;base64,AA></audio>", []),
    ],
)
def test_sound_film_and_what_plug_ins_show(markup: str, names: list[str]) -> None:
    found = of_page(page_of(markup, url="http://s.test/"))
    assert [url.removeprefix("http://s.test/") for url in found] == names


def test_what_is_shown_is_either_a_document_or_a_file() -> None:
    shown = ("a.swf", "b", "c.pdf", "d.PNG?x", "e.html", "f.mp4#t=3")
    page = page_of("".join(f"<embed src={name}><object data={name}></object>" for name in shown), url="http://s.test/")
    documents, files = set(frames(page)), set(of_page(page))
    assert documents | files == {urljoin("http://s.test/", name.partition("#")[0]) for name in shown}
    assert files == {"http://s.test/a.swf", "http://s.test/d.PNG?x", "http://s.test/f.mp4"}
    assert not documents & files


def test_numbers_are_bounded() -> None:
    page = page_of("".join(f"<img src={number}.png>" for number in range(5000)) + "<link rel=stylesheet href=a.css>")
    found = of_page(page)
    assert len(found) == MAX_REQUISITES
    assert found[0].endswith("/a.css")


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["/*", '"\\', "url(", "url('", "@import ", "/**", "@import/*", "@namespace ", "\\", "u", "a{b:url(c)}"]
)
def test_hostile_style_sheets_take_linear_time(piece: str) -> None:
    css = piece * (400_000 // len(piece))
    with at_most(1.5):
        of_stylesheet(css, "http://s.test/")


@pytest.mark.slow
def test_hostile_attributes_take_linear_time() -> None:
    pages = [page_of(f'<img srcset="{piece * 60_000}">') for piece in ("a 1x,", "a (,", ", ")]
    pages.append(page_of("<img src=x>" * 20_000))
    with at_most(3):
        assert [len(of_page(page)) for page in pages] == [1, 1, 0, 1]


@given(st.text(alphabet="url(@import '\"\\/*);\n#a"))
def test_any_style_sheet_yields_canonical_urls(css: str) -> None:
    assert all(url.startswith("http://s.test/") for url in of_stylesheet(css, "http://s.test/x"))
