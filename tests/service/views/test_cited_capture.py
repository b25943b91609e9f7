"""What a reader takes along of a capture."""

from urllib.parse import parse_qs, urlsplit

import pytest

from aahcrawler.annotations import Annotation, Kind
from aahcrawler.annotations.annotation_settings import AnnotationSettings
from aahcrawler.objects.capture_statements import ObjectRow
from aahcrawler.service.views.cited_capture import MAX_NAMED, MAX_TEXT, as_text, mail_address, names_of
from aahcrawler.service.views.page_list import PageShown

PAGE = PageShown.model_construct(title="Flood", url="http://a.test/", fetched_at="2026-03-01", record="urn:uuid:1")
LINK = "http://archive.test/capture"


def _text(body: str) -> str:
    return as_text(PAGE, "flood", [ObjectRow("http://a.test/", "post", None, "Ann", None, body, None, "urn:a")])


def _mail(passage: str, title: str = "Flood") -> dict[str, list[str]]:
    address = mail_address(PAGE.model_copy(update={"title": title}), "flood", passage, LINK)
    assert len(address) < 2_200
    assert address.isascii()
    parts = urlsplit(address)
    assert (parts.scheme, parts.path, parts.fragment) == ("mailto", "", "")
    return parse_qs(parts.query)


def test_a_text_that_is_cut_says_so() -> None:
    assert _text("The dike broke.").endswith("post · Ann\n\nThe dike broke.\n")
    assert _text("a" * MAX_TEXT).endswith("Cut here: the archive has the rest.\n")


def test_a_mail_has_the_passage_the_citation_and_the_address() -> None:
    mail = _mail("The dike\n broke.")
    assert mail["subject"] == ["Flood"]
    assert mail["body"][0].split("\r\n\r\n") == [
        "“The dike broke.”",
        "Flood. http://a.test/ (captured 2026-03-01, archive flood, record urn:uuid:1)",
        LINK,
    ]


@pytest.mark.parametrize(
    "written", ["x&bcc=evil@a.test", "x\r\nBcc: evil@a.test", "x?cc=evil@a.test#", "\ud800 alone", "\x00\u202e"]
)
def test_a_page_adds_no_recipient_to_a_mail(written: str) -> None:
    mail = _mail(written, title=written)
    assert mail.keys() == {"subject", "body"}
    assert "\n" not in mail["subject"][0]


@pytest.mark.parametrize("passage", ["dike " * 100_000, "堤" * 100_000, "\U0001f30a " * 100_000, "é" * 100_000])
def test_a_long_passage_is_cut_in_whatever_script(passage: str) -> None:
    quoted = _mail(passage, title=passage[:5000])["body"][0].split("\r\n\r\n")[0]
    assert quoted.startswith(f"“{passage[:20].rstrip()}")
    assert quoted.endswith(" …”")


def test_few_of_many_names_are_shown_beside_a_capture_and_nobody_who_is_not_shown() -> None:
    said = [
        Annotation("urn:o", "urn:c", kind, f"<b>{number}</b>", "entities", "1", 0.5, quote="x")
        for kind in (Kind.PERSON, Kind.PLACE, Kind.KEYWORD)
        for number in range(1000)
    ]
    found = names_of(said, AnnotationSettings())
    assert found.keys() == {Kind.PLACE}
    assert len(found[Kind.PLACE]) == MAX_NAMED
