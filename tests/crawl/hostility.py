"""Answers that mean no good, or that were never thought about."""

import zlib

from tests.crawl.site import Answer, Reply, html, links

HTML = {"Content-Type": "text/html; charset=utf-8"}
MEBIBYTE = 1 << 20
LARGE = 16 * MEBIBYTE


def page_with(link: str, before: bytes = b"", after: bytes = b"") -> bytes:
    """Return markup with one link between other bytes."""
    return before + f'<p><a href="{link}">flood</a></p>'.encode() + after


def gzip_bomb(megabytes: int) -> bytes:
    """Return what expands to a page and so many MiB of blanks; a thousandth of it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    start = packer.compress(page_with("/found")) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b" " * MEBIBYTE) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + block * megabytes


def coded(body: bytes, coding: str) -> Reply:
    """Return a page in a content coding."""
    return Reply(body, headers={**HTML, "Content-Encoding": coding})


def raw(*pieces: bytes) -> Reply:
    """Return an answer that is nothing but these bytes."""
    return Reply(raw=lambda: pieces)


def in_encoding(encoding: str, content_type: str, declared: str = "") -> Reply:
    """Return a page in an encoding, declared in its header, its head, both or neither."""
    meta = f'<meta charset="{declared}">' if declared else ""
    markup = f'<html><head>{meta}<title>Überschwemmung</title></head><body><a href="/übung">Ü</a></body></html>'
    return Reply(markup.encode(encoding), headers={"Content-Type": content_type})


ENCODINGS: dict[str, Reply] = {
    "wrong-meta": in_encoding("utf-8", "text/html; charset=utf-8", "iso-8859-1"),
    "wrong-header": in_encoding("utf-8", "text/html; charset=klingon", "utf-8"),
    "meta-only": in_encoding("windows-1252", "text/html", "windows-1252"),
    "utf16": in_encoding("utf-16", "text/html; charset=iso-8859-1"),
    "utf16-no-bom": in_encoding("utf-16-le", "text/html; charset=utf-16le"),
    "undeclared": in_encoding("utf-8", "text/html"),
}
"""Pages whose link is ``/übung`` however they say so."""

MARKUP: dict[str, Reply] = {
    "nul": Reply(page_with("/found", b"\0\0<p>a\0b</p>\0", b"\0" * 1000)),
    "malformed": Reply(page_with("/found", b"<html></p><div <b><!-- x --!><a <table></i></p></html", b"<a href='/x")),
    "nested": Reply(page_with("/found", after=b"<div>" * 100_000)),
    "attributes": Reply(page_with("/found", after=b"<p " + b"".join(b"a%d=1 " % i for i in range(50_000)) + b">")),
    "entities": Reply(page_with("/found", after=b"&" * 500_000 + b"&#99999999;&#xD800;" * 1000)),
    "doctype": Reply(page_with("/found", b'<!DOCTYPE html [<!ENTITY a "b"><!ENTITY c "&a;&a;">]>')),
    "unclosed": Reply(page_with("/found", after=b"<table><tr><td><b>" * 20_000)),
    "comment": Reply(page_with("/found", after=b"<!--" * 50_000)),
    "long-link": Reply(page_with("/found", f'<a href="/{"x" * 4_000_000}">long</a>'.encode())),
    "json-ld": Reply(page_with("/found", b'<script type="application/ld+json">' + b'{"a":' * 100_000 + b"</script>")),
    "strange-coding": coded(page_with("/found"), "x-strange, klingon"),
    "plain-as-gzip": coded(page_with("/found"), "gzip"),
    "cut-gzip": coded(zlib.compress(page_with("/found") + b"<p>more</p>" * 1000, wbits=31)[:-20], "gzip"),
    "many-codings": coded(page_with("/nothing"), ", ".join(["gzip"] * 50)),
}
"""Pages that hold a link to ``/found`` among much that is wrong; those with ``/nothing`` are not read at all."""

ODD_LINKS: dict[str, str] = {
    "/wiki/page;": "/wiki/page;",
    "/a;b=c;?x=1;": "/a;b=c;?x=1;",
    "/br[acket]": "/br[acket]",
    "/pi|pe": "/pi|pe",
    "/sp ace": "/sp%20ace",
    "/ünder": "/%C3%BCnder",
    "/q?w=ü b": "/q?w=%C3%BC%20b",
    "/100%": "/100%",
    "/%7Euser/%41%zz": "/%7Euser/%41%zz",
    "/a/../up/./here": "/up/here",
    "/back\\slash": "/back/slash",
    "  /tab\tbed\n ": "/tabbed",
    "/it's<so>&quot;": "/it's%3Cso%3E%22",
    "/q?a=b|c[]&d='e'": "/q?a=b|c[]&d=%27e%27",
    "/empty?": "/empty?",
    "/double//slash//": "/double//slash//",
    "/caf%C3%A9": "/caf%C3%A9",
    "/hash#frag": "/hash",
    "/plus+and%20blank": "/plus+and%20blank",
}
"""What stands in a link, and what a browser asks the server for."""

NOT_HTTP = ("data:text/html,<a href=/x>", "javascript:go('/js')", "mailto:a@b.test", "tel:+123", "ftp://ftp.test/x")


def odd_pages() -> dict[str, Reply]:
    """Return a page with all odd links, and an empty page for each."""
    front = html("Odd", "".join(f'<p><a href="{href}">x</a></p>' for href in (*ODD_LINKS, *NOT_HTTP)))
    return {"/": front, **dict.fromkeys(ODD_LINKS.values(), html("Here"))}


FAULTS: dict[str, tuple[Reply, str]] = {
    "closes": (raw(), "disconnect"),
    "half-a-head": (raw(b"HTTP/1.1 200 OK\r\nContent-Ty"), "disconnect"),
    "no-http": (raw(b"220 mail.test ready\r\n"), "protocol"),
    "header-bomb": (raw(b"HTTP/1.1 200 OK\r\n", *[b"X-Header: " + b"y" * 8000 + b"\r\n"] * 100), "headers"),
    "header-swarm": (raw(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n" * 12_000 + b"\r\n"), "headers"),
}
"""Answers that are none, and the reason that is counted."""


BODILESS: dict[str, Reply] = {
    "no-content": Reply(b"", 204, HTML),
    "not-modified": Reply(b"", 304, HTML),
    "empty": Reply(b"", 200, HTML),
    "teapot": Reply(b"<a href=/found>x</a>", 418, HTML),
    "no-type": raw(b"HTTP/1.0 200\r\n\r\n", page_with("/", b"<html>")),
}
"""Answers without a page that anything could be learnt from, but well-formed ones."""


def front(host: str, reply: Reply) -> dict[str, Answer]:
    """Return the pages of a host whose front page is the reply."""
    return {f"//{host}.test/": reply, f"//{host}.test/found": html("Found", links("/"))}
