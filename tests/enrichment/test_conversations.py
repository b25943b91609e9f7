import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aahcrawler.annotations import Annotation, Kind
from aahcrawler.objects import vocabulary as v
from offline.enrichment.annotator import ObjectText
from offline.enrichment.conversations import (
    Conversation,
    Conversations,
    Edges,
    communities,
    conversations_of,
    influence,
)
from offline.enrichment.reply_ties import MAX_ANSWERED, Answer, Threads, TieKind


def post(name: str, author: str, text: str = "The dike held.", **more: Any) -> ObjectText:
    made = ObjectText(
        f"urn:{name}", f"urn:uuid:{name}", "post", "http://www.a.test/t/1", text, author=author, part_of="urn:thread"
    )
    told = {"is_in_thread": True, "captured": f"2026-03-01T10:00:00Z {name}", **more}
    return replace(made, site="a.test", **told)


def said(objects: Sequence[ObjectText], answers: Iterable[Answer] = ()) -> list[Annotation]:
    return list(Conversations(lambda: answers).annotate(lambda: iter(objects), lambda: iter(())))


def ties(objects: Sequence[ObjectText], answers: Iterable[Answer] = ()) -> set[tuple[str, str, str]]:
    found = (each for each in said(objects, answers) if each.kind is Kind.CONVERSATION)
    return {(each.object.removeprefix("urn:"), each.label, dict(each.values)["tie"]) for each in found}


def conversations(objects: Sequence[ObjectText], answers: Iterable[Answer] = ()) -> dict[str, Conversation]:
    return conversations_of(Threads(objects, answers), objects)


def test_an_object_answers_whom_its_page_says_that_it_answers() -> None:
    objects = [post("1", "Anna"), post("2", "Bert"), post("3", "Clara")]
    assert ties(objects, [Answer("urn:3", "urn:2")]) == {("3", "Bert", "reply")}
    (found,) = said(objects, [Answer("urn:3", "urn:2")])
    assert found.iri == "urn:aahcrawler:person:a.test:Bert"
    assert found.quote == "The dike held."
    assert dict(found.values)["answers"] == "urn:2"
    assert dict(found.values)["author"] == "Clara"


def test_order_in_a_thread_is_no_answer() -> None:
    objects = [post(str(n), name, published="2026-03-01") for n, name in enumerate(("Anna", "Bert", "Clara"))]
    assert ties(objects) == set()


def test_whoever_opened_the_thread_is_answered_weakly_where_that_is_certain() -> None:
    dated = [post(str(n), name, published=f"2026-03-0{n}") for n, name in ((1, "Anna"), (2, "Bert"), (3, "Clara"))]
    assert ties(dated) == {("2", "Anna", "opener"), ("3", "Anna", "opener")}
    assert {each.confidence for each in said(dated)} == {0.25}
    undated = [*dated, post("4", "Dora")]
    assert ties(undated) == set()
    vague = [*dated, post("4", "Dora", published="2026-03-01T09:00:00+01:00")]
    assert ties(vague) == set()
    asked = [replace(each, type="answer", published="") for each in dated]
    asked[1] = replace(asked[1], type="question")
    assert ties(asked) == {("1", "Bert", "opener"), ("3", "Bert", "opener")}


def test_a_part_of_an_object_answers_it_unless_it_answers_another() -> None:
    article = replace(post("1", "Anna"), type="article", part_of="")
    comments = [replace(post(str(n), name), type="comment", part_of="urn:1") for n, name in ((2, "Bert"), (3, "Clara"))]
    objects = [article, *comments]
    assert ties(objects) == {("2", "Anna", "nested"), ("3", "Anna", "nested")}
    assert ties(objects, [Answer("urn:3", "urn:2")]) == {("2", "Anna", "nested"), ("3", "Bert", "reply")}


