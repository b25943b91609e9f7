"""What is remembered of records by the part of a site that shows them."""

from aahcrawler.helper.site_memory import SiteRecords
from aahcrawler.page.record_shape import RecordShape, TrailStep

SHAPE = RecordShape((TrailStep("div", frozenset({"entry"})),), ())


def test_a_shape_that_more_pages_list_than_show_is_none_of_posts() -> None:
    records = SiteRecords(10)
    for number in range(2):
        records.learn(f"http://a.test/log/{number}", (SHAPE,))
    assert records.of("http://a.test/log/9") == (SHAPE,)
    for number in range(2, 4):
        records.learn(f"http://a.test/log/{number}", (), (SHAPE,))
    assert records.of("http://a.test/log/9") == ()


def test_an_object_keeps_the_title_of_another_page() -> None:
    records = SiteRecords(10)
    assert records.titled("http://a.test/msg7", "") == ""
    assert records.titled("http://a.test/msg7", "Ferry") == "Ferry"
    assert records.titled("http://a.test/msg7", "") == "Ferry"
