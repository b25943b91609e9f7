"""What an object quotes of earlier ones of its page is not said by it."""

import re
from collections.abc import Sequence

import pytest

from offline.enrichment.object_texts import own_words
from offline.enrichment.quote_heads import without_quote_heads

FIRST = "The mayor Walter Grimm let the dike rot for years, and I cannot stand it."
ANSWER = "Ann wrote: The mayor Walter Grimm let the dike rot for years, and I cannot stand it. I do not agree at all."


def without_quotes(texts: Sequence[str], dates: Sequence[str | None]) -> list[str]:
    return [each.text for each in own_words(texts, dates)]


@pytest.mark.parametrize(
    ("texts", "quoted"),
    [
        ([FIRST, ANSWER], (0,)),
        ([FIRST, "> let the dike rot for years, and\nYou exaggerate, and you know it as well as I do."], (0,)),
        ([FIRST, "He let the dike rot for years, and, for all I know, still does, whatever anybody says."], ()),
        ([FIRST, ANSWER, f"{ANSWER.removeprefix('Ann wrote: ')} Neither do I, nor does anybody else whom I know."], ()),
        ([FIRST, FIRST], ()),
    ],
    ids=["ten words in a row", "six words behind a sign", "six words of every day", "a formula of three", "a copy"],
)
def test_whose_words_a_text_has_is_whom_it_quotes(texts: list[str], quoted: tuple[int, ...]) -> None:
    found = own_words(texts, [""] * len(texts))
    assert found[0].quoted == ()
    assert found[-1].quoted == quoted


def test_quoted_words_are_blank_and_all_else_keeps_its_place() -> None:
    first, answer = without_quotes([FIRST, ANSWER], ["2019-01-01", "2019-01-02"])
    assert first == FIRST
    assert len(answer) == len(ANSWER)
    assert answer.split() == ["Ann", "wrote:", ".", "I", "do", "not", "agree", "at", "all."]
    assert ANSWER.index("I do not agree") == answer.index("I do not agree")


def test_the_earlier_one_said_it_wherever_it_stands() -> None:
    answer, first = without_quotes([ANSWER, FIRST], ["2019-01-02", "2019-01-01"])
    assert first == FIRST
    assert "Grimm" not in answer
    # Without dates it is the one that the page shows first.
    assert without_quotes([ANSWER, FIRST], [None, "2019-01-01"])[0] == ANSWER


def test_what_is_posted_twice_and_common_words_are_kept() -> None:
    assert without_quotes([FIRST, FIRST], ["", ""]) == [FIRST, FIRST]
    texts = ["I think that this is what we need.", "Yes, I think that this costs too much money."]
    assert without_quotes(texts, ["", ""]) == texts


def test_the_work_grows_with_the_text_alone() -> None:
    text = "water rises here every year again and " * 5000
    quotes = " ".join(f"{number} water rises here every year again and" for number in range(5000))
    (_, answer) = without_quotes([text, f"{quotes} {'own words of mine ' * 4000}"], ["", ""])
    assert "rises" not in answer


@pytest.mark.parametrize(
    "head",
    [
        "Anna Petersen wrote: ↑ Fri Mar 02, 2018 10:00 am",
        "Anna Petersen hat geschrieben: ↑ Fr 2. Mär 2018, 10:00",
        "Anna Petersen a écrit : ↑ ven. 2 mars 2018 10:00",
        "(02-03-2018, 10:00 AM)Anna Petersen Wrote:",
        "Quote from: anna_p on March 02, 2018, 10:00:00 am",
        "Originally Posted by Anna Petersen View Post",
        "Anna Petersen said: ↑",
        "M. Kessler said:",
        "On Fri, 2 Mar 2018 at 10:00, Anna Petersen <anna@example.org> wrote:",
        "Am 02.03.2018 um 10:00 schrieb Anna Petersen:",
        "Le ven. 2 mars 2018 à 10:00, Anna Petersen <anna@example.org> a écrit :",
        "Quote:",
        "Click to expand...",
        "Anna Petersen wrote:\nFri Mar 02, 2018 10:00 am",
    ],
)
def test_nobody_says_the_head_of_a_quote(head: str) -> None:
    assert without_quote_heads(f"{head}\nThe lock is shut.\n") == f"{re.sub('.', ' ', head)}\nThe lock is shut.\n"


@pytest.mark.parametrize(
    "said",
    [
        "The mayor of Westhaven said: three houses were lost on 2 March 2018",
        "Anna wrote: 2 March was the day on which it broke.",
        "In 2018 a mayor whom nobody had heard of before said:",
        "I wrote this on Friday",
        "Quote the minister, please",
        "Citation de Hugo, que je trouve affreuse.",
        "Said Hamid, 2 March 2018",
        "2 March 2018\nIt broke.",
    ],
)
def test_what_somebody_says_of_another_stays(said: str) -> None:
    assert without_quote_heads(said) == said


def test_who_is_quoted_in_the_same_line_is_not_said_either() -> None:
    first = "The inquiry into the dike began on 3 June 2019."
    second = f"anna_p: 2 Mar 2018 10:00 pm{first} The judge asked for plans."
    own = own_words([first, second], ["", ""], ["anna_p", "ben"])[1]
    assert own.text.strip() == ". The judge asked for plans."
    assert own.quoted == ()
    assert len(own.text) == len(second)
    kept = own_words([first, f"Ben: {second}"], ["", ""], ["anna_p", "ben"])[1].text
    assert kept.startswith("Ben: anna_p: 2 Mar 2018")
