import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.traps.bloom_filters import packed, unpacked
from aahcrawler.traps.patterns import Trap
from aahcrawler.traps.session_ids import Aliases
from aahcrawler.traps.soft_errors import PROBE, SoftErrors, is_probe
from aahcrawler.traps.traps import NO_PAGE, Seen, Traps, TrapVerdict
from online_analysis.icd.sections import Traps as Section
from tests.traps.test_sketch import text

SITE = "a.test"
IDS = ("k3jd8sk2lw9ax7qz4mv1", "p0o9i8u7y6t5r4e3w2q1", "zm1xn2cb3va4ld5ks6jf", "qp1wo2ei3ru4ty5al6sk")


def seen(path: str, said: str, objects: tuple[str, ...] = (), relevant: bool = False) -> Seen:
    return Seen(f"http://a.test{path}", SITE, said, "", objects, relevant=relevant)


def fetch(traps: Traps, page: Seen, *links: str, name: str = "x1") -> TrapVerdict:
    verdict = traps.judge(page, name)
    traps.fetched(page.url, verdict, [f"http://a.test{link}" for link in links])
    return verdict


def month(year: int, number: int) -> Seen:
    names = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October")
    days = " ".join(map(str, range(1, 31)))
    return seen(f"/calendar/{year}/{number:02}/", f"{names[number % 10]} {year} Mo Tu We Th Fr Sa Su {days} no events")


def months() -> Iterator[Seen]:
    return (month(year, number) for year in range(2024, 2100) for number in range(1, 13))


def test_an_endless_calendar_comes_to_its_end() -> None:
    traps = Traps(Section())
    for fetched, page in enumerate(months()):
        if traps.admit(page.url) is not None:
            assert traps.admit(page.url) is Trap.NOVELTY
            assert fetched <= 60
            return
        fetch(traps, page, f"/calendar/{2024 + fetched // 12}/{fetched % 12 + 1:02}/")
    pytest.fail("the calendar never ended")


def test_combinations_of_filters_come_to_their_end() -> None:
    traps, chance, fetched = Traps(Section()), random.Random(1), 0
    products = [text(9, seed) for seed in range(40)]
    names = ("brand", "colour", "fit", "price", "size", "year", "sort", "view_as", "stock")
    for _ in range(5000):
        chosen = chance.sample(names, chance.randint(1, len(names)))
        url = "/shop?" + "&".join(f"{name}={chance.choice('abcdef')}" for name in chosen)
        shown = " ".join(each for each in products if chance.random() < 0.5)
        if traps.admit(f"http://a.test{url}") is None:
            fetched += 1
            fetch(traps, seen(url, f"Shop {' '.join(chosen)} {shown}"))
    assert fetched < 500


@pytest.mark.slow
@pytest.mark.parametrize(
    "url", ["/showthread.php?tid={n}", "/threads/{word}-and-{word}.{n}/", "/wiki/{word}", "/{n}/05/{word}/"]
)
def test_hundreds_of_pages_with_something_to_say_are_all_admitted(url: str) -> None:
    traps = Traps(Section())
    for n in range(400):
        path = url.format(n=n, word=text(2, n).replace(" ", "_"))
        assert traps.admit(f"http://a.test{path}") is None
        fetch(traps, seen(path, text(80, n)), path, f"/user/{n}")


def test_new_objects_are_something_new_even_where_the_text_around_them_is_long_and_the_same() -> None:
    traps, around = Traps(Section(pages=2)), text(2000, 1)
    for n in range(100):
        verdict = fetch(traps, seen(f"/p?id={n}", around, (f"A comment of some length by {text(3, n)}",)))
        assert verdict == TrapVerdict(is_new=True, has_objects=True)
        assert traps.admit(f"http://a.test/p?id={n + 1}") is None


@pytest.mark.slow
def test_an_archive_that_leads_to_new_pages_is_followed_to_its_end() -> None:
    traps = Traps(Section(pages=5))
    for n in range(150):
        assert traps.admit(f"http://a.test/page/{n}/") is None
        links = [f"/{text(2, n * 10 + k).replace(' ', '-')}-{n}-{k}.html" for k in range(5)]
        fetch(traps, seen(f"/page/{n}/", "older newer"), *links)
        for link in links:
            fetch(traps, seen(link, text(60, hash(link))))


