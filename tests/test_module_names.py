"""No two modules of one name do different things."""

from collections import Counter
from pathlib import Path

PROJECT = Path(__file__).parents[1]
PACKAGES = ("aahcrawler", "knowledge_base", "online_analysis", "offline")

SHARED = {
    "app": "the ASGI application of its package",
    "commands": "the command group of its package",
    "reader": "reads what its package keeps",
    "writer": "writes what its package keeps",
    "report": "what is printed of its package's results",
    "control": "a protocol of the frontier, and its class in redis/",
    "frontier": "the class in redis/ and the one in memory/",
    "ip_locks": "a protocol of the frontier, and its class in redis/",
    "registry": "a protocol of the frontier, and its class in redis/",
    "settings": "Scrapy calls its project's so; the other is of the wire client",
    "text": "analysers are called as their module; the other reads elements",
}
"""Names that stand more than once, and why they may."""


def test_names_that_stand_more_than_once_are_known() -> None:
    modules = (path.stem for package in PACKAGES for path in (PROJECT / package).rglob("*.py"))
    counted = Counter(name for name in modules if not name.startswith("__"))
    assert {name for name, number in counted.items() if number > 1} == set(SHARED)
