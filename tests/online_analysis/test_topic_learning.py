"""What a crawl learns while it runs: when it counts, and that it is the same again after a restart."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from online_analysis.analysers import TextAnalyser
from online_analysis.icd import Icd
from online_analysis.refinement import PageNote, RefinementOutcome
from online_analysis.terms import Frequencies, Lexicon
from online_analysis.topic_learning import (
    LANGUAGE_PAGES,
    NOTHING,
    Learned,
    News,
    TopicLearning,
    TopicState,
    topic_learning,
)
from tests.online_analysis.topical_world import document, naming, other, speaking

SAID = "id: t\ncontact: a@b.org\nseeds: [http://a.test/naming/0]\ntopic: {{keywords: [{}], reference_crawl: {}}}\n"
BASQUE = (
    "Eguzki energia merkea da eta etxe askok erabiltzen dute herri honetan.",
    "Gaur goizean itsasontzia portutik irten da eta arratsaldean itzuliko da.",
    "Irakasleak haurrei ipuin bat irakurri die eta gero kalera irten dira.",
    "Mendian elurra egin du eta artzainak ardiak etxera ekarri ditu.",
)


def learning(
    learned: Learned = NOTHING, keywords: str = "solar power, photovoltaics", pages: int = 20
) -> TopicLearning:
    icd = Icd.parse(SAID.format(keywords, pages).encode(), Path("icd.yaml"))
    return topic_learning(icd, {}, icd.seeds, learned)


def taught(learner: TopicLearning, name: str, texts: Sequence[Sequence[str]], language: str = "en") -> list[News]:
    """Let a crawl's topic score pages and learn from them, one after another."""
    news: list[News] = []
    for number, text in enumerate(texts):
        page = document(f"http://a.test/{name}/{number}", text, language)
        note = learner.note(page, "a.test", TextAnalyser(learner.topic).analyse(page).document or 0.0)
        if note is not None:
            news += learner.add(PageNote.model_validate_json(note.line))
    return news


def worth(learner: TopicLearning, text: Sequence[str], language: str = "en") -> float:
    page = document("http://b.test/", text, language)
    return TextAnalyser(learner.topic).analyse(page).document or 0.0


@pytest.fixture(scope="module")
def after_twenty() -> TopicLearning:
    learner = learning()
    taught(learner, "naming", [naming(i) for i in range(8)])
    taught(learner, "other", [other(i) for i in range(12)])
    return learner


def test_a_topic_is_refined_once_when_there_are_pages_enough() -> None:
    learner = learning()
    given = learner.topic
    assert taught(learner, "naming", [naming(i) for i in range(8)]) == []
    assert taught(learner, "naming", [naming(i) for i in range(8)]) == []
    assert taught(learner, "other", [other(i) for i in range(11)]) == []
    assert learner.topic is given
    assert taught(learner, "last", [other(3)]) == [News.REFINED]
    assert learner.is_over
    assert worth(learner, speaking(1)) >= 0.2
    assert learner.note(document("http://a.test/more", naming(3)), "a.test", 0.5) is None


def test_without_a_reference_crawl_nothing_is_noted() -> None:
    learner = learning(pages=0)
    assert learner.note(document("http://a.test/", naming(0)), "a.test", 0.5) is None
    assert learner.learned.is_empty


def test_what_was_learned_is_the_same_after_a_restart(after_twenty: TopicLearning) -> None:
    kept = TopicState({"http://a.test/about": "A text."}, after_twenty.learned)
    read = TopicState.parse(kept.text.encode())
    assert read == kept
    again = learning(read.learned)
    for text in (naming(1), speaking(2), other(3)):
        assert worth(again, text) == worth(after_twenty, text)
    assert again.is_over


def test_a_file_without_anything_learned_is_as_it_ever_was() -> None:
    kept = TopicState.parse(b'{"http://a.test/about": "A text."}')
    assert (kept.texts, kept.learned) == ({"http://a.test/about": "A text."}, NOTHING)
    assert kept.text == '{"http://a.test/about": "A text."}'
    for damaged in (b"[]", b'{"http://a.test/": 1}', b'{"learned": {"refinement": 1}}', b"{"):
        with pytest.raises(ValueError, match=r".+"):
            TopicState.parse(damaged)


@pytest.mark.parametrize(("keywords", "pages"), [("castle, knight", 20), ("solar power, photovoltaics", 0)])
def test_what_was_learned_for_another_topic_is_forgotten(
    after_twenty: TopicLearning, keywords: str, pages: int
) -> None:
    other_one = learning(after_twenty.learned, keywords, pages)
    assert other_one.learned.refinement is None
    assert worth(other_one, speaking(2)) == 0.0