def test_a_near_duplicate_is_told_with_the_page_that_it_is_like() -> None:
    traps, said = Traps(Section()), text(300, 7)
    assert fetch(traps, seen("/thread/7", said)).trap is None
    again = TrapVerdict(Trap.NEAR_DUPLICATE, "http://a.test/thread/7", is_empty=True)
    assert fetch(traps, seen("/print/7", said)) == again
    followed = Traps(Section(duplicates="follow"))
    fetch(followed, seen("/thread/7", said))
    assert fetch(followed, seen("/print/7", said)).trap is None


def test_a_list_that_goes_on_below_the_same_words_is_no_duplicate_of_its_first_page() -> None:
    traps, rules = Traps(Section()), text(300, 8)
    for page in range(5):
        url = f"http://a.test/board?start={page}"
        assert traps.judge(Seen(url, SITE, rules, anchors=text(60, 100 + page)), "x").trap is None
    again = Seen("http://a.test/board?start=0&sort=a", SITE, rules, anchors=text(60, 100))
    assert traps.judge(again, "x").trap is Trap.NEAR_DUPLICATE


def test_pages_that_say_the_same_of_other_pictures_are_no_duplicates() -> None:
    traps, said = Traps(Section()), text(300, 9)
    for album in range(3):
        files = tuple(f"http://a.test/{album}/{number}.jpg" for number in range(4))
        assert traps.judge(Seen(f"http://a.test/album/{album}", SITE, said, files=files), "x").trap is None
    again = Seen("http://a.test/print/2", SITE, said, files=("http://a.test/2/1.jpg", "http://a.test/2/3.jpg"))
    assert traps.judge(again, "x").trap is Trap.NEAR_DUPLICATE


def test_pages_with_little_text_are_no_duplicates() -> None:
    traps = Traps(Section())
    assert {fetch(traps, seen(f"/{letter}", "Please log in to see this page")).trap for letter in "abcdefgh"} == {None}
    assert {fetch(traps, seen(f"/{letter}", "")).trap for letter in "abcdefgh"} == {None}


def asked(traps: Traps, error: str, pages: int) -> list[str]:
    verdicts = [fetch(traps, seen(f"/blog/missing-{n}", error), name=f"n{n}") for n in range(pages)]
    return [verdict.probe for verdict in verdicts if verdict.probe]


@pytest.mark.parametrize("words", [6, 120])
def test_a_host_is_asked_once_and_pages_like_its_answer_are_soft_errors(words: int) -> None:
    traps, error = Traps(Section()), "Oh no, there is nothing here. " + text(words, 5)
    probes = asked(traps, error, 9)
    assert [probe.startswith(f"http://a.test/blog/{PROBE}") for probe in probes] == [True]
    assert is_probe(probes[0])
    traps.probed(probes[0], error)
    assert traps.judge(seen("/blog/lost", error), "x").trap is Trap.SOFT_404
    assert traps.judge(seen("/blog/lost-too", error, ("An object that nobody has seen",)), "x").trap is None
    assert traps.judge(seen("/blog/post", text(120, 6)), "x").trap is None
    assert traps.judge(seen("/", error), "x").trap is not Trap.SOFT_404
    assert asked(traps, error, 9) == []


def test_an_error_that_repeats_the_address_is_known_for_one() -> None:
    traps = Traps(Section())
    verdicts = [traps.judge(seen(f"/missing-{n:05}", f"There is no /missing-{n:05} here."), "x") for n in range(9)]
    probe = next(filter(None, (verdict.probe for verdict in verdicts)))
    traps.probed(probe, f"There is no {probe.removeprefix('http://a.test')} here.")
    assert traps.judge(seen("/gone-for-good", "There is no /gone-for-good here."), "x").trap is Trap.SOFT_404


def test_nothing_changes_where_the_host_is_honest_or_nobody_asks() -> None:
    traps = Traps(Section())
    (probe,) = asked(traps, "Nothing here.", 9)
    traps.probed(probe, None)
    assert asked(traps, "Nothing here.", 9) == []
    assert traps.judge(seen("/lost", "Nothing here."), "x").trap is None
    assert asked(Traps(Section(soft_404="ignore")), "Nothing here.", 9) == []