def test_people_of_the_thread_are_called_by_an_at_sign() -> None:
    text = "@bert and @Clara Maria, see b@anna.test or https://a.test/@Anna"
    others = [post("1", "Bert"), post("2", "Clara"), post("3", "Clara Maria"), post("4", "Anna")]
    called = post("5", "Dora", text)
    assert ties([called, *others]) == {("5", "Bert", "call"), ("5", "Clara Maria", "call")}
    assert {text[each.start : each.end] for each in said([called, *others])} == {"@bert", "@Clara Maria"}
    elsewhere = [replace(each, part_of="urn:other") for each in others]
    assert ties([called, *elsewhere]) == set()


@pytest.mark.parametrize(
    "text",
    [
        "Bert, that is not so.",
        "It rained.\nBert: and then?",
        "Hi Bert! Thanks.",
        "Danke Bert\nDas hilft.",
        "As bert wrote above, it held.",
        "Wie Bert oben schon schrieb, hielt er.",
        "No doubt. Bert a écrit que non.",
    ],
)
def test_people_of_the_thread_are_answered_who_are_addressed_or_said_to_have_said_something(text: str) -> None:
    thread = [post("1", "Bert"), post("2", "Clara", text)]
    assert ties(thread) == {("2", "Bert", "named")}
    (found,) = said(thread)
    assert (found.quote.casefold(), found.confidence) == ("bert", 0.75)


@pytest.mark.parametrize(
    "text",
    [
        "Bert and I went there.",
        "I saw Bert, and he wrote.",
        "Bert left. Nobody wrote.",
        "Bertram: no.",
        "Bert was there when they all wrote.",
    ],
)
def test_who_is_merely_spoken_of_is_not_answered(text: str) -> None:
    assert ties([post("1", "Bert"), post("2", "Clara", text)]) == set()


def test_nobody_answers_themselves_nor_somebody_of_another_site() -> None:
    objects = [post("1", "Anna"), post("2", "Anna"), replace(post("3", "Anna"), site="b.test"), post("4", "")]
    answers = [Answer("urn:2", "urn:1"), Answer("urn:3", "urn:1"), Answer("urn:4", "urn:1"), Answer("urn:1", "urn:no")]
    assert ties(objects, answers) == set()
    found = conversations(objects, answers)
    assert {site: [*each.voices] for site, each in found.items()} == {"a.test": ["Anna"], "b.test": ["Anna"]}
    assert found["a.test"].voices["Anna"].iri != found["b.test"].voices["Anna"].iri


def test_the_last_version_of_an_object_counts_alone() -> None:
    former = post("2", "Bert")
    now = replace(former, capture="urn:uuid:later", captured="2026-04-01T00:00:00Z", text="The dike broke.")
    for objects in ([post("1", "Anna"), former, now], [now, post("1", "Anna"), former]):
        (found,) = said(objects, [Answer("urn:2", "urn:1")])
        assert found.capture == "urn:uuid:later"
        assert conversations(objects)["a.test"].voices["Bert"].objects == 1


def crowd(size: int = 5) -> tuple[list[ObjectText], list[Answer]]:
    """Return two groups of people who answer one another, with one answer between them."""
    objects, answers = [], []
    for group in "ab":
        for one in range(size):
            for other in range(size):
                name = f"{group}{one}{other}"
                month = f"2026-0{1 + one}-07"
                objects.append(post(name, f"{group}{one}", part_of=f"urn:thread:{name}", published=month))
                if one != other:
                    answers.append(Answer(f"urn:{name}", f"urn:{group}{other}{other}"))
    objects.append(post("between", "a0", part_of="urn:thread:between"))
    answers += [Answer("urn:between", "urn:b00")] + [Answer(f"urn:a{n}{n}", "urn:a00") for n in range(1, size)]
    return objects, answers