def test_a_refusal_is_kept_too() -> None:
    learner = learning()
    assert taught(learner, "other", [other(i) for i in range(20)]) == [News.NOT_REFINED]
    assert learner.learned.refinement is not None
    assert learner.learned.refinement.outcome is RefinementOutcome.TOO_FEW
    assert learning(learner.learned).is_over


def test_of_a_long_reference_crawl_the_best_pages_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("online_analysis.topic_learning._MAX_BEST", 8)
    monkeypatch.setattr("online_analysis.topic_learning._MAX_OTHERS", 8)
    learner = learning(pages=60)
    news = []
    for round_ in range(10):
        news += taught(learner, f"other{round_}", [other(i) for i in range(5)])
        news += taught(learner, f"naming{round_}", [naming(round_)])
    assert news == [News.REFINED]
    assert learner.learned.refinement is not None
    assert learner.learned.refinement.pages == 60
    assert worth(learner, speaking(1)) >= 0.2


def basque(number: int) -> list[str]:
    return [BASQUE[number % 4], BASQUE[(number + 1 + number // 4) % 4]]


def test_a_language_without_a_word_list_is_learned_from_a_hundred_pages() -> None:
    learner = learning(keywords="eguzki energia", pages=0)
    assert taught(learner, "eu", [basque(i) for i in range(LANGUAGE_PAGES - 1)], "eu") == []
    before = learner.topic.vector("eu").language.idf
    assert before["dira"] == before["eguz"]
    assert taught(learner, "last", [basque(0)], "eu") == [News.LANGUAGE]
    after = learner.topic.vector("eu").language.idf
    often, seldom = (learner.topic.vector("eu").language.terms(word)[0] for word in ("eta", "artzainak"))
    assert after[often] < after[seldom] < after["zzyzzyva"]
    assert all(0 < after[term] < 9 for term in (often, seldom, "zzyzzyva"))
    assert worth(learner, [BASQUE[0]] * 8, "eu") > 0.2 > 0.01 > worth(learner, [BASQUE[1]] * 8, "eu")
    assert learner.note(document("http://a.test/n", basque(1), "eu"), "a.test", 0.5) is None


@pytest.mark.slow
def test_what_is_known_of_a_language_is_the_same_after_a_restart_in_the_middle() -> None:
    whole, first = learning(keywords="eguzki energia", pages=0), learning(keywords="eguzki energia", pages=0)
    texts = [basque(i) for i in range(LANGUAGE_PAGES)]
    taught(whole, "eu", texts, "eu")
    lines = []
    for number, text in enumerate(texts[:40]):
        note = first.note(document(f"http://a.test/eu/{number}", text, "eu"), "a.test", 0.0)
        assert note is not None
        lines.append(note.line)
        first.add(note)
    again = learning(keywords="eguzki energia", pages=0)
    for line in (*lines, lines[7]):
        again.add(PageNote.model_validate_json(line))
    taught(again, "eu", texts, "eu")
    assert again.learned == whole.learned
    kept = learning(TopicState.parse(TopicState({}, whole.learned).text.encode()).learned, "eguzki energia", 0)
    assert kept.topic.vector("eu").language.idf["artzain"] == whole.topic.vector("eu").language.idf["artzain"]


def test_known_languages_are_not_learned() -> None:
    lexicon = Lexicon({"en": Frequencies(100, {"the": 1}), "af": Frequencies(100, {"boer": 90})})
    assert lexicon.language("en").idf["turbin"] == Lexicon().language("en").idf["turbin"]
    assert lexicon.language("af").code == "af"
    assert Lexicon().language("af").code is None
    assert lexicon.language("af").idf["boer"] < lexicon.language("af").idf["plaas"]
    assert lexicon.language("af").terms("die boer in die son") == Lexicon().language(None).terms("die boer in die son")


@pytest.mark.parametrize(
    ("code", "about", "elsewhere", "keyword"),
    [
        ("de", "Der Bundestag stritt über die Windräder an der Küste.", "Der Chor sang in der Kirche.", "Windrad"),
        ("fr", "Les éoliennes tournent au large de la côte bretonne.", "Le boulanger cuit son pain.", "éolienne"),
        ("el", "Οι πλημμύρες σκέπασαν τον κάμπο της Θεσσαλίας.", "Ο φούρναρης ψήνει ψωμί.", "πλημμύρα"),
        ("zh", "海岸上的风力发电机在转动，风力发电很便宜。", "面包师傅在烤面包。", "风力发电"),
    ],
)
def test_pages_in_other_languages_are_told_apart(code: str, about: str, elsewhere: str, keyword: str) -> None:
    learner = learning(keywords=keyword, pages=0)
    assert worth(learner, [about] * 4, code) > 0.2 > worth(learner, [elsewhere] * 4, code) == 0.0
