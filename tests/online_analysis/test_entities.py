import logging
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from online_analysis.analysers import EntityAnalyser, analysers
from online_analysis.analysers.entities import EntityFinder, Mention
from online_analysis.document import Outlink
from online_analysis.icd import Icd, IcdError
from online_analysis.terms import Lexicon
from online_analysis.topic import build_topic
from tests.online_analysis.definitions import SMALLEST
from tests.online_analysis.documents import page

LEXICON = Lexicon()
NAMES = (
    "Hermann Scheer",
    "Freiburg",
    "European Union",
    "WHO",
    "Theresa May",
    "Αντώνης Σαμαράς",
    "Union européenne",
    "太阳能协会",
    "安倍晋三",
    "서울",
    "G20",
)


@cache
def finder_of(*names: str, model: Path | None = None) -> EntityFinder:
    """Return what finds names, helped by a model if one is given. spaCy is imported here: it takes a second."""
    from online_analysis.analysers.gazetteer import Gazetteer, load_model

    return Gazetteer(names, LEXICON.language, None if model is None else load_model(str(model)))


def found(text: str, language: str | None, *names: str) -> list[str]:
    """Return which of some names, or of NAMES, are named in whole."""
    return [mention.entity for mention in finder_of(*names or NAMES).find(text, language) if not mention.short]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "language", "entities"),
    [
        ("In Freiburg sprach Hermann Scheer.", "de", ["Freiburg", "Hermann Scheer"]),
        ("Hermann Scheers Rede; HERMANN SCHEER, hermann scheer", "de", ["Hermann Scheer"] * 3),
        ("Ο πρωθυπουργός Αντώνη Σαμαρά; ΑΝΤΩΝΗΣ ΣΑΜΑΡΑΣ", "el", ["Αντώνης Σαμαράς"] * 2),
        ("Le budget de l'Union européenne", "fr", ["Union européenne"]),
        ("据太阳能协会报道安倍晋三在Freiburg。", "zh", ["太阳能协会", "安倍晋三", "Freiburg"]),
        ("안녕 서울은 크다", "ko", ["서울"]),
        ("Scheer (Freiburg/G20)", None, ["Freiburg", "G20"]),
        ("The WHO warns: who may say so?", "en", ["WHO"]),
        ("theresa may in parliament, and it may rain", "en", ["Theresa May"]),
        ("Freiburgensia, XFreiburg and freiburgerei; a credit union of europeans", "en", []),
        ("XFreiburgX在北京", "zh", []),
        ("", "en", []),
    ],
)
def test_names_are_found_in_any_case_and_form(text: str, language: str | None, entities: list[str]) -> None:
    assert found(text, language) == entities


def test_a_word_of_a_name_is_a_short_mention_and_counts_by_what_it_says() -> None:
    (family,) = finder_of(*NAMES).find("He asked Scheer.", "en")
    common = next(
        each for each in finder_of(*NAMES).find("The Union of students.", "en") if each.entity == "European Union"
    )
    assert (family.entity, family.short, common.short) == ("Hermann Scheer", True, True)
    assert 0 < common.overlap < family.overlap < 0.5


def test_of_two_names_that_overlap_the_longer_counts() -> None:
    names = ("York", "New York", "New York Times")
    assert found("The New York Times of York and New York", "en", *names) == ["New York Times", "York", "New York"]


def test_names_are_found_wherever_they_stand_in_a_long_text() -> None:
    filler = "many words without any name in them " * 100
    text = f"{filler} Freiburg {filler} Hermann Scheer {filler}G20"
    assert found(text, "en") == ["Freiburg", "Hermann Scheer", "G20"]
    assert found(f"{'x' * 3000}。安倍晋三{'太' * 3000}", "zh") == ["安倍晋三"]


@pytest.mark.slow
@given(
    st.lists(st.sampled_from([*NAMES, "Scheer", "may", "the", "Union", "和", "l'", ".", "\n"]) | st.text(max_size=8)),
    st.sampled_from(["en", "de", "el", "zh", "ko", "fr", None, "xx", "no-such"]),
)
def test_any_text_gives_mentions_that_overlap_with_a_name(words: list[str], language: str | None) -> None:
    text = " ".join(words)
    mentions = finder_of(*NAMES).find(text, language)
    assert all(mention.entity in NAMES and 0 < mention.overlap <= 1 for mention in mentions)
    assert mentions == finder_of(*NAMES).find(text, language)