def test_hosts_are_forgotten_rather_than_kept_without_bound() -> None:
    errors = SoftErrors(capacity=3)
    for number in range(10):
        errors.suspect(f"http://h{number}.test/x", "1")
    assert len(errors.state()) == 3


def test_a_session_id_that_nobody_has_documented_is_found_out() -> None:
    aliases = Aliases()
    url = "http://a.test/page?n={}&zz={}".format
    for number, one in enumerate(IDS[1:]):
        assert not aliases.has_other(url(9, one))
        aliases.learn(url(number, one), url(number, IDS[0]))
    assert not aliases.has_other(url(7, IDS[0]))
    assert not aliases.has_other(url(7, IDS[0]))
    assert aliases.has_other(url(7, IDS[1]))
    assert not aliases.has_other(url(8, IDS[1]))
    assert not aliases.has_other("http://b.test/page?n=7&zz=" + IDS[1])


def test_what_looks_like_no_id_is_none() -> None:
    aliases = Aliases()
    for number in range(9):
        aliases.learn(f"http://a.test/page?n={number}", "http://a.test/page?n=100")
        aliases.learn(f"http://a.test/page?n={number}", f"http://a.test/other?n={number}")
    assert not aliases.has_other("http://a.test/page?n=1")
    assert not aliases.state()


def test_a_restart_goes_on() -> None:
    traps, error = Traps(Section(pages=3)), text(60, 5)
    asked(traps, error, 20)
    traps.probed(f"http://a.test/blog/{PROBE}1", error)
    state = traps.state()
    again = Traps(Section(pages=3))
    again.restore(state)
    assert again.admit("http://a.test/blog/missing-7") is Trap.NOVELTY
    assert again.judge(seen("/blog/lost", error), "x").trap is Trap.SOFT_404


def test_a_kept_state_is_read_back_and_other_files_are_refused() -> None:
    traps = Traps(Section())
    fetch(traps, seen("/a/b", text(300, 1)), "/c")
    content = packed(3, traps.state())
    crawl, state = unpacked(content)
    again = Traps(Section())
    again.restore(state)
    assert (crawl, packed(3, again.state())) == (3, content)
    middle = len(content) // 2
    for damaged in (
        b"",
        b"PK",
        content[:-30],
        content[:middle] + bytes(400) + content[middle + 400 :],
        b'{"format": 1}',
    ):
        with pytest.raises(ValueError, match="cannot be read"):
            unpacked(damaged)
    for name in state.keys() - {"alone"}:  # Versions that did not know of it left it out.
        with pytest.raises(ValueError, match="no state of traps"):
            again.restore({key: array for key, array in state.items() if key != name})
    assert packed(3, again.state()) == content


URLS = st.builds("http://a.test/{}/{}?{}={}".format, *([st.sampled_from(["a", "b", "1", "2"])] * 4))


@given(st.lists(st.tuples(URLS, st.sampled_from(["", text(50, 1), text(50, 2)])), max_size=40), st.integers(1, 5))
def test_nothing_is_refused_before_the_minimum_and_zero_refuses_nothing(
    pages: list[tuple[str, str]], least: int
) -> None:
    traps, free = Traps(Section(pages=least)), Traps(Section(pages=0, duplicates="follow"))
    for number, (url, said) in enumerate(pages):
        if number < least:
            assert traps.admit(url) is None
        for each in (traps, free):
            verdict = each.judge(Seen(url, SITE, said), "x")
            each.fetched(url, verdict, [url])
        assert free.admit(url) is None


def thread(path: str, number: int, anchors: str = "") -> Seen:
    said = text(200, 5000 + number)
    return Seen(f"http://a.test{path}", SITE, said, "", (said,), (f"ann {said}",), anchors=anchors)


def test_objects_of_a_near_duplicate_are_told_by_who_said_what_when() -> None:
    traps = Traps(Section())
    assert fetch(traps, thread("/t/1", 1)).repeated == frozenset()
    again = thread("/t/1?page=1", 1)
    both = Seen(again.url, SITE, again.text, "", again.objects, (*again.identities, "bob Thanks!"))
    assert fetch(traps, both).repeated == {0}


