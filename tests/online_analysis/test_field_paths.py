"""Definitions made of the model itself: whatever a field may hold is read back from a crawl's folder."""

import types
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from aahcrawler.definitions import from_meaning
from online_analysis.icd import ANALYSERS, CaptureSource, Icd, changes
from online_analysis.icd.connections import ProxySection
from online_analysis.icd.mistakes import Section
from online_analysis.icd.scoping import Condition, Rule
from online_analysis.icd.secrets import Secret, Value
from online_analysis.icd.sections import Endpoint, Event

words = st.text(st.characters(exclude_categories=("Cs", "Cc", "Co", "Cn", "Zl", "Zp")), min_size=1, max_size=20).filter(
    str.split
)
hosts = st.sampled_from(
    [
        "a.test",
        "b.a.test",
        "user.test",
        "proxy.user",
        "a.proxy.url",
        "x.password.env",
        "env",
        "10.0.0.1",
        "a.port",
        "delay",
    ]
)
urls = st.tuples(hosts, st.from_regex(r"/[a-z0-9.;=&?]{0,12}", fullmatch=True)).map("https://{0[0]}{0[1]}".format)
patterns = st.from_regex(r"\*/[a-z.]{1,8}/[a-z.*?]{0,5}", fullmatch=True)
files = st.sampled_from(["/a.b/c", "~/.cookies"])
variables = st.sampled_from(["A", "env", "FORUM_PASSWORD"])
secrets = st.one_of(variables.map(lambda name: {"env": name}), files.map(lambda name: {"file": name}))
values = st.one_of(words, secrets)
names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,20}", fullmatch=True)
moments = st.datetimes(datetime(2000, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001

CHECKED: Mapping[str, st.SearchStrategy[object]] = {
    "_pattern": patterns,
    "_web_address": urls,
    "_line": words,
    "_sign": st.one_of(words, st.sampled_from(["css=a.logout", "xpath=//a"])),
    "_language": st.sampled_from(["de", "no", "el"]),
    "_folder_name": names,
    "as_host": hosts,
    "_site": st.one_of(hosts, st.just("seeds")),
    "_bare_host": hosts,
    "_bound": st.sampled_from(["at most 3", "> 2"]),
    "_path": st.sampled_from(["L*", "*F?"]),
    "_media_type": st.sampled_from(["video/*", "application/pdf"]),
    "_parameter": st.sampled_from(["utm_*", "a.b"]),
    "_file_name": st.sampled_from(["index.html", "default.asp"]),
    "_whole_path": files,
    "_delivery_address": st.just("/mnt/a"),
    "_analyser": st.sampled_from(ANALYSERS),
    "_contact": st.sampled_from(["a@example.org", "https://example.org/we"]),
    "_folded": words,
    "_header_values": st.dictionaries(
        st.sampled_from(["X-A", "a.b", "env", "file"]), st.one_of(names, secrets), max_size=2
    ),
    "_field_values": st.dictionaries(st.sampled_from(["user", "a.b", "file"]), values, min_size=1, max_size=2),
    "_duration": st.integers(0, 10**9).map(lambda number: timedelta(milliseconds=number)),
    "_network": st.sampled_from(["10.0.0.0/8", "::1"]).map(ip_network),
}
"""What a value may be whose type is checked by a function of that name."""
MADE: Mapping[type, st.SearchStrategy[object]] = {
    Value: values,
    Secret: secrets,
    Endpoint: st.sampled_from(["127.0.0.1", "127.0.0.2:80", "[::1]:9"]),
    Event: st.tuples(moments, moments).map(sorted).map(lambda both: {"start": both[0], "end": both[1]}),
    CaptureSource: st.one_of(
        st.just("live"),
        st.fixed_dictionaries({"archive": st.lists(files, min_size=1, max_size=2)}, optional={"name": words}),
        st.fixed_dictionaries({"cdx": st.fixed_dictionaries({"server": urls, "replay": urls})}),
        st.fixed_dictionaries({"memento": st.fixed_dictionaries({"timemap": urls}, optional={"timegate": urls})}),
    ),
    ProxySection: st.one_of(
        st.sampled_from(["direct", "http://p.test:3128"]),
        st.fixed_dictionaries({"url": st.just("socks5h://p.test:1")}, optional={"user": words, "password": secrets}),
    ),
}
"""Sections of which not every combination of fields stands."""


def of_field(field: FieldInfo) -> st.SearchStrategy[object]:
    return of(field.annotation, tuple(field.metadata))


def of(kind: Any, notes: tuple[Any, ...] = ()) -> st.SearchStrategy[object]:
    """Return a strategy for what a field of a type may hold; fail for a type that nobody has thought of."""
    if get_origin(kind) is Annotated:
        inner, *more = get_args(kind)
        return of(inner, (*notes, *more))
    for note in reversed(notes):
        name = getattr(getattr(note, "func", None), "__name__", "")
        if name in CHECKED:
            return CHECKED[name]
    if get_origin(kind) in {Union, types.UnionType}:
        return st.one_of(*(of(each, notes) for each in get_args(kind)))
    if get_origin(kind) is Literal:
        return st.sampled_from(get_args(kind))
    if get_origin(kind) is tuple:
        fewest = (
            1 if any(getattr(getattr(note, "func", None), "__name__", "").startswith("_some") for note in notes) else 0
        )
        return st.lists(of(get_args(kind)[0]), min_size=fewest, max_size=2)
    if get_origin(kind) is Mapping:
        key, value = get_args(kind)
        return st.dictionaries(of(key), of(value), max_size=2)
    return of_class(kind, notes)


def of_class(kind: Any, notes: tuple[Any, ...]) -> st.SearchStrategy[object]:
    if kind in MADE:
        return MADE[kind]
    if kind is Condition:
        return conditions
    if kind is Rule:
        return st.tuples(st.sampled_from(["refuse", "require"]), conditions).map(lambda both: {both[0]: both[1]})
    if isinstance(kind, type) and issubclass(kind, Section):
        return st.deferred(lambda: of_section(kind))
    least: Any = next((note.ge for note in notes if isinstance(note, annotated_types.Ge)), 0)
    most: Any = next((note.le for note in notes if isinstance(note, annotated_types.Le)), least + 10**6)
    plain: Mapping[Any, Callable[[], st.SearchStrategy[object]]] = {
        types.NoneType: st.none,
        bool: st.booleans,
        int: lambda: st.integers(least, most),
        float: lambda: st.floats(least, most),
        str: lambda: words,
        datetime: lambda: moments,
        Path: lambda: st.just(Path("out")),
    }
    return plain[kind]()


def of_section(section: type[Section], without: tuple[str, ...] = ()) -> st.SearchStrategy[dict[str, object]]:
    """Return a strategy for the fields of a section, any of which may be left out unless it has to be given."""
    kinds = {name: field for name, field in section.model_fields.items() if name not in without}
    return st.fixed_dictionaries(
        {name: of_field(field) for name, field in kinds.items() if field.is_required()},
        optional={name: of_field(field) for name, field in kinds.items() if not field.is_required()},
    )


conditions: st.SearchStrategy[dict[str, object]] = st.recursive(
    of_section(Condition, without=("all", "any", "not_")).filter(bool),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=2).map(lambda several: {"all": several}),
        inner.map(lambda one: {"not": one}),
    ),
    max_leaves=3,
)


