"""Style sheets lead into the archive alone, and are otherwise what they were."""

import random
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser

from aahcrawler.replay.css_rewriting import rewrite_css

HERE = "/here/"


def rewritten(css: str) -> str:
    return rewrite_css(css, lambda url, modifier: f"{HERE}{modifier[:2]}/{url}")


@pytest.mark.parametrize(
    ("css", "wanted"),
    [
        ("a{b:url(x.png)}", 'a{b:url("/here/im/x.png")}'),
        ("a{b:URL( 'x)y' )}", 'a{b:url("/here/im/x\\29 y")}'),
        ("a{b:u\\72 l(x)}", 'a{b:url("/here/im/x")}'),
        ("a{b:url(x\\29y)}", 'a{b:url("/here/im/x\\29 y")}'),
        ("a{b:url(x", 'a{b:url("/here/im/x")'),
        ('a{b:url("x', 'a{b:url("/here/im/x")'),
        ("a{b:url(bad'x) url(c)}", 'a{b:url("") url("/here/im/c")}'),
        ("a{b:src('x')}", 'a{b:url("/here/im/x")}'),
        ("a{b:image-set('x' 1x, url(y) 2x)}", 'a{b:image-set(url("/here/im/x") 1x, url("/here/im/y") 2x)}'),
        ("a{b:image-set('x' type('image/png'))}", 'a{b:image-set(url("/here/im/x") type("image/png"))}'),
        ("@import 'x' screen;", '@import url("/here/cs/x") screen;'),
        ("@\\69mport/**/url(x) layer(y);", '@\\69mport/**/url("/here/cs/x") layer(y);'),
        ("@namespace url(http://x);", '@namespace url("");'),
        ("@font-face{src:url(x.woff2) format('woff2')}", '@font-face{src:url("/here/im/x.woff2") format("woff2")}'),
        ("a{mask:url(#part)}", 'a{mask:url("#part")}'),
        ("a{content:'url(x)'} /* url(y) */", 'a{content:"url\\28 x\\29 "} '),
        ("a{b:curl(x)}", "a{b:curl(x)}"),
        ("@media (width<600px){a{b:c}}", "@media (width< 600px){a{b:c}}"),
        ("a::before{content:'</style><script>'}", 'a::before{content:"\\3c /style\\3e \\3c script\\3e "}'),
        ("a{--b:'\\201C'}", 'a{--b:"“"}'),
    ],
)
def test_urls_are_replaced_and_nothing_else(css: str, wanted: str) -> None:
    # A string in a set may stay one.
    assert rewritten(css).replace('image-set("/here/im/x"', 'image-set(url("/here/im/x")') == wanted


# Pieces that begin and end what a style sheet is made of, in any order.
PIECES = r"""url( u\72l( ' " ) ( \ /* */ @import @namespace image-set( ; { } http://evil.test/a //evil.test/b x.png <
    </style> <!-- --> src( #a é""".split()  # noqa: SIM905
_URLS_OF = """sheets => sheets.map(css => {
    const style = document.createElement("style")
    style.textContent = css
    document.head.append(style)
    const urls = []
    for (const rule of style.sheet.cssRules) {
        if (rule.type === CSSRule.IMPORT_RULE) urls.push(rule.href)
        else if (rule.type !== CSSRule.NAMESPACE_RULE)
            for (const found of rule.cssText.matchAll(/url\\("([^"]*)"\\)/g)) urls.push(found[1])
    }
    style.remove()
    return urls
})"""
pieces = st.lists(st.sampled_from((*PIECES, "\n", " ")), max_size=30).map("".join)


@given(pieces)
def test_whatever_a_style_sheet_is_made_of_no_tag_begins_in_it(css: str) -> None:
    assert not re.search(r"<(?=[a-zA-Z/!?])", rewritten(css))


@pytest.mark.slow
@pytest.mark.parametrize("count", [500, pytest.param(3_000, marks=pytest.mark.soak)])
def test_whatever_a_style_sheet_is_made_of_a_browser_is_led_into_the_archive_alone(
    chromium: Browser, count: int
) -> None:
    chosen = random.Random(7)
    sheets = ["".join(chosen.choices((*PIECES, "\n", " "), k=chosen.randint(1, 30))) for _ in range(count)]
    # What comes behind the pieces shows whether they were read as the browser reads them.
    sheets += [f"a {{ background: {css}" for css in sheets] + [f"@import {css}" for css in sheets]
    page = chromium.new_page()
    page.set_content(f"<p>{HERE}")
    seen = page.evaluate(_URLS_OF, [rewritten(css) for css in sheets])
    page.close()
    assert sum(map(len, seen)) > count / 6
    for css, urls in zip(sheets, seen, strict=True):
        assert all(url.startswith(("/here/", "#")) or not url for url in urls), (css, urls)


@pytest.mark.parametrize("piece", ["'", "url(", "/*", "\\", "(", "a\\", '"\\', "@", "url('", "url( ", "a(", "<"])
def test_time_is_linear(piece: str) -> None:
    begun = time.process_time()
    rewritten(piece * 100_000)
    assert time.process_time() - begun < 5


def test_where_nothing_may_stand_for_a_url_there_is_none() -> None:
    assert rewrite_css("a{b:url(x)}", lambda _url, _modifier: None) == 'a{b:url("")}'