def test_a_parameter_without_which_pages_show_the_same_is_left_out() -> None:
    traps = Traps(Section())
    for number in range(3):
        fetch(traps, thread(f"/t/{number}", number), "/t/7")
        assert traps.admit(f"http://a.test/t/{number}?page=1") is None
        assert fetch(traps, thread(f"/t/{number}?page=1", number)).trap is Trap.NEAR_DUPLICATE
    assert traps.admit("http://a.test/t/7?page=1") is Trap.COPY
    assert traps.admit("http://a.test/t/7?page=2") is None
    assert traps.admit("http://a.test/t/never-linked?page=1") is None
    assert Traps(Section(duplicates="follow")).admit("http://a.test/t/7?page=1") is None


def test_a_part_is_believed_no_more_once_it_makes_a_difference() -> None:
    traps = Traps(Section())
    for number in range(3):
        fetch(traps, thread(f"/t/{number}/", number), "/t/8/", "/t/9/")
        fetch(traps, thread(f"/t/{number}/page/1/", number))
    assert traps.admit("http://a.test/t/9/page/1/") is Trap.COPY
    fetch(traps, thread("/t/8/", 80))
    fetch(traps, thread("/t/8/page/1/", 81))
    assert traps.admit("http://a.test/t/9/page/1/") is None


def test_pages_that_lead_nowhere_are_avoided_until_there_is_no_bound() -> None:
    traps = Traps(Section())
    for number in range(5):
        url = f"http://a.test/comment/{number}/history/"
        assert traps.admit(url) is None
        barren = traps.fetched(url, NO_PAGE, [])
    assert barren == "a.test/comment/#/history/"
    assert traps.admit("http://a.test/comment/77/history/") is Trap.BARREN
    assert traps.admit("http://a.test/comment/77/history/", trusted=True) is None
    assert traps.barren("http://a.test/comment/77/history/") == barren
    assert traps.worth("http://a.test/comment/77/history/") < 0.2 < traps.worth("http://a.test/comment/77/")
    traps.use(Section(barren=0))
    assert traps.admit("http://a.test/comment/77/history/") is None


def test_documents_and_images_say_nothing_of_what_their_pattern_leads_to() -> None:
    traps = Traps(Section())
    for number in range(20):
        traps.fetched(f"http://a.test/files/{number}.pdf", NO_PAGE, [], is_page=False)
    assert traps.barren("http://a.test/files/77.pdf") == ""


def test_what_was_learned_of_patterns_and_parts_is_kept() -> None:
    traps, restored = Traps(Section()), Traps(Section())
    for number in range(5):
        traps.fetched(f"http://a.test/comment/{number}/history/", NO_PAGE, [])
    restored.restore(unpacked(packed(1, traps.state()))[1])
    assert restored.admit("http://a.test/comment/77/history/") is Trap.BARREN


def test_the_next_crawl_takes_over_rules_and_what_is_known() -> None:
    traps, following = Traps(Section()), Traps(Section())
    for number in range(5):
        traps.fetched(f"http://a.test/comment/{number}/history/", NO_PAGE, [])
        fetch(traps, thread(f"/t/{number}", number))
        fetch(traps, thread(f"/t/{number}?page=1", number))
    following.inherit(traps.state())
    assert following.admit("http://a.test/comment/77/history/") is Trap.BARREN
    assert following.shorter("http://a.test/t/7?page=1") == "http://a.test/t/7"
    assert following.knows("http://a.test/t/1")
    assert fetch(following, thread("/elsewhere/1", 1)).trap is Trap.NEAR_DUPLICATE


def a_calendar(traps: Traps) -> str:
    """Have a calendar fetched until it is refused; return the first URL that was."""
    for number, page in enumerate(months()):
        if traps.admit(page.url) is not None:
            return page.url
        fetch(traps, page, f"/calendar/{2024 + number // 12}/{number % 12 + 1:02}/")
    pytest.fail("the calendar never ended")


def test_the_next_crawl_refuses_what_was_refused_and_has_a_full_budget_for_the_rest() -> None:
    traps, following = Traps(Section()), Traps(Section())
    refused = a_calendar(traps)
    following.inherit(traps.state())
    fetched = month(2024, 3).url
    assert following.admit(refused) is Trap.NOVELTY
    assert following.admit(fetched) is None
    assert following.admit("http://a.test/calendar/2199/01/") is None, "nobody asked for it yet"
    fetch(following, seen("/calendar/2199/01/", text(60, 3)))
    assert following.admit(refused) is None, "there is something new in the calendar by now"


