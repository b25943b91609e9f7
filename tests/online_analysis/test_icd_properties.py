import time
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from online_analysis.icd import Icd, IcdError, changes
from online_analysis.icd.units import format_duration, parse_duration, parse_size
from tests.online_analysis.definitions import SMALLEST
from tests.pace import at_most

PROXIES: st.SearchStrategy[object] = st.one_of(
    st.sampled_from(["direct", "http://p.test:3128", "socks5h://127.0.0.1:9050"]),
    st.fixed_dictionaries(
        {"url": st.just("http://p.test"), "user": st.just("me"), "plain": st.sampled_from(["tunnel", "forward"])},
        optional={"password": st.sampled_from([{"env": "A_B"}, {"file": "/word"}])},
    ),
)

names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,20}", fullmatch=True)
lines = st.text(st.characters(exclude_categories=("Cs", "Cc", "Co", "Cn")), min_size=1, max_size=30).filter(
    lambda text: text.split()
)
hosts = st.from_regex(r"[a-z]{1,8}\.(test|example)", fullmatch=True)
paths = st.from_regex(r"/[a-z0-9;=&?]{0,12}", fullmatch=True)
durations = st.integers(0, 10**9).map(lambda milliseconds: format_duration(timedelta(milliseconds=milliseconds)))
sizes = st.tuples(st.integers(0, 5000), st.sampled_from(["", " B", " kB", " MB", "GiB"])).map(
    lambda pair: f"{pair[0]}{pair[1]}"
)
scores = st.floats(0, 1)
sections = st.fixed_dictionaries(
    {},
    optional={
        "title": lines,
        "operator": lines,
        "metadata": st.fixed_dictionaries(
            {},
            optional={
                "description": lines,
                "creator": st.lists(lines, max_size=2),
                "publisher": st.lists(lines, max_size=2),
                "rights": st.lists(lines, max_size=2),
                "language": st.lists(st.sampled_from(["de", "nds", "pt-BR"]), max_size=2),
                "subject": st.lists(lines, max_size=2),
                "coverage": st.lists(lines, max_size=2),
            },
        ),
        "scope": st.fixed_dictionaries(
            {},
            optional={
                "sites": st.sampled_from(["seeds", "anywhere"]),
                "deny": st.lists(st.from_regex(r"[a-z*]{0,3}/denied/[a-z*?]{0,5}", fullmatch=True), max_size=3),
                "languages": st.lists(st.sampled_from(["de", "no", "el"]), max_size=3),
                "depth": st.integers(0, 99),
            },
        ),
        "scoring": st.fixed_dictionaries(
            {},
            optional={
                "weights": st.fixed_dictionaries({"text": st.floats(0.01, 1000)}, optional={"url": scores}),
                "update": st.sampled_from(["first", "last", "max", "sum", "avg"]),
                "relevant": scores,
                "spam_hosts": st.lists(hosts, max_size=3),
                "explore": st.floats(0, 0.5),
                "seed": st.integers(0, 2**63 - 1),
                "batch": st.integers(1, 1000),
                "post_to": st.fixed_dictionaries(
                    {"url": hosts.map("https://{}/".format), "crawl": names}, optional={"at_least": scores}
                ),
                "url_patterns": st.dictionaries(paths.map(lambda path: f"*{path}*"), scores, max_size=3),
            },
        ),
        "limits": st.fixed_dictionaries(
            {}, optional={"pages": st.integers(0, 10**9), "bytes": sizes, "time": durations}
        ),
        "politeness": st.fixed_dictionaries(
            {},
            optional={
                "delay": durations,
                "retries": st.integers(0, 9),
                "domains": st.dictionaries(
                    st.sampled_from(("a.test", "b.a.test", "10.0.0.1")),
                    st.fixed_dictionaries({}, optional={"delay": durations, "max_delay": durations}),
                ),
            },
        ),
        "archive": st.fixed_dictionaries(
            {},
            optional={"target": st.sampled_from(["/mnt/a", "s3://b/c"]), "reserve": sizes, "size": st.just("1 MB")},
        ),
        "network": st.fixed_dictionaries(
            {},
            optional={
                "resolve": st.dictionaries(
                    hosts, st.sampled_from(["127.0.0.1", "127.0.0.2:80", "[::1]:9"]), max_size=3
                ),
                "proxy": PROXIES,
                "hosts": st.dictionaries(
                    st.sampled_from(["a.b", "proxy.example.org", "onion"]),
                    st.fixed_dictionaries(
                        {},
                        optional={
                            "certificates": st.sampled_from(["verify", "accept"]),
                            "proxy": PROXIES,
                            "ca_file": st.just("/ca.pem"),
                            "client_certificate": st.just("/c.pem"),
                        },
                    ),
                    max_size=2,
                ),
                "allow_private": st.one_of(st.booleans(), st.lists(st.sampled_from(["10.0.0.0/8", "::1"]), max_size=2)),
            },
        ),
    },
)