def test_groups_who_answer_one_another_are_communities() -> None:
    objects, answers = crowd()
    found = conversations(objects, answers)["a.test"]
    assert {frozenset(each.members) for each in found.communities.values()} == {
        frozenset(f"{group}{n}" for n in range(5)) for group in "ab"
    }
    assert {each.members[0] for each in found.communities.values()} == {"a0", "b0"}
    assert found.voices["a0"].months == (("2026-01", 5),)
    relation = next(each for each in found.relations if (each.source, each.target) == ("a1", "a0"))
    assert relation.kinds == ((TieKind.REPLY, 2),)
    assert relation.weight == 2
    assert relation.months == (("2026-02", 2),)
    memberships = [each for each in said(objects, answers) if each.kind is Kind.COMMUNITY]
    assert {each.object for each in memberships} == {each.object for each in objects}
    assert {each.label for each in memberships} == {", ".join(each.members[:3]) for each in found.communities.values()}


def test_the_order_of_objects_and_answers_does_not_matter() -> None:
    objects, answers = crowd()
    lot = random.Random(1)
    shuffled = said(lot.sample(objects, len(objects)), lot.sample(answers, len(answers)))
    assert sorted(shuffled, key=repr) == sorted(said(objects, answers), key=repr)


def test_a_community_keeps_its_iri_as_it_grows() -> None:
    objects, answers = crowd()
    grown = [*objects, post("zz", "new", part_of="urn:thread:zz")]
    more = [*answers, *(Answer("urn:zz", f"urn:b{n}{n}") for n in range(5))]
    before, after = conversations(objects, answers)["a.test"], conversations(grown, more)["a.test"]
    assert set(before.communities) == set(after.communities)
    assert after.voices["new"].community == before.voices["b0"].community


def test_a_crowd_of_one_author_and_a_text_that_calls_everybody_are_bounded_work() -> None:
    alone = [post(str(n), "Anna") for n in range(3_000)]
    assert said(alone) == []
    names = [f"p{n}" for n in range(200)]
    everybody = [post(name, name) for name in names]
    calling = post("calling", "Zoe", " ".join(f"@{name}" for name in names) * 20)
    assert len(said([calling, *everybody])) == MAX_ANSWERED
    assert said([post("at", "Zoe", "@" * 1_000_000), *everybody]) == []


def graphs() -> Iterator[tuple[int, Edges]]:
    for seed in range(4):
        lot = random.Random(seed)
        people = 10 * (seed + 1)
        pairs = {(lot.randrange(people), lot.randrange(people)) for _ in range(3 * people)}
        yield people, {pair: lot.choice((0.25, 0.5, 1.0, 3.0)) for pair in sorted(pairs) if pair[0] != pair[1]}


@pytest.mark.parametrize(("people", "edges"), list(graphs()))
def test_influence_is_page_rank(people: int, edges: Edges) -> None:
    import networkx  # What it imports takes long.

    graph = networkx.DiGraph()
    graph.add_nodes_from(range(people))
    graph.add_weighted_edges_from((*pair, weight) for pair, weight in edges.items())
    expected = networkx.pagerank(graph, tol=1e-12)
    assert influence(people, edges) == pytest.approx([expected[n] for n in range(people)], abs=2e-6)


@pytest.mark.parametrize(("people", "edges"), list(graphs()))
def test_communities_are_as_well_told_apart_as_another_program_does(people: int, edges: Edges) -> None:
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(range(people))
    for (one, other), weight in edges.items():
        former = graph.get_edge_data(one, other, {"weight": 0.0})["weight"]
        graph.add_edge(one, other, weight=former + weight)
    found = communities(people, edges)
    groups = [{n for n in range(people) if found.of[n] == each} for each in set(found.of)]
    assert networkx.community.modularity(graph, groups) == pytest.approx(found.modularity, abs=1e-6)
    other = networkx.community.louvain_communities(graph, seed=1)
    assert found.modularity >= networkx.community.modularity(graph, other) - 0.03


def test_nobody_and_people_without_ties_have_no_influence_to_share() -> None:
    assert influence(0, {}) == []
    assert influence(2, {}) == [0.5, 0.5]
    assert communities(2, {}).of == (0, 1)


