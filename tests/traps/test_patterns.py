import re

from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.traps.patterns import Trap, misshapen, pattern_of

ALIKE = (
    ("/wiki/Foo_Bar", "/wiki/Solar_power_(physics)"),
    ("/threads/knots-for-beginners.17/", "/threads/a-walk-in-the-woods.123456/"),
    ("/viewtopic.php?f=2&t=17", "/viewtopic.php?t=9&f=31"),
    ("/index.php?topic=12.0", "/index.php?topic=7.45"),
    ("/calendar?year=2031&month=5", "/calendar?month=12&year=1999"),
    ("/2024/05/12/a-walk/", "/2031/12/01/the-second-walk/"),
    ("/index.php?/topic/12-knots/", "/index.php?/topic/9-boats-and-sails/"),
    ("/article/3fa85f64-5717-4562-b3fc-2c963f66afa6.html", "/article/00000000-aaaa-bbbb-cccc-2c963f66afa6.html"),
    ("/my-first-post/", "/my-very-last-post/"),
)
DIFFERENT = (
    ("/index.php?action=calendar&year=2031", "/index.php?action=profile&year=2031"),
    ("/showthread.php?tid=5", "/newreply.php?tid=5"),
    ("/showthread.php?tid=5", "/showthread.php?tid=5&mode=print"),
    ("/blog/page/2/", "/blog/tag/2/"),
    ("/wiki/Foo", "/wiki/Foo?action=edit"),
)


def shape(path: str) -> str:
    return pattern_of(f"http://a.test{path}").shape


def test_addresses_of_one_program_are_alike() -> None:
    for one, other in ALIKE:
        assert shape(one) == shape(other), (one, other)


def test_addresses_of_other_programs_are_not() -> None:
    for one, other in DIFFERENT:
        assert shape(one) != shape(other), (one, other)
    assert pattern_of("http://a.test/1").shape != pattern_of("http://b.test/1").shape


def test_all_combinations_of_parameters_are_of_one_family() -> None:
    combined = [
        pattern_of(f"http://a.test/shop?{query}") for query in ("size=l", "size=l&colour=red", "brand=x&size=m")
    ]
    assert len({each.shape for each in combined}) == 3
    assert {each.families[-1] for each in combined} == {"a.test/shop?**"}
    deep = [pattern_of(f"http://a.test/shop/{path}") for path in ("red/large/x-1", "blue/small/x-1")]
    assert "a.test/shop/**" in deep[0].families
    assert "a.test/shop/**" in deep[1].families


SEGMENT = st.text(alphabet="abcz019-_.%~()", min_size=0, max_size=30)
PATHS = st.lists(SEGMENT, max_size=9).map("/".join)
PARAMETERS = st.lists(st.tuples(st.sampled_from(["t", "page", "do", "f[1]", "s_x", "action"]), SEGMENT), max_size=6)


def written(path: str, parameters: list[tuple[str, str]]) -> str:
    query = "&".join(f"{name}={value}" for name, value in parameters)
    return f"http://a.test/{path}{'?' if query else ''}{query}"


@given(PATHS, PARAMETERS, st.randoms(use_true_random=False))
def test_patterns_are_stable(path: str, parameters: list[tuple[str, str]], chance: object) -> None:
    shuffled = list(parameters)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = pattern_of(written(path, parameters)), pattern_of(written(path, shuffled))
    assert one == other
    assert one == pattern_of.__wrapped__(written(path, parameters))
    assert one.families[0] == "a.test/**"
    assert all(family.endswith("**") for family in one.families)
    assert len(one.families) == len(set(one.families))


@given(PATHS, PARAMETERS, st.integers(0, 9))
def test_other_numbers_are_the_same_pattern(path: str, parameters: list[tuple[str, str]], digit: int) -> None:
    url = written(re.sub("[0-9]", "1", path), parameters)
    changed = "http://a.test" + re.sub("(?<![0-9])1", str(digit), url.removeprefix("http://a.test"))
    assert pattern_of(url) == pattern_of(changed)


def judged(path: str) -> Trap | None:
    return misshapen(f"http://a.test{path}", repeats=2, segments=20, parameters=20)


def test_paths_that_repeat_are_traps() -> None:
    for path in (
        "/a/b/a/b/a/b",
        "/a/a/a/x.html",
        "/x/img/css/img/css/img/css/y",
        "/a/1/a/1/a/1/",
        "/a/b/a/c/a/d/a/e/a/",
    ):
        assert judged(path) is Trap.REPEATING, path


def test_paths_of_ordinary_sites_do_not_repeat() -> None:
    for path in (
        "/",
        "/a/b/a/b/",
        "/2011/11/11/11/",
        "/system/000/000/000/012/x.html",
        "/de/de/",
        "//",
        "/a//b//c//d/",
    ):
        assert judged(path) is None, path


def test_long_paths_and_queries_are_traps_from_their_bound_on() -> None:
    assert judged("/x" + "".join(f"/{chr(97 + n)}" for n in range(19))) is None
    assert judged("/x" + "".join(f"/{chr(97 + n)}" for n in range(20))) is Trap.SEGMENTS
    assert judged("/x?" + "&".join(f"p{n}=1" for n in range(20))) is None
    assert judged("/x?" + ";".join(f"p{n}=1" for n in range(21))) is Trap.PARAMETERS


def test_bounds_of_zero_are_none() -> None:
    url = "http://a.test/" + "a/" * 60 + "?" + "&".join("b=1" for _ in range(60))
    assert misshapen(url, repeats=0, segments=0, parameters=0) is None


@given(PATHS, PARAMETERS)
def test_any_address_is_judged_without_error(path: str, parameters: list[tuple[str, str]]) -> None:
    assert misshapen(written(path, parameters), repeats=2, segments=20, parameters=20) in {None, *Trap}


def test_the_longest_address_is_judged_at_once() -> None:
    assert judged("/" + "a1/b2/c3/" * 440) is Trap.SEGMENTS
    assert misshapen("http://a.test/" + "a/b1/" * 800, repeats=2, segments=0, parameters=0) is Trap.REPEATING