def test_what_was_refused_is_refused_in_all_crawls_that_follow_until_settings_change() -> None:
    traps = Traps(Section())
    refused = a_calendar(traps)
    for _ in range(3):
        following = Traps(Section())
        following.inherit(unpacked(packed(1, traps.state()))[1])
        assert following.admit(refused) is Trap.NOVELTY
        traps = following
    other = Traps(Section(pages=1000))
    other.inherit(traps.state())
    assert other.admit(refused) is None
    traps.use(Section(pages=1000))
    assert traps.admit(refused) is None


def test_links_that_navigation_chose_are_bound_by_refusals_of_such_links_alone() -> None:
    traps, following = Traps(Section(pages=1)), Traps(Section(pages=1))
    for number in range(2):
        traps.fetched(f"http://a.test/list/{number}", NO_PAGE, [])
    chosen, other = "http://a.test/list/7", "http://a.test/list/8"
    assert traps.admit(chosen, trusted=True) is traps.admit(other) is Trap.NOVELTY
    following.inherit(traps.state())
    assert following.admit(chosen, trusted=True) is Trap.NOVELTY
    assert following.admit(other, trusted=True) is None


def test_an_original_stays_one_whichever_page_comes_first_in_the_next_crawl() -> None:
    traps, following = Traps(Section()), Traps(Section())
    pages = [thread("/t/1", 1), seen("/list", text(200, 7)), seen("/other", text(300, 9))]
    copies = [thread("/print/1", 1), seen("/list/by/date", text(200, 7)), seen("/copy", text(300, 9))]
    for page, copy in zip(pages, copies, strict=True):
        assert fetch(traps, page).trap is None
        assert fetch(traps, copy).trap is Trap.NEAR_DUPLICATE
    following.inherit(traps.state())
    for page, copy in zip(pages, copies, strict=True):
        again = following.judge(copy, "x")
        assert (again.trap, again.like) == (Trap.NEAR_DUPLICATE, page.url)
        assert following.judge(page, "x").trap is None


def test_a_copy_is_believed_to_be_one_until_the_original_is_seen_to_differ() -> None:
    traps, following = Traps(Section()), Traps(Section())
    fetch(traps, seen("/list", text(200, 7)))
    fetch(traps, seen("/list/by/date", text(200, 7)))
    following.inherit(traps.state())
    grown = seen("/list/by/date", text(200, 8))
    assert following.judge(grown, "x").trap is Trap.NEAR_DUPLICATE, "the list may have changed like it"
    following.unchanged("http://a.test/list")
    assert following.judge(grown, "x").trap is None


def test_evidence_of_a_pair_counts_once_over_all_crawls() -> None:
    traps = Traps(Section())
    for _ in range(4):
        fetch(traps, thread("/t/1", 1))
        fetch(traps, thread("/t/1?page=1", 1))
        following = Traps(Section())
        following.inherit(traps.state())
        traps = following
    assert traps.shorter("http://a.test/t/7?page=1") is None


def test_a_page_that_is_known_under_another_id_is_so_in_the_next_crawl() -> None:
    traps, following = Traps(Section()), Traps(Section())
    for number, name in enumerate(IDS):
        fetch(traps, thread(f"/t/9?visit={name}", 9))
        traps.admit(f"http://a.test/t/{number}?visit={name}")
    assert traps.admit(f"http://a.test/t/3?visit={IDS[0]}") is Trap.SESSION
    following.inherit(traps.state())
    assert following.admit(f"http://a.test/t/3?visit={IDS[1]}") is Trap.SESSION


def test_a_host_is_asked_anew_by_the_next_crawl_and_its_former_answer_is_known() -> None:
    traps, error = Traps(Section(pages=3)), text(60, 5)
    asked(traps, error, 20)
    traps.probed(f"http://a.test/blog/{PROBE}1", error)
    following = Traps(Section(pages=3))
    following.inherit(traps.state())
    assert following.judge(seen("/blog/lost", error), "x").trap is Trap.SOFT_404
    probes = [following.judge(seen(f"/new/{number}", text(60, 77)), "x").probe for number in range(8)]
    assert any(probes)


