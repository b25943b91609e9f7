"""Objects that their pages do not number are told apart by who wrote them when."""

from datetime import UTC, datetime, timedelta, timezone
from urllib.parse import quote, unquote

from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.helper.extraction.extraction import Composed, write_value
from aahcrawler.webobject import Person, Reference, Value
from knowledge_base.model import FieldKind, Identity
from tests.helper.building import application, assist, comments, css, level, text_field

AUTHOR = text_field("author", ".who", kind=FieldKind.PERSON)
DATE = text_field("date", "time", kind=FieldKind.DATETIME)
IDENTITY = Identity((css("a.anchor", "id"),), fields=("author", "date"))


def comment(who: str, moment: str, more: str = "") -> str:
    date = f"<time>{moment}</time>" if moment else ""
    name = f'<b class="who">{who}</b>' if who else ""
    return f'<div class="comment">{more}{name}{date}</div>'


def fragments(markup: str, identity: Identity = IDENTITY) -> list[str]:
    talk = application("talk", level("page", "main", comments(AUTHOR, DATE, identity=identity)))
    found = assist(talk, f"<main>{markup}</main>")
    assert [item.first("url") for item in found.objects] == [Reference(item.iri) for item in found.objects]
    return [item.iri.removeprefix("http://site.test/page#") for item in found.objects]


def test_author_and_second() -> None:
    page = comment("Ada L.", "2024-05-01T09:30:05Z") + comment("Ada L.", "2024-05-01T09:30:06+02:00")
    assert fragments(page) == ["c-Ada_L.-20240501093005", "c-Ada_L.-20240501073006"]


def test_equal_ones_are_numbered_in_their_order() -> None:
    one, other = comment("Ada", "2024-05-01T09:30:00Z"), comment("Ines", "2024-05-01T09:30:00Z")
    assert fragments(one + other + one + one) == [
        "c-Ada-20240501093000",
        "c-Ines-20240501093000",
        "c-Ada-20240501093000-2",
        "c-Ada-20240501093000-3",
    ]


def test_what_the_page_numbers_keeps_its_number() -> None:
    page = comment("Ada", "2024-05-01", '<a class="anchor" id="c7"></a>') + comment("Ada", "2024-05-01")
    assert fragments(page) == ["c7", "c-Ada-20240501000000"]


def test_what_has_none_of_the_values_is_no_object() -> None:
    assert fragments(comment("", "") + comment("Ada", "") + comment("", "2024-05-01")) == ["c-Ada", "c-20240501000000"]


def test_without_fields_nothing_is_made_up() -> None:
    assert fragments(comment("Ada", "2024-05-01"), Identity((css("a.anchor", "id"),))) == []


def test_a_prefix_takes_the_place_of_the_usual_one() -> None:
    identity = Identity((), prefix="talk-", fields=("date",))
    assert fragments(comment("Ada", "2024-05-01"), identity) == ["talk-20240501000000"]


def test_moments_are_written_in_utc() -> None:
    moment = datetime(2024, 5, 1, 1, 2, 3, tzinfo=timezone(timedelta(hours=2)))
    assert write_value(moment) == write_value(moment.astimezone(UTC)) == "20240430230203"


@given(st.text(min_size=1, max_size=50), st.datetimes(timezones=st.just(UTC)))
def test_a_fragment_is_safe_in_an_address_whatever_the_name(name: str, moment: datetime) -> None:
    properties: dict[str, tuple[Value, ...]] = {"author": (Person(name),), "date": (moment,)}
    fragment = Composed().fragment(Identity((), fields=("author", "date")), properties)
    assert fragment is not None
    assert fragment.isascii()
    assert quote(unquote(fragment, errors="strict"), safe="") == fragment


def test_long_texts_that_begin_alike_make_different_fragments() -> None:
    beginning = "We came to see the dike after the flood, and were shown around by the keeper. " * 2
    told = [write_value(f"{beginning}{who}") for who in ("Anna", "Bert", "Anna")]
    assert told[0] == told[2] != told[1]
    assert all(len(each) <= 130 for each in told)
