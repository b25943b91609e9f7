import pytest

from online_analysis.ranking.link_statistics import leads_to_hub


@pytest.mark.parametrize(
    ("url", "anchor"),
    [
        ("https://example.org/docs/Index", "More"),
        ("https://example.org/sitemap.html", ""),
        ("https://example.org/site-map/", ""),
        ("https://example.org/table_of_contents", ""),
        ("https://example.org/%E7%9B%AE%E5%BD%95", ""),
        ("https://example.org/17", "  Table of\nContents "),
        ("https://example.org/17", "Plan du site"),
        ("https://example.org/17", "Χάρτης ιστότοπου"),
        ("https://example.org/17", "網站地圖"),
        ("https://example.org/17", "A–Z"),
    ],
)
def test_an_index_by_any_name_is_a_hub(url: str, anchor: str) -> None:
    assert leads_to_hub(url, anchor)


@pytest.mark.parametrize(
    ("url", "anchor"),
    [
        ("https://example.org/", "Home"),
        ("https://example.org/index.html", "Home"),
        ("https://example.org/index.php?topic=1.0", "Solar power"),
        ("https://example.org/search?q=index", "Search"),
        ("https://example.org/indexing-databases", "Indexing databases"),
        ("https://example.org/contents-insurance", "Insurance of contents"),
        ("https://example.org/shares", "Share index " * 10),
        ("https://example.org/%ff%fe", "\x00"),
    ],
)
def test_what_only_sounds_like_one_is_none(url: str, anchor: str) -> None:
    assert not leads_to_hub(url, anchor)
