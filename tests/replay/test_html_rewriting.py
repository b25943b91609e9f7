"""Pages show what they showed, and lead nowhere but into the archive."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from resiliparse.parse.html import HTMLTree

from aahcrawler.page import Headers, Page
from aahcrawler.replay.addresses import Address, Modifier
from aahcrawler.replay.html_rewriting import Surroundings, rewrite_html
from tests.replay.archived import MOMENT, now

URL = "http://a.test/dir/page"
PLACE = f"/test/{MOMENT}"
URL_ATTRIBUTES = (
    *("href", "src", "srcset", "action", "formaction", "background", "cite", "data", "poster", "longdesc", "usemap"),
    *("profile", "manifest", "icon", "codebase", "archive", "classid", "dynsrc", "lowsrc", "ping", "xlink:href"),
    *("imagesrcset", "attributionsrc", "xml:base", "code"),
)


def rewritten(html: str, modifier: Modifier = Modifier.PAGE, url: str = URL) -> str:
    page = Page(url, 200, Headers((("Content-Type", "text/html; charset=utf-8"),)), html.encode(), now())
    around = Surroundings(Address("test", MOMENT, modifier, url), page.base_url)
    return rewrite_html(page.tree, page.text, around).markup().decode()


@pytest.mark.parametrize(
    ("html", "holds"),
    [
        ('<a href="/x?y=1&amp;z#f" target=_top ping=/p>', f'<a href="{PLACE}mp_/http://a.test/x?y=1&amp;z#f">'),
        ("<a href='#top'>", '<a href="#top">'),
        ("<base href=http://b.test/c/><a href=d>", f'<a href="{PLACE}mp_/http://b.test/c/d">'),
        ("<area href=x>", f'<area href="{PLACE}mp_/http://a.test/dir/x">'),
        ("<a href=' java\tscript:alert(1)'>x", "<a>x"),
        ("<a href=data:text/html,x>x", "<a>x"),
        ("<img src=a.png srcset='a.png 1x, b.png 2x'>", f'<img src="{PLACE}im_/http://a.test/dir/a.png">'),
        ("<img srcset='a.png 640w, b.png 1280w'>", f'<img src="{PLACE}im_/http://a.test/dir/b.png">'),
        ("<img src=data:image/gif;base64,R0 data-src=a.png>", f'<img src="{PLACE}im_/http://a.test/dir/a.png">'),
        ("<img src='data:image/gif;base64,R0'>", '<img src="data:image/gif;base64,R0">'),
        (
            "<picture><source srcset='a.webp 640w, b.webp 1280w'><img src=c></picture>",
            f'<source srcset="{PLACE}im_/http://a.test/dir/b.webp">',
        ),
        ("<video poster=p autoplay><source src=v>", f'poster="{PLACE}im_/http://a.test/dir/p" controls="" preload'),
        ("<video><source src=v><source src=w>x", f'<source src="{PLACE}oe_/http://a.test/dir/w">'),
        ("<audio src=s>", f'<audio src="{PLACE}oe_/http://a.test/dir/s"'),
        ("<iframe src=f>x", f'<iframe src="{PLACE}if_/http://a.test/dir/f" sandbox="allow-same-origin"></iframe>'),
        ("<frameset><frame src=f></frameset>", f'<frame src="{PLACE}if_/http://a.test/dir/f"'),
        ("<iframe srcdoc='<a href=g onclick=h>'>", f"href=&quot;{PLACE}if_/http://a.test/dir/g&quot;"),
        ("<form action=//e method=post><input type=image src=b>", f'src="{PLACE}im_/http://a.test/dir/b" disabled'),
        ("<form action=//e><button>Go", '<form autocomplete="off"><button disabled>Go'),
        ("<object data=d.html><p>x</object>", f'<iframe src="{PLACE}if_/http://a.test/dir/d.html"'),
        ("<object data=d.png>", f'<img src="{PLACE}im_/http://a.test/dir/d.png">'),
        ("<embed src=e.png>after", f'<img src="{PLACE}im_/http://a.test/dir/e.png">after'),
        ("<link rel=stylesheet href=s integrity=x>", f'<link rel="stylesheet" href="{PLACE}cs_/http://a.test/dir/s">'),
        ("<link rel='shortcut icon' href=i>", f'<link rel="icon" href="{PLACE}im_/http://a.test/dir/i">'),
        ("<noscript><p>Read</noscript>", "<p>Read</p>"),
        ("<style>a{b:url(x)}</style>", f'<style>a{{b:url("{PLACE}im_/http://a.test/dir/x")}}</style>'),
        ("<p style='background:u\\72l(x)'>", f'{PLACE}im_/http://a.test/dir/x'),
        ("<table background=t>", f'<table background="{PLACE}im_/http://a.test/dir/t">'),
        ("<svg><use xlink:href='s.svg#i'/></svg>", f'<use xlink:href="{PLACE}im_/http://a.test/dir/s.svg#i">'),
        ("<svg><rect fill='url(//e#i)'/></svg>", f"{PLACE}im_/http://e/#i"),
        ("<!DOCTYPE html><p>", "<!DOCTYPE html>\n"),
        (
            '<!doctype HTML public "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd"><p>',
            '<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">\n',
        ),
    ],
)  # fmt: skip
def test_what_a_page_leads_to_is_of_the_archive(html: str, holds: str) -> None:
    assert holds.replace("&quot;", '"') in rewritten(html).replace("&quot;", '"')


@pytest.mark.parametrize(
    "html",
    [
        "<script>EVIL</script>",
        "<p onclick=EVIL>",
        "<body onload=EVIL>",
        "<meta http-equiv=refresh content='0;url=http://EVIL/'>",
        "<meta http-equiv=Content-Security-Policy content=EVIL>",
        "<base href=http://EVIL/>",
        *(
            f"<link rel={each} href=//EVIL/>"
            for each in ("preload", "prefetch", "preconnect", "dns-prefetch", "manifest")
        ),
        "<template><p>EVIL</template>",
        "<div><template shadowrootmode=open><script>EVIL</script><p onclick=EVIL></template></div>",
        "<svg><set attributeName=href to='http://EVIL'/></svg>",
        "<!-- EVIL -->",
        "<?php EVIL ?>",
        "<form action='http://EVIL/'>",
        "<applet code=EVIL></applet>",
        "<a ping=http://EVIL href=x>",
        "<p nonce=EVIL>",
    ],
)
def test_what_would_act_is_left_out(html: str) -> None:
    assert "EVIL" not in rewritten(f"<p>Before</p>{html}<p>Behind</p>")
    assert "Behind" in rewritten(f"<p>Before</p>{html}<p>Behind</p>")


def test_a_page_that_scripts_would_make_visible_is_seen() -> None:
    html = rewritten("<style id=antiClickjack>body{display:none!important}</style><body style='opacity:0'><p>x")
    assert "display:none" not in html
    assert '<body style="opacity:0;visibility:visible!important;opacity:1!important">' in html


def test_links_within_frames_stay_in_the_frame() -> None:
    assert f'href="{PLACE}if_/' in rewritten("<a href=x target=_top>", Modifier.FRAME)
    assert f'href="{PLACE}ol_/' in rewritten("<a href=x>", Modifier.BOTH)


URLS = r"""http://evil.test/ //evil.test/x javascript:alert(1) data:text/html,<script> relative /rooted HTTPS://evil.test\@b
    vbscript:x file:///etc/passwd blob:x about:blank ftp://e http://[::1]/ http://169.254.169.254/ mailto:a@b ?a
    java&#10;script:x &#104;ttp://evil.test/ url(//evil.test/)""".split()  # noqa: SIM905
