"""Mutations of responses: of their markup, bytes, heads and codings; the same seed makes the same ones."""

import gzip
import random
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

Fields = tuple[tuple[str, str], ...]

_TAG = re.compile(rb"</?[a-zA-Z][^<>]{0,2000}>")
_NAME = re.compile(rb"(?<=<)/?[a-zA-Z][\w:-]*")
_VALUE = re.compile(rb"=\s*(?:\"[^\"]{0,500}\"|'[^']{0,500}')")
_NAMES = (
    b"p div span a b td tr table li ul h1 h2 article time form input o:p v:shape fb:like a:b:c script style".split()
)
_NAMES += [b"template", b"svg", b"math", b"option", b"select", b"button", b"frameset", b"noscript", b"title", b"head"]
_NAMES += [b'a"b', b"1x", b"x::", b"p\x01q", b"textarea", b"plaintext", b"body", b"html", b"ruby", b"details", b"base"]
_ENTITIES = (b"&amp;", b"&#0;", b"&#xd800;", b"&#1114112;", b"&#1;", b"&nbsp", b"&eacute;", b"&notanentity;", b"&#x80;")
_BYTES = (b"\x00", b"\x01", b"\x1b$B", b"\xff\xfe", b"\xed\xa0\x80", b"\xef\xbf\xbf", b"\xc3", b"\xe2\x80\xae", b"\x0c")
_VALUES: tuple[bytes, ...] = (
    b"",
    b"javascript:0",
    b"http://[",
    b"//",
    b"?",
    b"#",
    b"http://a.test:99999/",
    b"\x01",
    b"2021-99-99",
    b"0",
)
_VALUES += (b"data:text/html,<p>", b"x" * 5_000, b"../" * 500, b"1e999", b"%zz", b"http://\xc3\xa9.test/", b"00:00:61")
_LONG = 20_000
_CHARSETS: tuple[str, ...] = (
    "utf-8",
    "utf-16",
    "utf-16le",
    "shift_jis",
    "iso-2022-jp",
    "gb18030",
    "utf-7",
    "x-user-defined",
    "koi8-r",
)
_CHARSETS += (
    "utf-8; charset=latin1",
    "",
    "\x01",
    "replacement",
    "hz-gb-2312",
    "cp037",
    "unicode_escape",
    "idna",
    "rot13",
)
_TYPES: tuple[str, ...] = (
    "text/html",
    "application/xhtml+xml",
    "text/plain",
    "application/json",
    "application/xml",
    "text/css",
    "",
)
_TYPES += ("application/rss+xml", "application/pdf", "text/html, application/json", "*/*", "text/xml", "image/png", "x")
_STATUSES = (200, 200, 200, 200, 201, 204, 301, 404, 500)


@dataclass(frozen=True, slots=True)
class Response:
    """A response as a server sends it: its body is coded as its head says, or in another way."""

    url: str
    status: int
    fields: Fields
    body: bytes


def mutated(response: Response, chance: random.Random, others: Sequence[bytes]) -> tuple[Response, tuple[str, ...]]:
    """Return a response after some mutations, and their names; parts of the bodies ``others`` may be inserted."""
    names = [chance.choice(tuple(MUTATIONS)) for _ in range(chance.choice((1, 1, 2, 3, 5)))]
    body = response.body
    for name in names:
        body = MUTATIONS[name](body, chance, others)
    return _headed(replace(response, body=body), chance), tuple(names)


def _headed(response: Response, chance: random.Random) -> Response:
    """Return a response, often with another head that need not be true."""
    if chance.random() < 0.6:
        return response
    kind, charset = chance.choice(_TYPES), chance.choice(_CHARSETS)
    fields: list[tuple[str, str]] = [("Content-Type", f"{kind}; charset={charset}" if charset else kind)]
    body = response.body
    coding = chance.choice(tuple(_CODINGS))
    if chance.random() < 0.5:
        body = _CODINGS[coding](body)
        fields.append(("Content-Encoding", coding))
    if chance.random() < 0.2:
        body = _cut(body, chance, ())
    more = (("Link", "<\x01>; rel=next"), ("X-Robots-Tag", "a: b, nofollow"), ("Content-Language", "\x02"), ("", ""))
    fields += chance.sample(more, chance.randrange(3))
    return replace(response, status=chance.choice(_STATUSES), fields=tuple(fields), body=body)


_CODINGS: Mapping[str, Callable[[bytes], bytes]] = {
    "gzip": lambda body: gzip.compress(body, 1, mtime=0),
    "deflate": lambda body: zlib.compress(body, 1),
    "br": lambda body: body,
    "gzip, gzip": lambda body: gzip.compress(gzip.compress(body, 1, mtime=0), 1, mtime=0),
    "x-unknown": lambda body: body,
    "gzip, deflate": lambda body: zlib.compress(gzip.compress(body, 1, mtime=0), 1),
}


