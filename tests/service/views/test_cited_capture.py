"""What a reader takes along of a capture."""

from aahcrawler.objects.capture_statements import ObjectRow
from aahcrawler.service.views.cited_capture import MAX_TEXT, as_text
from aahcrawler.service.views.page_list import PageShown

PAGE = PageShown.model_construct(title="Flood", url="http://a.test/", fetched_at="2026-03-01", record="urn:uuid:1")


def _text(body: str) -> str:
    return as_text(PAGE, "flood", [ObjectRow("http://a.test/", "post", None, "Ann", None, body, None, "urn:a")])


def test_a_text_that_is_cut_says_so() -> None:
    assert _text("The dike broke.").endswith("post · Ann\n\nThe dike broke.\n")
    assert _text("a" * MAX_TEXT).endswith("Cut here: the archive has the rest.\n")
