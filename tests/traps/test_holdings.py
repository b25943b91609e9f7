"""Pages that show what other pages show: whichever of them come first, the single ones are left after a sample."""

import pytest

from aahcrawler.traps.bloom_filters import packed, unpacked
from aahcrawler.traps.patterns import Trap
from aahcrawler.traps.traps import Seen, Traps, TrapVerdict
from online_analysis.icd.sections import Traps as Section
from tests.traps.test_sketch import text

HOST = "http://a.test"


def said(thread: int, number: int) -> str:
    return f"{text(30, 1000 * thread + number)} in thread {thread}"


def page(path: str, bodies: list[str], names: tuple[str, ...] = ()) -> Seen:
    shown = " ".join(bodies)
    return Seen(
        f"{HOST}{path}",
        "a.test",
        shown,
        objects=tuple(bodies),
        identities=tuple(f"Ann: {body}" for body in bodies),
        names=tuple(f"{HOST}{name}" for name in names),
    )


def thread(number: int, size: int = 4, *, named: bool = False) -> Seen:
    names = tuple(f"/list/message/{number}{k}/" for k in range(size)) if named else ()
    return page(f"/list/thread/{number}/", [said(number, k) for k in range(size)], names)


def message(number: int, k: int) -> Seen:
    return page(f"/list/message/{number}{k}/", [said(number, k)])


def fetch(traps: Traps, seen: Seen, *links: str) -> TrapVerdict:
    verdict = traps.judge(seen, "x1")
    traps.fetched(seen.url, verdict, [f"{HOST}{link}" for link in links])
    return verdict


def crawled(traps: Traps, *, threads_first: bool, threads: int = 12) -> None:
    threaded = [thread(number) for number in range(threads)]
    single = [message(number, k) for number in range(threads) for k in range(4)]
    for seen in (*threaded, *single) if threads_first else (*single, *threaded):
        if traps.admit(seen.url) is None:
            fetch(traps, seen)


@pytest.mark.parametrize("threads_first", [True, False])
def test_pages_of_single_messages_are_left_and_threads_are_not(threads_first: bool) -> None:
    traps = Traps(Section())
    crawled(traps, threads_first=threads_first)
    assert traps.admit(f"{HOST}/list/message/990/") is Trap.REPEATED
    assert traps.admit(f"{HOST}/list/thread/99/") is None


def test_pages_of_single_messages_that_no_thread_shows_are_all_followed() -> None:
    traps = Traps(Section())
    for number in range(60):
        assert traps.admit(f"{HOST}/list/message/{number}0/") is None
        fetch(traps, message(number, 0))
        fetch(traps, thread(number + 100, 2))


def test_a_sample_with_something_new_opens_the_pattern_again() -> None:
    traps = Traps(Section())
    crawled(traps, threads_first=True)
    urls = (f"{HOST}/list/message/{number}/" for number in range(5_000, 6_000))
    sampled = next(url for url in urls if traps.admit(url) is None)
    fetch(traps, page(sampled.removeprefix(HOST), [text(40, 77)]))
    assert traps.admit(f"{HOST}/list/message/123456/") is None


def test_urls_of_objects_that_a_thread_shows_are_left_after_a_sample_and_others_of_their_pattern_are_not() -> None:
    traps = Traps(Section())
    for number in range(3):
        fetch(traps, thread(number, named=True))
        for k in range(4):
            if traps.admit(message(number, k).url) is None:
                fetch(traps, message(number, k))
    fetch(traps, thread(7, named=True))
    assert traps.admit(message(7, 1).url) is Trap.REPEATED
    assert traps.admit(message(8, 1).url) is None


def test_lists_whose_pages_lead_to_objects_elsewhere_are_followed() -> None:
    traps = Traps(Section())
    fetch(traps, thread(0))
    for number in range(1, 40):
        listed = page(f"/list/month/{number}/", [])
        assert traps.admit(listed.url) is None
        fetch(traps, listed, f"/list/thread/{number}/")
        fetch(traps, thread(number))


def test_what_is_known_of_pages_is_kept_and_given_to_the_next_crawl() -> None:
    traps, again, following = Traps(Section()), Traps(Section()), Traps(Section())
    crawled(traps, threads_first=False, threads=3)
    _, state = unpacked(packed(1, traps.state()))
    again.restore(state)
    assert packed(1, again.state()) == packed(1, traps.state())
    following.inherit(state)
    for one in (traps, again, following):
        for number in range(3, 12):
            for seen in (thread(number), *(message(number, k) for k in range(4))):
                if one.admit(seen.url) is None:
                    fetch(one, seen)
        assert one.admit(f"{HOST}/list/message/990/") is Trap.REPEATED