def score_of(*texts: str, title: str = "") -> float:
    score = EntityAnalyser(finder_of(*NAMES)).analyse(page(*texts, title=title)).document
    assert score is not None
    return score


def test_more_entities_and_more_mentions_give_a_higher_score() -> None:
    once, often = score_of("Freiburg"), score_of("Freiburg, Freiburg and Freiburg")
    two = score_of("Freiburg, Freiburg and Freiburg. Hermann Scheer, Hermann Scheer")
    assert once == pytest.approx(0.3)
    assert 0 == score_of("nobody") < once < often < two < 1
    assert score_of("nobody", title="Freiburg") > once


def test_a_passing_mention_in_a_long_text_counts_little() -> None:
    assert score_of("Freiburg", "words that name nobody " * 800) < 0.15


def test_a_family_name_stands_for_the_whole_name_where_the_page_has_it() -> None:
    alone = score_of("Scheer said so. Scheer went home.")
    assert score_of("Hermann Scheer. Scheer said so. Scheer went home.") == pytest.approx(
        score_of("Hermann Scheer " * 3)
    )
    assert 0 < alone < 0.2


def test_links_beside_names_score_higher() -> None:
    links = [
        Outlink("http://a.test/1", "Hermann Scheer", context="by Hermann Scheer"),
        Outlink("http://a.test/2", "his speech", context="Hermann Scheer gave his speech"),
        Outlink("http://a.test/3", "recipes", context="recipes"),
        Outlink("http://a.test/4", "2", context="12"),
    ]
    scores = EntityAnalyser(finder_of(*NAMES)).analyse(page("Freiburg", links=links))
    first, second, third, fourth = (score or 0.0 for score in scores.links)
    assert 1 >= first > second > third > 0
    assert fourth == scores.document


def test_a_page_without_text_says_nothing() -> None:
    scores = EntityAnalyser(finder_of(*NAMES)).analyse(
        page(links=[Outlink("http://a.test/", ""), Outlink("http://b.test/", "WHO")])
    )
    assert (scores.document, scores.links) == (None, (None, 1.0))


def definition(scoring: str = "", entities: str = "[Freiburg, Hermann Scheer]", folder: Path = Path()) -> Icd:
    text = SMALLEST.replace("keywords: [solar power]", f"keywords: [solar power], entities: {entities}")
    return Icd.parse((text + f"scoring: {{{scoring}}}").encode(), folder / "solar.yaml")


def test_a_crawl_looks_for_entities_where_it_has_some_and_they_weigh() -> None:
    def names(icd: Icd) -> list[str]:
        return [each.name for each in analysers(icd, build_topic(icd, {}))]

    assert "entities" in names(definition())
    assert "entities" not in names(definition(entities="[]"))
    assert "entities" not in names(definition("weights: {text: 1, entities: 0}"))