def ordered(value: object) -> object:
    """Return a dump in which the order of lists is lost, as it is in what a definition means."""
    if isinstance(value, dict):
        return {name: ordered(inner) for name, inner in value.items()}
    return sorted(map(repr, map(ordered, value))) if isinstance(value, list) else value


def test_lists_whose_order_has_a_meaning_keep_it() -> None:
    smallest = {"id": "a", "contact": "a@example.org", "seeds": ["http://b.test/", "http://a.test/"]}
    sources = [{"memento": {"timegate": "http://m.test/"}}, "live", {"archive": ["b", "a"]}]
    icd = Icd.model_validate({**smallest, "captures": {"sources": sources}})
    again = from_meaning(icd.meaning(), icd.output)
    assert again.captures == icd.captures
    assert again.seeds == ("http://a.test/", "http://b.test/")
    turned = Icd.model_validate({**smallest, "captures": {"sources": sources[::-1]}})
    assert changes(icd, turned) == ("captures.sources",)


@pytest.mark.slow
@pytest.mark.parametrize("section", sorted(set(Icd.model_fields) - {"archive", "output", "metadata"}))
@settings(
    max_examples=settings().max_examples // 2,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(st.data())
def test_every_field_is_read_back_from_what_it_means(section: str, data: st.DataObject) -> None:
    smallest = {"id": "a", "contact": "a@example.org", "seeds": ["http://a.test/"], "topic": {"keywords": ["flood"]}}
    found = data.draw(of_field(Icd.model_fields[section]))
    try:
        icd = Icd.model_validate({**smallest, section: found})
    except ValidationError:
        assume(False)
    again = from_meaning(icd.meaning(), icd.output)
    assert changes(icd, again) == ()
    assert ordered(again.model_dump(mode="json")) == ordered(icd.model_dump(mode="json"))
