"""What a reference crawl adds to a topic, and what it must not."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from online_analysis.analysers import TextAnalyser
from online_analysis.refinement import MAX_TERMS, PageNote, RefinementOutcome, Trusted, note_of, refine
from online_analysis.terms import Lexicon
from online_analysis.topic import Topic
from tests.online_analysis.topical_world import KEYWORDS, document, naming, other, speaking

LEXICON = Lexicon()
TRUSTED = Trusted(0.2, frozenset({"http://a.test/naming/0"}))


def notes(topic: Topic, name: str, texts: Sequence[Sequence[str]], language: str | None = "en") -> list[PageNote]:
    analyser = TextAnalyser(topic)
    pages = [document(f"http://{'abc'[i % 3]}.test/{name}/{i}", text, language) for i, text in enumerate(texts)]
    return [
        note_of(page, topic.counting.of(page), page.url.split("/")[2], analyser.analyse(page).document or 0.0)
        for page in pages
    ]


def worth(topic: Topic, text: Sequence[str], language: str | None = "en") -> float:
    return TextAnalyser(topic).analyse(document("http://d.test/", text, language)).document or 0.0


@pytest.fixture(scope="module")
def topic() -> Topic:
    return Topic(KEYWORDS, (), LEXICON)


@pytest.fixture(scope="module")
def pages(topic: Topic) -> list[PageNote]:
    about = [naming(i) for i in range(9)]
    return [*notes(topic, "naming", about), *notes(topic, "other", [other(i) for i in range(16)])]


def test_pages_that_speak_the_topics_language_become_relevant(topic: Topic, pages: list[PageNote]) -> None:
    found = refine(pages, topic, TRUSTED)
    assert found.outcome is RefinementOutcome.TAKEN
    refined = topic.refined(found.terms)
    for number in range(6):
        assert worth(topic, speaking(number)) == 0.0
        assert worth(refined, speaking(number)) >= 0.2
        assert worth(refined, naming(number)) > worth(topic, naming(number))
        assert worth(refined, naming(number)) > worth(refined, speaking(number))
        assert worth(refined, other(number)) < 0.05


def test_terms_are_words_that_people_write_and_new_ones(topic: Topic, pages: list[PageNote]) -> None:
    terms = refine(pages, topic, TRUSTED).terms
    assert "modules" in terms
    assert not {"solar", "power", "photovoltaics", "dough", "council", "the"} & terms.keys()
    assert 0 < len(terms) <= MAX_TERMS
    assert max(terms.values()) == 1.0
    assert list(terms.values()) == sorted(terms.values(), reverse=True)


def test_what_was_learned_has_less_say_than_what_was_given(topic: Topic, pages: list[PageNote]) -> None:
    learned = refine(pages, topic, TRUSTED).terms
    weights = topic.refined(learned).vector("en").keywords.weights
    of_given = sum(weights[term] ** 2 for term in topic.vector("en").keywords.weights)
    assert of_given == pytest.approx(0.8, abs=0.05)
    assert topic.refined({}).vector("en") == Topic(KEYWORDS, (), LEXICON).vector("en")


@given(st.randoms(use_true_random=False))
def test_the_order_of_pages_does_not_matter(topic: Topic, pages: list[PageNote], random: object) -> None:
    shuffled = list(pages)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert refine(shuffled, topic, TRUSTED) == refine(pages, topic, TRUSTED)


def test_of_few_relevant_pages_nothing_is_learned(topic: Topic, pages: list[PageNote]) -> None:
    found = refine([*pages[:4], *pages[9:]], topic, TRUSTED)
    assert (found.outcome, found.terms, found.pages) == (RefinementOutcome.TOO_FEW, {}, 20)


def test_without_other_pages_nothing_is_learned(topic: Topic, pages: list[PageNote]) -> None:
    assert (
        refine([page for page in pages if page.worth >= 0.2][:6], topic, TRUSTED).outcome is RefinementOutcome.NO_OTHERS
    )


def test_of_pages_that_only_share_the_keywords_nothing_is_learned(topic: Topic) -> None:
    about = [["Solar power.", "Photovoltaics.", "Solar power.", f"{word} {word}"] for word in "abcdefg"]
    found = refine([*notes(topic, "n", about), *notes(topic, "o", [other(i) for i in range(9)])], topic, TRUSTED)
    assert (found.outcome, found.terms) == (RefinementOutcome.NOTHING, {})


CAT = "The jaguar, a big cat, hunts in the rain forest at night; the jaguar follows its prey along the river."
CAR = (
    "The jaguar has a new engine and a gearbox of eight gears. The jaguar sedan with leather seats won the race. "
    "Every jaguar engine is tested, and the jaguar dealer sells the sedan."
)


def test_what_would_lead_away_from_the_seeds_is_refused() -> None:
    """The reference crawl met a hundred times more of the car than of the animal that the seeds are about."""
    topic = Topic(["jaguar", "big cat"], (), LEXICON)
    cars = notes(topic, "car", [[CAR, *other(i)[:1]] for i in range(12)])
    cats = notes(topic, "cat", [[CAT]])
    others = notes(topic, "other", [other(i) for i in range(20)])
    seeds = frozenset(page.url for page in cats)
    found = refine([*cars, *cats, *others], topic, Trusted(0.2, seeds))
    assert found.outcome is RefinementOutcome.DRIFT
    assert found.terms == {}
    assert {"gearbox", "engine"} & found.refused.keys()


def test_so_is_what_would_lead_away_from_reference_documents() -> None:
    topic = Topic(["jaguar"], [CAT, f"{CAT} The forest is home to the cat and its prey."], LEXICON)
    cars = [page.model_copy(update={"worth": 0.5}) for page in notes(topic, "car", [[CAR]] * 12)]
    others = notes(topic, "other", [other(i) for i in range(20)])
    found = refine([*cars, *others], topic, Trusted(0.2, frozenset(), (CAT,)))
    assert found.outcome is RefinementOutcome.DRIFT


def test_the_boilerplate_of_one_site_is_not_learned(topic: Topic) -> None:
    imprint = "Published by the Sunflower Gazette of Greenville, Sunflower Gazette archive."
    about = [[*naming(i), *([imprint] * 3 if i % 3 == 0 else [])] for i in range(12)]
    found = refine([*notes(topic, "n", about), *notes(topic, "o", [other(i) for i in range(16)])], topic, TRUSTED)
    assert found.outcome is RefinementOutcome.TAKEN
    assert not {"sunflower", "gazette", "sunflower gazette", "greenville"} & found.terms.keys()


WORLDS = {
    "de": (
        ["Windkraft"],
        "Die Windkraft treibt das Rotorblatt; Windkraft heißt Windkraft. Rotorblätter drehen den Generator der Gondel.",
        "Der Teig muss ruhen, dann backt der Bäcker das Brot im Ofen. Der Chor singt am Abend in der Kirche.",
        "Ein Rotorblatt dreht sich, der Generator in der Gondel speist ein. Windräder brauchen Generatoren.",
        "rotorblatt",
    ),
    "fr": (
        ["éoliennes"],
        "Les éoliennes tournent. Les pales du rotor entraînent la génératrice dans la nacelle de chaque éolienne.",
        "La pâte doit reposer avant que le boulanger cuise le pain. La chorale chante le soir dans la petite église.",
        "La nacelle abrite la génératrice; les pales du rotor sont longues. Une pale se change sans la nacelle.",
        "nacelle",
    ),
    "el": (
        ["ανεμογεννήτριες"],
        "Οι ανεμογεννήτριες γυρίζουν. Τα πτερύγια του ρότορα κινούν τη γεννήτρια στην άτρακτο της ανεμογεννήτριας.",
        "Η ζύμη πρέπει να ξεκουραστεί πριν ψηθεί το ψωμί στον φούρνο. Η χορωδία τραγουδά το βράδυ στην εκκλησία.",
        "Η άτρακτος κρύβει τη γεννήτρια και τα πτερύγια είναι μακριά. Ο ρότορας γυρίζει τα πτερύγια.",
        "πτερύγια",
    ),
    "zh": (
        ["风力发电"],
        "风力发电靠风轮叶片带动机舱里的齿轮箱。风轮叶片越长，风力发电越多，机舱越重。",
        "面团需要静置一小时，然后放进烤箱烘焙面包。合唱团晚上在教堂里唱歌。",
        "机舱里有齿轮箱，风轮叶片很长。更换风轮叶片需要打开机舱。",
        "机舱",
    ),
}


@pytest.mark.parametrize("code", WORLDS)
def test_other_languages_are_refined_as_sensibly(code: str) -> None:
    keywords, about, elsewhere, near, word = WORLDS[code]
    topic = Topic(keywords, (), LEXICON)
    best = notes(topic, "n", [[about, about[i:]] for i in range(9)], code)
    others = notes(topic, "o", [[elsewhere, elsewhere[i:]] for i in range(16)], code)
    assert min(page.worth for page in best) > 0.2 > 0.01 > max(page.worth for page in others)
    found = refine([*best, *others], topic, Trusted(0.2))
    assert found.outcome is RefinementOutcome.TAKEN
    assert any(word in term for term in found.terms), found.terms
    refined = topic.refined(found.terms)
    assert worth(topic, [near], code) < 0.1
    assert worth(refined, [near], code) > worth(topic, [near], code) + 0.1
    assert worth(refined, [elsewhere], code) < 0.05


def test_phrases_are_learned_as_phrases(topic: Topic) -> None:
    about = [[*naming(i), "The heat pump is quiet.", "A heat pump needs current."] for i in range(12)]
    others = [[*other(i), "The heat was great.", "The pump broke."] if i % 2 else other(i) for i in range(16)]
    found = refine([*notes(topic, "n", about), *notes(topic, "o", others)], topic, TRUSTED)
    assert "heat pump" in found.terms
    assert not {"heat", "pump"} & found.terms.keys()


def test_reference_documents_are_refined_as_well(pages: list[PageNote]) -> None:
    given = Topic((), [" ".join(naming(0))], LEXICON)
    refined = given.refined(refine(pages, given, Trusted(0.2)).terms or {"inverter": 1.0, "heat pump": 0.5})
    assert worth(refined, ["inverter"] * 200) > worth(given, ["inverter"] * 200)
    assert refined.vector("en").keywords.weights == {}
