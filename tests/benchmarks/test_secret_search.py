"""A secret is found however it is written and packed, and nothing else is."""

import gzip
import io
import json
import sqlite3
import zipfile
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from html import escape
from pathlib import Path
from urllib.parse import quote, quote_plus, urlencode

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.secret_search import contents, holding

SECRET = "pass & word/é+<9>?~"  # noqa: S105 - of a test
SPELLED: tuple[Callable[[str], str], ...] = (
    str,
    quote,
    quote_plus,
    lambda secret: quote(secret, safe=""),
    lambda secret: quote(secret, safe="").lower(),
    lambda secret: urlencode({"user": "me", "word": secret}),
    escape,
    lambda secret: json.dumps({"word": secret}),
    lambda secret: secret.encode().hex(),
    lambda secret: "".join(
        f"&#{ord(sign)};" if not sign.isalnum() and sign != " " else sign for sign in secret
    ).replace("é", "&#233;"),
)


def held(data: bytes) -> bool:
    return bool(holding({"a": data}, [SECRET]))


@pytest.mark.parametrize("spelled", SPELLED)
def test_secrets_are_found_in_each_spelling(spelled: Callable[[str], str]) -> None:
    assert held(f"before {spelled(SECRET)} after".encode())
    assert not held(f"before {spelled(SECRET[:-4])} after".encode())


@given(before=st.binary(max_size=7), after=st.binary(max_size=7))
def test_secrets_are_found_in_base64_wherever_they_begin(before: bytes, after: bytes) -> None:
    whole = before + SECRET.encode() + after
    assert held(b"Basic " + b64encode(whole))
    assert held(urlsafe_b64encode(whole))


def warc(body: bytes, *fields: bytes) -> bytes:
    """Return an archive of two answers, each packed by itself, as crawlers write it."""
    fields_of_all = b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\n"
    head = fields_of_all + b"Content-Type: application/http\r\nContent-Length: %d\r\n\r\n"
    answers = (b"HTTP/1.1 200 OK\r\n\r\nnothing", b"\r\n".join((b"HTTP/1.1 200 OK", *fields, b"", body)))
    return b"".join(gzip.compress(head % len(answer) + answer + b"\r\n\r\n") for answer in answers)


def packed_in_zip(data: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("archive/a", data)
    return target.getvalue()


def in_database(data: bytes) -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE notes (note)")
    connection.execute("INSERT INTO notes VALUES (?)", (b"x" * 4040 + data + b"x" * 9000,))
    connection.commit()
    stored = connection.serialize()
    connection.close()
    return stored


PACKED: tuple[Callable[[bytes], bytes], ...] = (
    gzip.compress,
    lambda data: gzip.compress(b"first") + gzip.compress(data),
    zstandard.compress,
    packed_in_zip,
    in_database,
    warc,
    lambda data: warc(gzip.compress(data), b"Content-Encoding: gzip"),
    lambda data: warc(brotli.compress(data), b"Content-Encoding: br"),
    lambda data: warc(gzip.compress(data)),
    lambda data: packed_in_zip(warc(gzip.compress(data), b"Content-Encoding: gzip")),
)


@pytest.mark.parametrize("packed", PACKED)
def test_secrets_are_found_in_what_is_packed(packed: Callable[[bytes], bytes]) -> None:
    assert held(packed(f"<p>{SECRET}</p>".encode()))
    assert not held(packed(b"<p>pass and word</p>"))


def test_what_cannot_be_opened_is_no_place_without_secrets() -> None:
    with pytest.raises(ValueError, match="cannot be searched"):
        held(gzip.compress(SECRET.encode())[:-12])


def test_all_files_of_a_folder_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / ".hidden").write_text(f"word={quote_plus(SECRET)}")
    (tmp_path / "plain").write_text("word")
    assert holding(contents(tmp_path), ["another", SECRET]) == {"deep/er/.hidden"}
