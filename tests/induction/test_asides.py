"""Whether ``aside`` is beside the content of a page, or but another name of a block."""

import pytest

from aahcrawler.induction.headings import Names
from aahcrawler.induction.outline import Outline
from aahcrawler.induction.prepared_page import asides_hold_content
from tests.page.building import page_of

TEXT = "<p>The harbour froze over in January, and everybody in town walked across it at least once.</p>"
SHORT = "<p>Ferries do not sail today, as the ice is too thick for them.</p>"


def hold_content(body: str) -> bool:
    page = page_of(f"<html><head><title>Ice - Harbour</title></head><body>{body}</body></html>", "http://site.test/ice")
    return asides_hold_content(Outline(page.tree), Names.of(page))


@pytest.mark.parametrize(
    ("body", "holds"),
    [
        (f"<div><h1>Ice</h1>{TEXT * 2}</div><aside>{TEXT * 2}</aside>", False),
        (f"<aside><h1>Ice</h1>{TEXT * 2}</aside><div>{TEXT * 2}</div>", True),
        (f"<aside><h1>Ice</h1>{SHORT}</aside><div>{TEXT * 5}</div>", False),
        (f"<aside>{TEXT * 9}</aside><div>{SHORT}</div>", True),
        (f"<aside class='sidebar'>{TEXT * 9}</aside><div>{SHORT}</div>", False),
        (f"<aside id='related'>{TEXT * 9}</aside><div>{SHORT}</div>", False),
        (f"<aside><h1>Ice</h1>{TEXT}</aside><h2>Ice</h2><div>{TEXT}</div>", False),
        (f"<aside><h1><a href='/'>Harbour</a></h1>{TEXT}</aside><div><h1>Ice</h1>{TEXT * 2}</div>", False),
        (f"<h1>Ice</h1>{TEXT * 3}", False),
        (f"<aside><aside>{TEXT * 9}</aside></aside><div>{SHORT}</div>", True),
    ],
)
def test_what_stands_in_asides(body: str, holds: bool) -> None:
    assert hold_content(body) is holds
