"""Site-level applications are found by the host alone."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_base.matching import HostIndex, is_on_host
from knowledge_base.model import Application, Pattern, Signal, Strength


def site(name: str, *hosts: str) -> Application:
    patterns = tuple(Pattern(Signal.HOST, Strength.PROOF, "", value=host) for host in hosts)
    return Application(name, "news", patterns, ())


def names(index: HostIndex, url: str) -> list[str]:
    return [application.name for application in index.of(url)]


def test_a_host_a_parent_and_nothing_else() -> None:
    index = HostIndex([site("own", "www.News.test"), site("below", "*.news.test"), site("top", "*.test"), site("none")])
    assert names(index, "https://news.test/a") == ["own", "top"]
    assert names(index, "https://www.news.test/a") == ["own", "top"]
    assert names(index, "https://a.b.news.test/a") == ["below", "top"]
    assert names(index, "https://evilnews.test/") == ["top"]
    assert names(index, "https://news.test.evil.example/") == []
    assert names(index, "http://other.example/?u=http://news.test/") == []


def test_an_application_of_several_fitting_hosts_comes_once() -> None:
    assert names(HostIndex([site("both", "a.b.test", "*.b.test", "*.test")]), "http://a.b.test/") == ["both"]
    assert names(HostIndex(), "http://a.b.test/") == []


LABELS = st.sampled_from(["a", "b", "www", "test", "co"])
HOSTS = st.lists(LABELS, min_size=1, max_size=4).map(".".join)


@given(st.lists(st.tuples(st.booleans(), HOSTS), max_size=8), HOSTS)
def test_it_finds_what_the_pattern_itself_would(written: list[tuple[bool, str]], host: str) -> None:
    patterns = ["*." * below + name for below, name in written]
    index = HostIndex(site(pattern, pattern) for pattern in patterns)
    url = f"http://{host}/x"
    assert set(names(index, url)) == {pattern for pattern in patterns if is_on_host(url, pattern)}


@pytest.mark.slow
def test_many_sites_cost_no_more_than_few() -> None:
    few, many = (HostIndex(site(f"s{n}", f"h{n}.test", f"*.h{n}.test") for n in range(size)) for size in (10, 20_000))

    def cost(index: HostIndex) -> float:
        start = process_time()
        for _ in range(5_000):
            index.of("http://forum.h7.test/thread/1")
        return process_time() - start

    assert min(cost(many) for _ in range(5)) < 5 * min(cost(few) for _ in range(5))