def _place(body: bytes, chance: random.Random) -> int:
    return chance.randrange(len(body) + 1)


def _stretch(body: bytes, chance: random.Random, most: int = 4_000) -> slice:
    first = _place(body, chance)
    return slice(first, first + chance.randrange(1, most))


def _inserted(body: bytes, at: int, part: bytes) -> bytes:
    return body[:at] + part + body[at:]


def _of_tags(body: bytes, chance: random.Random, pattern: re.Pattern[bytes], change: Callable[[bytes], bytes]) -> bytes:
    """Change some of the matches of a pattern after a random place."""
    at = _place(body, chance)
    return body[:at] + pattern.sub(lambda found: change(found[0]), body[at:], chance.choice((1, 3, 50)))


def _renamed(body: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    name = chance.choice(_NAMES)
    return _of_tags(body, chance, _NAME, lambda found: b"/" + name if found.startswith(b"/") else name)


def _untagged(body: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    return _of_tags(body, chance, _TAG, lambda _: b"")


def _valued(body: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    value = chance.choice(_VALUES)
    return _of_tags(body, chance, _VALUE, lambda _: b"='" + value + b"'")


def _attributed(body: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    name = chance.choice(
        (b"o:href", b'a"', b"class", b"id", b"itemprop", b"itemscope itemtype=x", b"style", b"\x02", b"<")
    )
    name += b"='" + chance.choice(_VALUES) + b"'"
    return _of_tags(body, chance, _NAME, lambda found: found if found.startswith(b"/") else found + b" " + name)


def _cut(body: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    return body[: _place(body, chance)]


def _repeated(body: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    part = _stretch(body, chance)
    times = min(chance.choice((2, 20, 500)), 500_000 // max(1, len(body[part])))
    return _inserted(body, part.start, body[part] * times)


def _nested(body: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    name = chance.choice(_NAMES)
    depth = chance.choice((5, 100, 3_000, _LONG))
    return _inserted(body, _place(body, chance), b"".join((b"<", name, b">")) * depth)


def _spliced(body: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    other = chance.choice(others) if others else body
    return _inserted(body, _place(body, chance), other[_stretch(other, chance, 20_000)])


def _moved(body: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    part = _stretch(body, chance)
    left = body[: part.start] + body[part.stop :]
    return _inserted(left, _place(left, chance), body[part])


def _flipped(body: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    changed = bytearray(body)
    for _number in range(min(len(changed), chance.choice((1, 10, 200)))):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _sprinkled(body: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    part = chance.choice(
        (*_ENTITIES, *_BYTES, b"<", b">", b"'", b'"', b"<!--", b"-->", b"<![CDATA[", b"<?xml", b"</body>")
    )
    for _number in range(chance.choice((1, 10, 100))):
        body = _inserted(body, _place(body, chance), part)
    return body


def _flooded(body: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    name = chance.choice((b"class", b"id", b"href", b"style", b"srcset", b"title", b"content", b"datetime"))
    part = chance.choice((b"w", b"a b ", b"/a", b"url(a) ", b"2021-03-02 ", b"&amp;", b"1:"))
    return _inserted(body, _place(body, chance), b"<p " + name + b"='" + part * _LONG + b"'>")


def _declared(body: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    parts: tuple[bytes, ...] = (
        b'{"@type":"Article","author":[[[{"name":{"@value":[]}}]]],"datePublished":{}}',
        b'{"@graph":[null,1,[],{}]}',
    )
    parts += (
        b'{"@type":["Comment",null],"@id":"a","text":["<b>",{"@id":"a"}]}',
        b'{"@type":"Article","articleBody":1e999}',
    )
    script = b'<script type="application/ld+json">' + chance.choice(parts) + b"</script>"
    return _inserted(body, _place(body, chance), script)


def _recoded(body: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    return body.decode("utf-8", "replace").encode(
        chance.choice(("utf-16", "utf-16le", "shift_jis", "cp1251")), "replace"
    )


MUTATIONS: Mapping[str, Callable[[bytes, random.Random, Sequence[bytes]], bytes]] = {
    "tags renamed": _renamed,
    "tags left out": _untagged,
    "values exchanged": _valued,
    "attributes added": _attributed,
    "cut": _cut,
    "repeated": _repeated,
    "nested": _nested,
    "spliced": _spliced,
    "moved": _moved,
    "bytes flipped": _flipped,
    "sprinkled": _sprinkled,
    "flooded": _flooded,
    "declared": _declared,
    "recoded": _recoded,
}