def test_what_several_workers_knew_comes_together() -> None:
    one, other, following = Traps(Section()), Traps(Section()), Traps(Section())
    refused = a_calendar(one)
    fetch(one, thread("/t/1", 1))
    fetch(other, thread("/t/2", 2))
    for each in (one, other, one):
        following.inherit(each.state())
    assert following.admit(refused) is Trap.NOVELTY
    assert following.knows("http://a.test/t/2")
    for number in (1, 2):
        assert fetch(following, thread(f"/copy/{number}", number)).like == f"http://a.test/t/{number}"
    again = Traps(Section())
    again.restore(following.state())
    assert again.knows("http://a.test/t/1")


def test_short_pages_of_their_own_are_avoided_on_no_site_that_shows_no_objects_at_all() -> None:
    traps = Traps(Section())
    for number in range(40):
        url = f"/{number}"
        assert traps.admit(f"http://a.test{url}") is None or number >= Section().pages
        fetch(traps, seen(url, text(4, number)))
    assert traps.barren("http://a.test/77") == ""


def test_files_that_say_what_pages_show_are_left_and_others_are_not() -> None:
    traps = Traps(Section())
    for number in range(12):
        said = text(60, number)
        fetch(traps, seen(f"/ticket/{number}", said, (said,)))
        if traps.admit(url := f"http://a.test/ticket/{number}?format=csv") is None:
            traps.fetched(url, traps.judge_file(f"id,description\n{number},{said}"), [], is_page=False)
        if traps.admit(url := f"http://a.test/files/{number}.txt") is None:
            traps.fetched(url, traps.judge_file(text(60, 1000 + number)), [], is_page=False)
    assert traps.admit("http://a.test/ticket/99?format=csv") is Trap.BARREN
    assert traps.admit("http://a.test/files/99.txt") is None


def test_a_url_gives_way_once_where_pages_like_it_show_less_than_others() -> None:
    traps = Traps(Section())
    for number in range(4):
        fetch(traps, thread(f"/t/{number}", number))
        fetch(traps, seen(f"/log/{number}", text(40, 500 + number)))
    assert traps.gives_way("http://a.test/log/9") == pytest.approx(0.2)
    assert traps.gives_way("http://a.test/log/9") == 1.0
    assert traps.gives_way("http://a.test/t/9") == traps.gives_way("http://a.test/new/9") == 1.0


def test_other_views_of_a_page_come_after_it() -> None:
    traps = Traps(Section())
    fetch(traps, seen("/", text(40, 1)), "/t/7", "/index.php")
    assert traps.worth("http://a.test/t/7?version=3") < traps.worth("http://a.test/t/7")
    assert traps.worth("http://a.test/index.php?topic=3") == traps.worth("http://a.test/index.php?topic=4") == 1.0


def test_a_page_whose_version_came_first_is_no_repeat() -> None:
    traps = Traps(Section())
    for number in range(12):
        said = text(60, number)
        fetch(traps, seen(f"/wiki/Page{number}?version=2", said, (said,)))
        fetch(traps, seen(f"/wiki/Page{number}", said, (said,)))
    assert traps.admit("http://a.test/wiki/Page99") is None


def test_versions_of_what_was_read_are_left_and_their_pages_are_not() -> None:
    traps = Traps(Section())
    for number in range(12):
        sentences = [f"{text(9, 100 * number + place)}." for place in range(8)]
        fetch(traps, seen(f"/wiki/Page{number}", "".join(sentences), (" ".join(sentences),)))
        if traps.admit(f"http://a.test/wiki/Page{number}?version=1") is None:
            older = " ".join(sentences[:-1])
            fetch(traps, seen(f"/wiki/Page{number}?version=1", older, (older,)))
    assert traps.admit("http://a.test/wiki/Page99?version=1") is not None
    assert traps.admit("http://a.test/wiki/Page99") is None


def test_an_object_is_known_by_when_it_was_written_and_how_it_begins() -> None:
    traps = Traps(Section())

    def page(path: str, said: str, moment: str) -> Seen:
        return replace(seen(path, said, (said,)), identities=(f"{moment} {said}",), openings=(f"{moment} {said[:80]}",))

    whole = text(60, 1)
    assert fetch(traps, page("/t/1", f"{whole} Members: Ann, Bob", "2022-07-13T19:26")).has_objects
    assert not fetch(traps, page("/m/1", whole, "2022-07-13T19:26")).has_objects
    assert fetch(traps, page("/m/2", whole, "2022-07-14T08:00")).has_objects