TAGS = """a img iframe form object embed video source track base body table td area button script svg svg><image svg><a
    svg><use math math><mi html frame blockquote q ins portal head title noscript textarea style xmp plaintext select
    svg><style a/ IMG x-y svg><foreignObject><img image frameset noembed noframes listing bgsound applet""".split()  # noqa: SIM905
LONGER_TAGS = (
    *("link rel=stylesheet", "input type=image", "meta http-equiv=refresh", "template shadowrootmode=open"),
    *("a\x00b", "math><annotation-xml encoding=text/html><a"),
)
ENDS = "text </p> </style> <!-- --> </title> <![CDATA[ ]]> </noscript> </svg> </a> </form>".split()  # noqa: SIM905


def test_urls_are_those_that_the_crawl_finds_on_a_page_in_another_encoding() -> None:
    markup = (
        "<a href='?\u0451'>x</a><p style='background: url(?\u0451)'><iframe srcdoc='<base href=/b/><a href=c>x</a>'>"
    )
    head = Headers((("Content-Type", "text/html; charset=windows-1251"),))
    page = Page(URL, 200, head, markup.encode("windows-1251"), now())
    around = Surroundings(Address("test", MOMENT, Modifier.PAGE, URL), page.base_url)
    shown = rewrite_html(page.tree, page.text, around).markup().decode()
    assert f'href="{PLACE}mp_/{URL}?%B8"' in shown
    assert f"{PLACE}im_/{URL}?%D1%91" in shown
    assert f"{PLACE}if_/http://a.test/b/c" in shown


NAMES = (*URL_ATTRIBUTES, "style", "onerror", "srcdoc", "fill", 'x"y', "a<b")
elements = st.builds(
    lambda tag, names, url, quote, text: f"<{tag} {' '.join(f'{name}={quote}{url}{quote}' for name in names)}>{text}",
    st.sampled_from((*TAGS, *LONGER_TAGS)),
    st.lists(st.sampled_from(NAMES), max_size=4),
    st.sampled_from((*URLS, "", " ", "\x01javascript:x")),
    st.sampled_from(['"', "'", "", "`"]),
    st.sampled_from((*ENDS, "")),
)


@given(st.lists(elements, max_size=6).map("".join))
def test_no_attribute_leaves_the_archive_however_hostile_the_page(html: str) -> None:
    for name, value in _attributes(rewritten(html)):
        assert not name.startswith("on"), html
        if name == "srcdoc":
            continue
        each = [value] if name in URL_ATTRIBUTES else re.findall(r"""url\(\s*["']?([^"')]*)""", value)
        assert all(not url or url.startswith(("#", "/test/", "data:image/")) for url in each), (name, value, html)


def _attributes(html: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield all attributes as a browser reads them: by a parser of the HTML standard, which is another one."""
    tree = HTMLTree.parse(html)
    assert tree.document is not None
    for node in tree.document.query_selector_all("*"):
        assert node.tag not in ("script", "base", "template"), html
        for name in node.attrs:
            yield name.lower(), node[name]
            if name == "srcdoc" and depth < 4:
                yield from _attributes(node[name], depth + 1)