def test_answers_are_read_from_what_a_crawl_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    statement = (
        f'<urn:2> <{v.PROPERTIES["parent"]}> <urn:1> <urn:uuid:c> .\n<urn:2> <{v.TITLE}> "<urn:3>" <urn:uuid:c> .\n'
    )
    monkeypatch.setattr("offline.enrichment.reply_ties.texts", lambda _: iter([statement.encode()]))
    from offline.enrichment.reply_ties import answers_in

    assert [*answers_in(tmp_path)] == [Answer("urn:2", "urn:1")]


def entry(name: str, author: str, text: str, **more: Any) -> ObjectText:
    """Return an entry of a page of which nothing says that it is a thread."""
    return post(name, author, text, is_in_thread=False, **more)


def test_where_nothing_says_that_there_is_a_thread_nobody_answers_who_was_first() -> None:
    entries = [entry(str(n), name, "The dike held.", published=f"2026-03-0{n}") for n, name in enumerate("ABC", 1)]
    assert ties(entries) == set()
    entries += [entry("4", "Dora", "@A it did."), entry("5", "Emil", "B: so it seems."), entry("6", "Fritz", "I see.")]
    assert ties([*entries, replace(entry("7", "Gerda", "> held"), quoted=("urn:3", "urn:7"))]) == {
        ("4", "A", "call"),
        ("5", "B", "named"),
        ("7", "C", "quote"),
    }


def test_subjects_that_are_answered_make_threads_of_mail_on_one_page() -> None:
    mails = [
        entry("1", "Ida", "Who has pumps?", title="Pumps"),
        entry("2", "Karl", "We have.", title="Re: Pumps"),
        entry("3", "Mia", "Who owns the barns?", title="Barns"),
        entry("4", "Nils", "Which ones?", title="AW: Re: pumps"),
        entry("5", "Ole", "Me.", title="Re: Wells"),
        entry("6", "Per", "Hello."),
    ]
    assert ties(mails) == {("2", "Ida", "opener"), ("4", "Ida", "opener")}


@pytest.mark.parametrize(
    "text", ["Clara, it is open.", "@clara it is open.", "Am 3. Mai schrieb Clara Wendt:\nIst offen?"]
)
def test_somebody_is_called_by_a_given_name_that_nobody_else_there_has(text: str) -> None:
    told = {(name, tie) for _, name, tie in ties([entry("1", "Clara Wendt", "Open?"), entry("2", "Dieter", text)])}
    assert {name for name, _ in told} == {"Clara Wendt"}
    two = [entry("1", "Clara Wendt", "Open?"), entry("3", "Clara Holm", "Yes."), entry("2", "Dieter", text)]
    assert {name for _, name, _ in ties(two)} == ({"Clara Wendt"} if "Wendt" in text else set())


def test_first_words_of_names_that_are_no_given_names_call_nobody() -> None:
    assert ties([entry("1", "The Miller", "Open?"), entry("2", "Dieter", "The: what?")]) == set()


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        ([], "no object says who wrote it"),
        ([entry("1", "", "Open?")], "no object says who wrote it"),
        ([entry("1", "Anna", "Open?"), entry("2", "Anna", "Yes.")], "no two people speak"),
        ([entry("1", "Anna", "Open?"), entry("2", "Bert", "Yes.")], "of 2 objects beside those of others none quotes"),
        (
            [entry("1", "Anna", "Open?"), entry("2", "Bert", "@Anna yes."), entry("3", "Carl", "Anna, no.")],
            "2 answers among 3 people on 1 site: 1 by @name, 1 by name",
        ),
    ],
)
def test_what_was_found_or_why_there_is_nothing_is_told(objects: list[ObjectText], words: str) -> None:
    annotator = Conversations()
    assert len(list(annotator.annotate(lambda: iter(objects), lambda: iter(())))) == ("among" in words) * 2
    (told,) = annotator.told({})
    assert words in told
