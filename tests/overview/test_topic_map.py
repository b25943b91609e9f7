"""A map of topics: areas by size, those that share terms together."""

import re
from itertools import pairwise

import pytest
from lxml import etree

from aahcrawler.overview.spoken_pictures import MAX_TOPICS, TopicArea, topic_map
from aahcrawler.report.chart import WIDTH

Box = tuple[float, float, float, float]


def area(label: str, weight: int, *terms: str) -> TopicArea:
    return TopicArea(label, weight, terms, f"/of/{label}")


def boxes(drawn: str, kind: str = "area") -> list[Box]:
    found = re.findall(rf'class="{kind}" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', drawn)
    return [(float(x), float(y), float(width), float(height)) for x, y, width, height in found]


def test_areas_are_by_size_and_fill_the_map_without_overlap() -> None:
    weights = [40, 25, 12, 9, 9, 3, 1]
    drawn = topic_map("Topics", [area(f"t{n}", weight, f"w{n}") for n, weight in enumerate(weights)])
    found = boxes(drawn)
    whole = sum(width * height for _, _, width, height in found)
    shares = sorted((width * height / whole for _, _, width, height in found), reverse=True)
    assert shares == pytest.approx([weight / sum(weights) for weight in weights], abs=0.003)
    assert whole == pytest.approx(WIDTH * max(y + height for _, y, _, height in found), rel=0.003)
    for one in found:
        for other in found:
            assert one == other or not overlap(one, other)


def overlap(one: Box, other: Box) -> bool:
    sides = ((one[at] + 0.2 < other[at] + other[at + 2], other[at] + 0.2 < one[at] + one[at + 2]) for at in (0, 1))
    return all(all(each) for each in sides)


def test_topics_that_share_terms_lie_in_one_rectangle() -> None:
    topics = [
        area("dikes", 10, "dike", "water", "surge"),
        area("mills", 30, "mill", "flour"),
        area("floods", 12, "flood", "water", "surge"),
        area("law", 20, "court", "judge"),
        area("pumps", 5, "pump", "water", "surge"),
    ]
    drawn = topic_map("Topics", topics)
    (family,) = boxes(drawn, "family")
    by_name = dict(zip(re.findall(r'href="/of/(\w+)"', drawn), boxes(drawn), strict=True))
    inside = {
        name
        for name, (x, y, width, height) in by_name.items()
        if x >= family[0] - 2
        and y >= family[1] - 2
        and x + width <= family[0] + family[2] + 2
        and y + height <= family[1] + family[3] + 2
    }
    assert inside == {"dikes", "floods", "pumps"}


def test_names_are_escaped_and_the_map_is_the_same_each_time() -> None:
    topics = [area("<b>&", 5, "x"), area("a" * 400, 5, "x"), area("", 1), area("none", 0, "x")]
    drawn = topic_map('T"<', topics)
    etree.fromstring(drawn)
    assert "none" not in drawn
    assert topic_map('T"<', topics) == drawn
    assert topic_map("T", []) == ""


def test_no_more_than_so_many_topics_are_drawn() -> None:
    drawn = topic_map("T", [area(f"t{n}", 300 - n, f"w{n % 7}", "same") for n in range(200)])
    found = boxes(drawn)
    assert len(found) == MAX_TOPICS
    assert all(one != other for one, other in pairwise(sorted(found)))
