"""The amount of content within records that lie within one another."""

from lxml.html import document_fromstring

from aahcrawler.induction.outline import Outline
from aahcrawler.induction.record_bodies import Content, RecordPart

OWN = "The ferry to the outer islands leaves from the old pier on Monday morning."
ANSWER = "No, it leaves from the new one."
LEVELS = 5


def content() -> tuple[Content, list[int]]:
    """Return the content of a thread whose answers lie in what they answer, and the places of its messages."""
    nested = "".join(f"<li><p>{OWN if level == 0 else ANSWER + str(level)}</p><ul>" for level in range(LEVELS))
    outline = Outline(document_fromstring(f"<body><ul>{nested}</ul>"))
    messages = [place for place, tag in enumerate(outline.tags) if tag == "li"]
    parts = [
        RecordPart((place,), frozenset(messages[number + 1 : number + 2])) for number, place in enumerate(messages)
    ]
    return Content(outline, parts), messages


def test_what_lies_in_several_records_counts_once_for_the_innermost() -> None:
    found, messages = content()
    assert [found.weight(place) for place in messages] == [len(OWN), *[len(ANSWER) + 1] * (LEVELS - 1)]
    assert [found.weight(place + 1) for place in messages] == [found.weight(place) for place in messages]


def test_a_message_in_many_others_is_no_text_that_all_of_them_share() -> None:
    found, messages = content()
    assert found.weight(messages[-1]) > 0
