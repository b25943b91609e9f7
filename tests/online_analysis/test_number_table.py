import pytest
from hypothesis import given
from hypothesis import strategies as st

from online_analysis.terms import NumberTable, pack


@given(st.dictionaries(st.text(max_size=8), st.floats(allow_nan=False)), st.text(max_size=8))
def test_each_text_has_its_number_and_no_other_text_has_one(numbers: dict[str, float], other: str) -> None:
    table = NumberTable(pack(numbers))
    assert {text: table.get(text) for text in numbers} == numbers
    assert table.get(other) == numbers.get(other)
    assert len(table) == len(numbers)


def test_what_is_no_whole_table_is_refused() -> None:
    packed = pack({"boat": 2.5, "auk": 0.1})
    for broken in (b"", b"numbersl", packed[:-1], packed + b" ", packed[:40] + b"!" + packed[41:]):
        with pytest.raises(ValueError, match="table of numbers"):
            NumberTable(broken)