def test_spacy_is_imported_by_a_crawl_with_entities_alone(tmp_path: Path) -> None:
    import subprocess
    import sys

    (tmp_path / "solar.yaml").write_text(SMALLEST)
    code = (
        "import sys; from online_analysis.analysers import analysers; from online_analysis.icd import Icd; "
        "from online_analysis.topic import build_topic; icd = Icd.load(sys.argv[1]); "
        "analysers(icd, build_topic(icd, {})); sys.exit('spacy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "solar.yaml")], check=True)


PEOPLE = ("Hermann Scheer", "Hermann Müller", "Anna Weber", "Otto Klein", "Eva Braun", "Scheer", "Weber", "Klein")
PLACES = ("Freiburg", "Hamburg", "Bremen")
FIRMS = ("Freiburg Medical Instruments", "Hamburg Steel Works", "Bremen Paper Works")
SENTENCES = (
    ("Yesterday {} spoke about energy.", PEOPLE, "PERSON"),
    ("The speech by {} was long.", PEOPLE, "PERSON"),
    ("They live in {} today.", PLACES, "PLACE"),
    ("She joined {} as an engineer.", FIRMS, "FIRM"),
    ("Shares of {} fell.", FIRMS, "FIRM"),
)
PLAIN = ("The green shears are in the shed.", "Bring the sheer fabric along.", "Nothing was said.")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a pipeline that tells people, places and firms in the sentences above, and save it."""
    import spacy
    from spacy.training import Example
    from thinc.api import fix_random_seed

    def example(text: str, name: str, label: str) -> Example:
        start = text.index("{")
        entities = [(start, start + len(name), label)]
        return Example.from_dict(pipeline.make_doc(text.format(name)), {"entities": entities})

    fix_random_seed(7)
    pipeline = spacy.blank("en")
    pipeline.add_pipe("ner")
    examples = [example(text, name, label) for text, names, label in SENTENCES for name in names]
    examples += [Example.from_dict(pipeline.make_doc(text), {"entities": []}) for text in PLAIN]
    optimizer = pipeline.initialize(lambda: examples)
    for _ in range(100):
        losses = {"ner": 0.0}
        for first in range(0, len(examples), 8):
            pipeline.update(examples[first : first + 8], sgd=optimizer, losses=losses)
        if losses["ner"] < 0.001:
            break
    folder = tmp_path_factory.mktemp("models") / "tiny"
    pipeline.to_disk(folder)
    return folder


@pytest.mark.slow
def test_letters_are_folded_in_their_places() -> None:
    from online_analysis.analysers.gazetteer import folded

    assert folded("Μαΐου É 서울") == "μαιου e 서울"


@pytest.mark.slow
def test_a_model_tells_names_from_longer_ones_and_from_others(model: Path) -> None:
    finder = finder_of("Freiburg", "Hermann Scheer", model=model)
    assert finder.find("They live in Freiburg today.", "en") == (Mention("Freiburg"),)
    assert finder.find("Yesterday Hermann Scheer spoke about energy.", "en") == (Mention("Hermann Scheer"),)
    assert finder.find("Yesterday Scheer spoke about energy.", "en") == (Mention("Hermann Scheer", 0.5, short=True),)
    (firm,) = finder.find("She joined Freiburg Medical Instruments as an engineer.", "en")
    assert firm == Mention("Freiburg", 1 / 3)
    assert finder.find("Yesterday Hermann Müller spoke about energy.", "en") == ()


@pytest.mark.slow
def test_a_model_speaks_of_its_own_language_alone(model: Path) -> None:
    names = ("Freiburg", "Hermann Scheer")
    finder, plain = finder_of(*names, model=model), finder_of(*names)
    text = "She joined Freiburg Medical Instruments as an engineer."
    assert finder.find(text, "de") == plain.find(text, "de") == (Mention("Freiburg"),)
    assert finder.find(text, None) == finder.find(text, "en") != plain.find(text, "en")


@pytest.mark.slow
def test_a_crawl_scores_with_the_model_that_its_definition_names(model: Path) -> None:
    def score(scoring: str) -> float:
        icd = definition(scoring, folder=model.parent)
        (analyser,) = (each for each in analysers(icd, build_topic(icd, {})) if each.name == "entities")
        found = analyser.analyse(page("She joined Freiburg Medical Instruments as an engineer.")).document
        assert found is not None
        return found

    assert 0 < score("entity_model: tiny") < score("")


@pytest.mark.slow
def test_a_model_that_cannot_be_used_is_a_mistake_of_the_definition(tmp_path: Path, model: Path) -> None:
    import spacy

    from online_analysis.analysers.gazetteer import EntityModelError, load_model

    (tmp_path / "broken").mkdir()
    for name in ("config.cfg", "meta.json"):
        (tmp_path / "broken" / name).write_text("{")
    spacy.blank("en").to_disk(tmp_path / "blank")
    for name, problem in (("broken", "cannot be loaded"), ("blank", "recognises no entities, it holds nothing")):
        icd = definition(f"entity_model: {name}", folder=tmp_path)
        with pytest.raises(IcdError, match=rf"solar.yaml:5: scoring.entity_model: the model '{name}' {problem}"):
            analysers(icd, build_topic(icd, {}))
    with pytest.raises(EntityModelError, match="cannot be loaded"):
        load_model("no_such_model")
    assert load_model(str(model)).pipe_names == ["ner"]


@pytest.mark.slow
def test_nothing_is_logged_of_a_model_that_works(model: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        # Anew: what another test has loaded says nothing any more.
        finder_of.__wrapped__("Freiburg", model=model).find("In Freiburg.", "en")
    assert not caplog.records
