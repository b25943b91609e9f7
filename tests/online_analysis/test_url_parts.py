from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from online_analysis.ranking.link_statistics import split

PIECES = ["a.test", "B-c.Test", ":80", "/", "?", "&", "=", "#", "index.html", "%41", "é", "12", "@", "[::1]", " ", "\t"]
REST = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join)


@settings(deadline=None)
@given(st.sampled_from(["http://a.test/", "https://", "http://a.test", "mailto:", ""]), REST)
def test_an_address_has_the_parts_that_the_parser_finds(start: str, rest: str) -> None:
    try:
        parts = urlsplit(start + rest)
    except ValueError:
        with pytest.raises(ValueError, match=r".+"):
            split(start + rest)
    else:
        assert split(start + rest) == (parts.hostname or "", parts.path, parts.query)
