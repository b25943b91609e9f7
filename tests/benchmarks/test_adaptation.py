from benchmarks.adaptation import means
from benchmarks.results import Row

WHOLE: Row = {"damage": None, "seed": 0}


def row(site: str, method: str, recall: float, author: float | None = None) -> Row:
    return {"known": "a/a", "site": site, "method": method, "recall": recall, "author": author, **WHOLE}


def test_means_are_of_the_pairs_at_which_the_knowledge_base_alone_finds_too_little() -> None:
    measured = [
        row("a/b", "none", 0.5, 0.2),
        row("a/b", "repair", 0.9, 1.0),
        row("a/c", "none", 0.95),
        row("a/c", "repair", 0.1),
        row("a/d", "none", 0.1),
        row("a/d", "repair", 1.0),
    ]
    found = {str(each["method"]): each for each in means(measured)}
    assert {method: (each["pairs"], each["recall"]) for method, each in found.items()} == {
        "none": (2, 0.3),
        "repair": (2, 0.95),
    }
    assert found["repair"]["author"] == 1.0
    assert found["none"]["cost_ratio"] is None


def test_there_are_no_means_where_nothing_needs_repair() -> None:
    assert means([row("a/b", "none", 1.0), row("a/b", "repair", 1.0)]) == []
