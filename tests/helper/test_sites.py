"""What is remembered of sites beside their applications."""

import pickle

from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.site_memory import (
    CHECKED_AGAIN,
    MAX_LESSONS,
    MIN_LANGUAGE_PAGES,
    MIN_TITLES,
    Memory,
    SiteLanguages,
    SiteLesson,
    Sites,
)
from knowledge_base.model import KnowledgeBase, PageLevel
from tests.helper.building import application as made
from tests.helper.building import article, helper_of, sign, when
from tests.page.building import PARAGRAPH, page_of


def test_the_ends_that_all_titles_of_a_site_but_one_share() -> None:
    sites = Sites()
    sites.shared_titles("http://a.test/", ("welcome",))
    for number in range(MIN_TITLES - 2):
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
    for number in range(MIN_TITLES):
        found = sites.shared_titles("http://a.test/topic/7", (f"title{chr(97 + number)}", "topic", "harbourforum"))
    assert found == {"harbourforum", "topic"}
    assert sites.shared_titles("http://a.test/list/77", ("more", "harbourforum")) == {"harbourforum"}


def test_a_site_is_believed_once_enough_of_its_pages_agreed_and_checked_again() -> None:
    languages = SiteLanguages(10)
    for _ in range(MIN_LANGUAGE_PAGES):
        assert not languages.believes("a.test", "en")
        languages.learn("a.test", "en", "en")
    assert not languages.believes("b.test", "en")
    assert not languages.believes("a.test", "de"), "another language is declared"
    assert [languages.believes("a.test", "en") for _ in range(CHECKED_AGAIN)] == [True] * (CHECKED_AGAIN - 1) + [False]
    languages.learn("a.test", "en", "en")
    assert languages.believes("a.test", "en")


def test_a_page_in_another_language_ends_the_belief() -> None:
    languages = SiteLanguages(10)
    for told in ["en"] * MIN_LANGUAGE_PAGES + ["de"]:
        languages.learn("a.test", "en", told)
    assert not languages.believes("a.test", "en")


def test_texts_too_short_to_tell_say_nothing_of_a_site() -> None:
    languages = SiteLanguages(10)
    for told in ["en"] * MIN_LANGUAGE_PAGES + [None]:
        languages.learn("a.test", "en", told)
    assert languages.believes("a.test", "en")


def test_the_site_seen_longest_ago_is_forgotten() -> None:
    languages = SiteLanguages(1)
    for site in ["a.test"] * MIN_LANGUAGE_PAGES + ["b.test"]:
        languages.learn(site, "en", "en")
    assert not languages.believes("a.test", "en")


def test_pages_of_a_believed_site_in_another_language_are_told() -> None:
    helper = ApplicationAwareHelper(KnowledgeBase(()))
    german = (
        "Gestern haben wir das Boot aus dem Wasser geholt und den Rumpf von Muscheln befreit. Am Abend kam der "
        "Hafenmeister vorbei und erzählte, wie die Flut bis an die Fenster seines Hauses gestiegen ist."
    )
    texts = [PARAGRAPH] * (MIN_LANGUAGE_PAGES + 2) + [german, PARAGRAPH]
    page = '<html lang="en"><body><p>{0}</p><p>{0}</p></body></html>'
    told = [
        helper.assist(page_of(page.format(text), url=f"http://site.test/{number}")).document.language
        for number, text in enumerate(texts)
    ]
    assert told == ["en"] * (MIN_LANGUAGE_PAGES + 2) + ["de", "en"]


def test_what_a_page_teaches_in_one_process_can_be_told_to_another() -> None:
    level = PageLevel("post", "terminal", when("article"), actions=(article(),))
    known = made("ice", level, patterns=(sign("#ice-sign"),))
    read_here, told = helper_of(known), helper_of(known)
    body = f"<i id=ice-sign></i><article><div class=body>{PARAGRAPH}</div> 25/12/2021</article>"
    for number, title in enumerate(("Ropes", "Fish", "Lighthouse", "Early ice")):
        page = page_of(f"<html lang=en><title>{title} - Tales</title>{body}", url=f"http://site.test/news/{number}")
        read_here.assist(page)
        told.learn(pickle.loads(pickle.dumps(read_here.lessons)))  # noqa: S301 - its own
        assert read_here.lessons
    last = page_of(f"<html lang=en><title>Nets - Tales</title>{body}", url="http://site.test/news/9")
    there, here = told.assist(last), read_here.assist(last)
    assert (there.document, there.objects) == (here.document, here.objects)
    assert "Tales" not in str(there.objects[0].first("title"))
    sites = [Sites(), Sites()]
    sites[0].date_order("http://a.test/1", "dmy")
    sites[0].shared_titles("http://a.test/1", ("fish", "tales"))
    sites[0].languages.learn("a.test", "en", "en")
    sites[0].records.titled("http://a.test/1#2", "Fish")
    sites[1].learn(sites[0].lessons)
    assert sites[1].date_order("http://a.test/2", None) == "dmy"
    assert sites[1].records.titled("http://a.test/1#2", "") == "Fish"


def test_no_application_is_learned_that_is_not_known() -> None:
    sites = Sites()
    sites.learn([SiteLesson(Memory.SITES, Sites.remember_shown, ("http://a.test/1", "nobody's", frozenset()))])
    assert sites.recall("http://a.test/1") is None


def test_lessons_are_bounded() -> None:
    sites = Sites()
    for number in range(2 * MAX_LESSONS):
        sites.date_order(f"http://a.test/{number}", "dmy")
    assert len(list(sites.lessons)) == MAX_LESSONS
