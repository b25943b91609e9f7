"""Pages of one shape at any size, for each kind of element, attribute, nesting and text; how reading them grows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice, pairwise
from math import log

from benchmarks.hostile.fuzzing import Taken, apart
from benchmarks.hostile.mutations import Response
from benchmarks.results import Row

Part = Callable[[int], str]
"""Returns the part of a page with a number."""

HEAD = "<html lang=en><head><title>The harbour</title>"
WORDS = "the harbour was closed on Tuesday and nobody knew when it would be opened again"


def _text(number: int) -> str:
    return f"{WORDS}, {number}. "


BESIDE: Mapping[str, Part] = {
    "links beside one another": lambda n: f"<a href=z{n}>word</a>",
    "links to one place": lambda n: f"<a href=z>word {n}</a> ",
    "links with dates": lambda n: f"<a href=z{n}>word</a> 2021-03-{n % 28 + 1:02d} ",
    "links in paragraphs": lambda n: f"<p><a href=/a/{n}>A headline of several words {n}</a></p>",
    "links in list items": lambda n: f"<li><a href=/a/{n}>A headline of several words {n}</a></li>",
    "links of profiles": lambda n: f"<a href=/user/{n}>ann{n}</a> ",
    "paragraphs": lambda n: f"<p>{_text(n)}",
    "short paragraphs": lambda n: f"<p>w{n}</p>",
    "divisions": lambda n: f"<div>{_text(n)}</div>",
    "divisions with classes": lambda n: f"<div class='post c{n}' id=p{n}>{_text(n)}</div>",
    "empty divisions": lambda _: "<div></div>",
    "spans": lambda n: f"<span>w{n}</span> ",
    "bold words": lambda n: f"<b>w{n}</b>",
    "line breaks": lambda n: f"{_text(n)}<br>",
    "bare line breaks": lambda _: "<br>",
    "headings": lambda n: f"<h2>Heading {n}</h2>",
    "headings with text": lambda n: f"<h2>Heading {n}</h2><p>{_text(n)}</p>",
    "quotes": lambda n: f"<blockquote>{_text(n)}</blockquote>",
    "preformatted": lambda n: f"<pre>line {n}\nline</pre>",
    "times": lambda n: f"<time datetime=2021-03-{n % 28 + 1:02d}>{n}</time> ",
    "texts with dates": lambda n: f"<p>{n % 28 + 1} March 2021, 12:{n % 60:02d}: {WORDS}</p>",
    "dates beside one another": lambda n: f"<span>2021-03-{n % 28 + 1:02d} 12:{n % 60:02d}</span> ",
    "images": lambda n: f"<img src=/i/{n}.png alt='picture {n}'>",
    "images with sets": lambda n: f"<img srcset='/i/{n}.png 1x, /i/{n}b.png 2x' src=/i/{n}.png>",
    "options": lambda n: f"<option value={n}>w{n}</option>",
    "inputs": lambda n: f"<input name=n{n} value=v>",
    "forms": lambda n: f"<form action=/f{n}><input name=q></form>",
    "buttons": lambda n: f"<button>w{n}</button>",
    "iframes": lambda n: f"<iframe src=/f/{n}></iframe>",
    "scripts": lambda n: f"<script src=/s/{n}.js></script>",
    "inline scripts": lambda n: f"<script>var v{n} = '</b>';</script>",
    "styles": lambda n: f"<style>.c{n} {{background: url(/b/{n}.png)}}</style>",
    "style attributes": lambda n: f"<i style='background: url(/b/{n}.png)'>w</i>",
    "comments": lambda n: f"<!-- {n} -->",
    "entities": lambda _: "&amp;&eacute;&#8217; ",
    "rows": lambda n: f"<tr><td>w{n}</td><td>2021-03-{n % 28 + 1:02d}</td><td><a href=/r/{n}>{n}</a></td></tr>",
    "cells": lambda n: f"<td>w{n}</td>",
    "tables": lambda n: f"<table><tr><td>{_text(n)}</td></tr></table>",
    "posts": lambda n: (
        f"<div class=post id=p{n}><a class=author href=/user/{n}>ann{n}</a> <time>2021-03-{n % 28 + 1:02d}</time>"
        f"<div class=body>{_text(n)}</div><a href=/reply/{n}>Reply</a></div>"
    ),
    "entries": lambda n: (
        f"<article><h2><a href=/a/{n}>Headline {n}</a></h2><p>{_text(n)}</p><a href=/t/{n} rel=tag>t</a></article>"
    ),
    "definitions": lambda n: f"<dt>w{n}<dd>{_text(n)}",
    "asides": lambda n: f"<aside>{_text(n)}<a href=/x/{n}>x</a></aside>",
    "navigation": lambda n: f"<nav><a href=/x/{n}>x</a></nav>",
    "figures": lambda n: f"<figure><img src=/i/{n}.png><figcaption>{_text(n)}</figcaption></figure>",
    "text areas": lambda n: f"<textarea>w{n}</textarea>",
    "templates": lambda _: "<template shadowrootmode=open><p>w</p></template>",
    "ruby": lambda _: "<ruby>w<rt>w</rt></ruby>",
    "vectors": lambda n: f"<svg><path d='M{n}'/><a xlink:href=/x/{n}>x</a></svg>",
    "odd names": lambda n: f"<o:p>w{n}</o:p>",
    "new names": lambda n: f"<x{n}>w</x{n}>",
    "new attributes": lambda n: f"<i a{n}=1>w</i>",
    "microdata": lambda n: (
        f"<div itemscope itemtype=http://schema.org/Comment><span itemprop=text>{_text(n)}</span>"
        f"<span itemprop=author>ann{n}</span></div>"
    ),
    "rdfa": lambda n: f"<div typeof=schema:Comment><span property=schema:text>{_text(n)}</span></div>",
    "microformats": lambda n: f"<div class=h-entry><p class=e-content>{_text(n)}</p><a class=p-author>a{n}</a></div>",
    "declared objects": lambda n: (
        f'<script type="application/ld+json">{{"@type":"Comment","text":"{_text(n)}","author":"ann{n}"}}</script>'
    ),
    "metas": lambda n: f"<meta name=n{n} content={n}>",
    "stylesheet links": lambda n: f"<link rel=stylesheet href=/s/{n}.css>",
    "alternates": lambda n: f"<link rel=alternate type=application/rss+xml href=/f/{n}>",
    "ends without beginnings": lambda _: "</p></div></b>",
    "hidden": lambda n: f"<div hidden><a href=/h/{n}>w</a></div>",
    "labels": lambda n: f"<p><b>Date:</b> {n}</p>",
}
"""Parts that follow one another."""

DEEP: Mapping[str, Part] = {
    "nested divisions": lambda n: f"<div>w{n}",
    "nested formatting": lambda n: f"<b><i>w{n}",
    "nested links": lambda n: f"<span><a href=z{n}>w",
    "nested lists": lambda n: f"<ul><li>w{n}",
    "nested tables": lambda n: f"<table><tr><td>w{n}",
    "nested quotes": lambda n: f"<blockquote>w{n} {WORDS}",
    "nested spans with classes": lambda n: f"<span class=c{n}>w",
    "open formatting in paragraphs": lambda n: f"<p><font color=red><b>w{n}",
    "nested microdata": lambda _: "<div itemscope itemtype=http://schema.org/Comment itemprop=comment>w",
    "nested items": lambda n: f"<div class=comment id=c{n}><a href=/user/{n}>a{n}</a> 2021-03-02 {_text(n)}",
    "nested fonts with text": lambda n: f"<font>{_text(n)}",
}
"""Parts each of which contains the next one."""


_DEPTH = 1_500
WITHIN: Mapping[str, tuple[str, str]] = {
    "links below nested formatting": ("<font>", "links beside one another"),
    "links below nested divisions": ("<div>", "links beside one another"),
    "links in list items below nested divisions": ("<div>", "links in list items"),
    "paragraphs below nested divisions": ("<div>", "paragraphs"),
    "posts below nested divisions": ("<div>", "posts"),
    "rows below nested formatting": ("<b>", "rows"),
    "times below nested formatting": ("<i>", "times"),
    "empty elements below nested links": ("<span><a href=z>w", "empty divisions"),
    "images below nested links": ("<span><a href=z>", "images"),
    "empty elements below nested articles": ("<article><h2><a href=z>w</a></h2>", "empty divisions"),
}
"""Parts that follow one another, below many nested parts of another kind."""


def _whole(part: str) -> Callable[[int], str]:
    return lambda size: part * (size // len(part))


ONCE: Mapping[str, Callable[[int], str]] = {
    "one long word": lambda size: "<p>" + "w" * size,
    "one long text": lambda size: "<p>" + _whole(WORDS + ". ")(size),
    "one long line of dates": lambda size: "<p>" + _whole("2021-03-02 12:00, ")(size),
    "one long number": lambda size: "<p>" + "1" * size,
    "one long number list": lambda size: "<p>" + _whole("12:")(size),
    "one long link text": lambda size: "<a href=z>" + _whole(WORDS)(size) + "</a>",
    "one long attribute": lambda size: "<p title='" + "w" * size + "'>w",
    "one long class": lambda size: "<p class='" + _numbered("c{} ")(size) + "'>w",
    "one long address": lambda size: "<a href='/" + "w/" * (size // 2) + "'>w</a>",
    "one long query": lambda size: "<a href='/?" + _numbered("a{}=1&")(size) + "'>w</a>",
    "one long style": lambda size: "<p style='" + _numbered("background: url(/b/{}.png);")(size) + "'>w",
    "one long set": lambda size: "<img srcset='" + _numbered("/i/{}.png 1x, ")(size) + "'>",
    "one long style sheet": lambda size: "<style>" + _numbered(".c{} {{background: url(b)}} ")(size) + "</style>",
    "one long script": lambda size: "<script>" + _numbered("var v{} = '<p>';")(size) + "</script>",
    "one long declaration": lambda size: (
        '<script type="application/ld+json">[' + _numbered('{{"@type":"Comment","text":"w{}"}},')(size) + "{}]</script>"
    ),
    "one deep declaration": lambda size: '<script type="application/ld+json">' + "[" * size + "</script>",
    "one long title": lambda size: "<title>" + _whole(WORDS)(size) + "</title>",
    "one long heading": lambda size: "<h1>" + _whole(WORDS)(size) + "</h1>",
    "one long meta": lambda size: "<meta name=description content='" + _whole(WORDS)(size) + "'>",
    "one long comment": lambda size: "<!--" + "-" * size + "-->",
    "many attributes": lambda size: "<p " + _numbered("a{}=1 ")(size) + ">w",
    "many lines": lambda size: "<pre>" + _numbered("w{}\n")(size) + "</pre>",
    "many short lines": lambda size: "<p>" + "w<br>" * (size // 5),
    "many short paragraphs": lambda size: "<p>w" * (size // 4),
    "many short comments": lambda size: "<!>w" * (size // 4),
    "open angles": lambda size: "<p>" + "<" * size,
    "ampersands": lambda size: "<p>" + "&" * size,
    "open quotes": lambda size: "<a href='" + "\"'" * (size // 2),
    "blanks": lambda size: "<p>" + " \n\t" * (size // 3),
    "signs": lambda size: "<p>" + ".,:;-()[]" * (size // 9),
    "many at signs": lambda size: "<p>" + "a@" * (size // 2),
    "marks of other scripts": lambda size: "<p>" + "\u3002\u65e5\u6708\u5e74" * (size // 12),
    "signs that join": lambda size: "<p>w" + "\u0301" * (size // 2),
}
"""Pages that contain one thing of any size."""


def _numbered(form: str) -> Callable[[int], str]:
    return lambda size: _filled(form.format, size)


def _filled(part: Part, size: int) -> str:
    most = size // max(1, len(part(0))) + 1
    return "".join(islice(map(part, count()), most))[:size]


def page_of(shape: str, size: int) -> bytes:
    """Return a page of a shape and about so many bytes."""
    if shape in ONCE:
        inner = ONCE[shape](size)
    elif shape in WITHIN:
        around, part = WITHIN[shape]
        inner = (around * _DEPTH)[: size // 2] + _filled(BESIDE[part], size // 2)
    else:
        inner = _filled({**BESIDE, **DEEP}[shape], size)
    return f"{HEAD}<body><h1>The harbour</h1>{inner}".encode()


SHAPES = (*BESIDE, *DEEP, *WITHIN, *ONCE)


SIZES = (100_000, 1_000_000, 10_000_000)
PATIENCE = 60.0
_FIELDS = (("Content-Type", "text/html; charset=utf-8"),)


def growth(shape: str, sizes: Sequence[int], read: Callable[[Response], Taken]) -> Row:
    """Return the seconds and MiB of a shape at some sizes; ``exponent`` is that of the last step, 1 for linear growth.

    After a page that took too long, larger ones are not tried.
    """
    row: dict[str, str | int | float | None] = {"shape": shape}
    took: list[float] = []
    failed: tuple[str, ...] = ()
    peak, ended = 0.0, False
    for size in sizes:
        name = f"s at {size / 1e6:g} MB"
        if ended:
            row[name] = None
            continue
        taken = apart(lambda size=size: read(_response(shape, size)), PATIENCE)  # type: ignore[misc]
        row[name] = round(taken.seconds, 2)
        took.append(taken.seconds)
        peak, ended, failed = max(peak, taken.peak_mib), taken.ended, failed or taken.failed
    steps = [log(max(after, 0.01) / max(before, 0.01)) for before, after in pairwise(took)]
    grown = [log(after / before) for before, after in pairwise(sizes)]
    row["exponent"] = round(steps[-1] / grown[len(steps) - 1], 2) if steps else None
    row["MiB"] = round(peak)
    row["failed"] = "; ".join(failed)[:80]
    return row


def rows(shapes: Sequence[str], sizes: Sequence[int], read: Callable[[Response], Taken]) -> Iterator[Row]:
    """Yield the row of each shape."""
    for shape in shapes:
        yield growth(shape, sizes, read)


def _response(shape: str, size: int) -> Response:
    return Response("http://a.test/x/1.html", 200, _FIELDS, page_of(shape, size))