@st.composite
def definitions(draw: st.DrawFn) -> dict[str, object]:
    return {
        "id": draw(names),
        "contact": "archive@example.org",
        "seeds": draw(st.lists(st.tuples(hosts, paths).map("http://{0[0]}{0[1]}".format), min_size=1, max_size=4)),
        "topic": {
            "keywords": ["photovoltaics", *draw(st.lists(names.map("solar {}".format), max_size=3))],
            "reference_crawl": draw(st.integers(0, 1000)),
        },
        **draw(sections),
    }


@pytest.mark.slow
@given(definitions())
def test_what_is_written_is_read_back(fields: dict[str, object]) -> None:
    icd = Icd.parse(yaml.safe_dump(fields, allow_unicode=True).encode())
    again = Icd.parse(icd.to_yaml().encode())
    assert again.model_dump() == icd.model_dump()
    assert again.fingerprint() == icd.fingerprint()
    assert changes(icd, again) == ()


@pytest.mark.slow
@given(definitions(), st.randoms(use_true_random=False))
def test_the_order_of_fields_and_lists_means_nothing(fields: dict[str, object], random: object) -> None:
    def shuffled(value: object) -> object:
        if isinstance(value, dict):
            items = list(value.items())
            random.shuffle(items)  # type: ignore[attr-defined]
            return {name: shuffled(inner) for name, inner in items}
        if isinstance(value, list):
            return random.sample(value, len(value))  # type: ignore[attr-defined]
        return value

    one = Icd.parse(yaml.safe_dump(fields, sort_keys=False).encode())
    other = Icd.parse(yaml.safe_dump(shuffled(fields), sort_keys=False).encode())
    assert one.fingerprint() == other.fingerprint()


def mistakes_or_none(content: bytes) -> tuple[str, ...]:
    try:
        Icd.parse(content, Path("x.yaml")).fingerprint()
    except IcdError as error:
        return tuple(map(str, error.mistakes)) or ("an IcdError without mistakes",)
    return ()


def parse_or_refuse(content: bytes) -> None:
    with at_most(5):
        for mistake in mistakes_or_none(content):
            assert mistake.startswith("x.yaml:")
            assert "\n" not in mistake


@given(st.binary(max_size=200))
@example(b"? ")
@example(b"a: " + b"9" * 5000)
@example(b"%YAML 9.9\n---\na: b")
def test_no_bytes_raise_anything_but_mistakes(content: bytes) -> None:
    parse_or_refuse(content)


@given(st.data())
def test_no_damage_to_a_definition_raises_anything_but_mistakes(data: st.DataObject) -> None:
    whole = (
        SMALLEST
        + "scope: {deny: [/a/], depth: 3}\nlimits: {time: 3 h, bytes: 2 GB}\nnetwork: {resolve: {a.b: '::1'}}\n"
    )
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(len(whole), start + 30)))
    inserted = data.draw(
        st.text(max_size=8) | st.sampled_from(["{", "[", "- ", ": ", "\n", "~", "&a", "*", "!!int ", "0x", "1e999"])
    )
    parse_or_refuse((whole[:start] + inserted + whole[end:]).encode("utf-8", "surrogatepass"))


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.slow
@given(st.sampled_from(list(Icd.model_fields)), json_like)
def test_no_value_of_a_field_raises_anything_but_mistakes(field: str, value: object) -> None:
    parse_or_refuse(SMALLEST.encode() + yaml.safe_dump({field: value}).encode())
    parse_or_refuse(yaml.safe_dump({**yaml.safe_load(SMALLEST), field: value}).encode())


@pytest.mark.parametrize("text", ["9" * 200, "9" * 300 + " GB", "1" + " " * 100_000 + "!", "1 a" * 60 + "!", "1.5.5"])
def test_what_is_nearly_an_amount_is_refused_at_once(text: str) -> None:
    began = time.process_time()
    for parse in (parse_duration, parse_size):
        with pytest.raises(ValueError, match="is no "):
            parse(text)
    assert time.process_time() - began < 1


@given(st.integers(0, 36_500 * 86_400 * 1000))
def test_durations_are_written_as_they_are_read(milliseconds: int) -> None:
    duration = timedelta(milliseconds=milliseconds)
    assert parse_duration(format_duration(duration)) == duration


@given(st.integers(0, 10**9), st.sampled_from([("kB", 10**3), ("MB", 10**6), ("MiB", 2**20), ("", 1)]))
def test_sizes_count_bytes(number: int, unit: tuple[str, int]) -> None:
    assert parse_size(f"{number} {unit[0]}") == number * unit[1]
