"""What is remembered of sites beside their applications."""

from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.site_memory.sites import LEAST_TITLES, Sites
from knowledge_base.model import KnowledgeBase
from tests.page.building import PARAGRAPH, page_of


def test_the_ends_that_all_titles_of_a_site_but_one_share() -> None:
    sites = Sites()
    sites.shared_titles("http://a.test/", ("welcome",))
    for number in range(LEAST_TITLES - 2):
        assert not sites.shared_titles("http://a.test/x", (f"title{chr(97 + number)}", "sea", "harbournews"))
    assert sites.shared_titles("http://a.test/y", ("titlez", "fish", "harbournews")) == {"harbournews"}
    assert not sites.shared_titles("http://b.test/", ("titlez", "fish", "harbournews"))


def test_pages_of_one_thread_share_no_title() -> None:
    sites = Sites()
    for number in range(9):
        assert not sites.shared_titles("http://a.test/t", ("icebrokeearly", f"page{number}"))


def test_a_title_loses_what_the_titles_of_its_site_share() -> None:
    helper = ApplicationAwareHelper(KnowledgeBase(()))
    says = '<meta property="og:type" content="article"><meta property="article:published_time" content="2021-03-04">'
    page = "<html><head><title>{0} - Tales of the sea</title>" + says + "</head><body>{1}</body></html>"
    titles = ["Ropes", "Fish", "Who sold the lighthouse?", "Early ice"]
    found = ""
    for number, title in enumerate(titles):
        markup = page.format(title, f"<p>{PARAGRAPH}</p>" * 3)
        [one] = helper.assist(page_of(markup, url=f"http://site.test/news/{number}")).objects
        found = str(one.first("title"))
    assert found == "Early ice"


def test_ends_within_ends_are_shared_by_a_part_of_a_site() -> None:
    sites = Sites()
    for number in range(9):
        sites.shared_titles(f"http://a.test/list/{number}", (f"list{chr(97 + number)}", "harbourforum"))
    for number in range(LEAST_TITLES):
        found = sites.shared_titles("http://a.test/topic/7", (f"title{chr(97 + number)}", "topic", "harbourforum"))
    assert found == {"harbourforum", "topic"}
    assert sites.shared_titles("http://a.test/list/77", ("more", "harbourforum")) == {"harbourforum"}
