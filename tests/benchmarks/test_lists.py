"""What the benchmark of lists counts as kept."""

from aahcrawler.helper import ApplicationAwareHelper
from benchmarks.lists import compare, furniture, lines_of
from benchmarks.page_reading import Seen, read
from knowledge_base.model import KnowledgeBase
from tests.helper.building import application, article, level, links
from tests.helper.saved_pages import html_page

MENU = "<nav>Home of the harbour</nav>"


def seen(body: str, number: int = 1) -> tuple[Seen, list[str]]:
    listing = level("list", "main", links("posts", "post", "main a"), role="intermediate")
    blog = application("blog", listing, level("post", ".post", article()))
    page = html_page(f"http://site.test/{number}", f"<html><body>{MENU}{body}</body></html>")
    helper = ApplicationAwareHelper(KnowledgeBase((blog,)))
    return read([page], helper.assist).seen[0], list(lines_of(page))


def test_what_every_page_shows_is_no_page_s_own() -> None:
    pages = [html_page(f"http://site.test/{n}", f"<body>{MENU}<p>Day {n}</p></body>") for n in range(8)]
    assert furniture(pages) == {"Home of the harbour"}


def test_words_are_kept_as_often_as_the_document_has_them() -> None:
    found, lines = seen("<main><p><a href='/a'>Ice</a> froze</p><p><a href='/b'>Thaw</a> came</p></main>")
    own = [line for line in lines if line not in MENU]
    kept = compare([*own, "never shown"], found)
    assert (kept.own, kept.kept, kept.beside) == (6, 4, 0)
    assert compare(["Ice froze"], found).beside == 2
