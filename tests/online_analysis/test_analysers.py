from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from online_analysis.analysers import SpamAnalyser, TextAnalyser, UrlAnalyser, analysers
from online_analysis.document import Document, DocumentPart, Outlink
from online_analysis.icd import Icd
from online_analysis.terms import Lexicon
from online_analysis.topic import Topic, build_topic
from tests.online_analysis.definitions import SMALLEST, with_lines

LEXICON = Lexicon()


def topic_of(phrases: Sequence[str], texts: Sequence[str] = ()) -> Topic:
    return Topic(phrases, texts, LEXICON)


RELEVANT = with_lines().scoring.relevant
WIND = topic_of(["wind turbine", "renewable energy", "rotor blade", "offshore", "electricity grid"])

ON_TOPIC = {
    "en": (
        ["wind turbine", "renewable energy", "rotor blade", "offshore", "electricity grid"],
        (
            "The council has approved twelve wind turbines on the ridge above the village. Each turbine has "
            "three rotor "
            "blades of eighty metres, made in the next valley. The farm will feed the electricity grid from "
            "next spring, "
            "and the mayor hopes that renewable energy will pay for the new school."
        ),
    ),
    "de": (
        ["Windkraft", "Windrad", "erneuerbare Energien", "Rotorblatt", "Stromnetz"],
        (
            "Der Gemeinderat hat zwölf Windräder auf dem Höhenzug über dem Dorf genehmigt. Jedes Windrad trägt drei "
            "Rotorblätter von achtzig Metern Länge. Ab dem Frühjahr speist der Park in das Stromnetz ein, und der "
            "Bürgermeister hofft, dass erneuerbare Energien die neue Schule bezahlen."
        ),
    ),
    "fr": (
        ["éolienne", "énergie renouvelable", "parc éolien", "réseau électrique", "turbine"],
        (
            "Le conseil municipal a autorisé douze éoliennes sur la crête au-dessus du village. Chaque "
            "turbine porte trois "
            "pales de quatre-vingts mètres. Le parc éolien alimentera le réseau électrique au printemps, et "
            "le maire espère "
            "que les énergies renouvelables paieront la nouvelle école."
        ),
    ),
    "el": (
        ["ανεμογεννήτρια", "αιολική ενέργεια", "αιολικό πάρκο", "ανανεώσιμες πηγές", "ηλεκτρικό δίκτυο"],
        (
            "Το δημοτικό συμβούλιο ενέκρινε δώδεκα ανεμογεννήτριες στη ράχη πάνω από το χωριό. Κάθε "
            "ανεμογεννήτρια έχει "
            "τρία πτερύγια. Το αιολικό πάρκο θα τροφοδοτεί το ηλεκτρικό δίκτυο από την άνοιξη και ο "
            "δήμαρχος ελπίζει ότι "
            "η αιολική ενέργεια θα πληρώσει το νέο σχολείο."
        ),
    ),
    "zh": (
        ["风力发电", "风电场", "可再生能源", "叶片", "电网"],
        (
            "村委会批准在村子上方的山脊建设十二台风力发电机。每台机组有三片叶片,长度八十米。风电场将于明年春天并入电网,"
            "村长希望可再生能源的收入能够支付新学校的费用。"
        ),
    ),
    None: (
        ["wind turbine", "renewable energy", "rotor blade", "offshore", "electricity grid"],
        "Twelve wind turbines stand offshore. A rotor blade broke in the storm, and the electricity grid went down.",
    ),
}
OFF_TOPIC = {
    "en": "Bake the pastry for twenty minutes, then add the lemon cream. My grandmother used to put a little butter on "
    "top, and we ate it warm in the garden with her friends from the village school.",
    "de": "Den Teig zwanzig Minuten backen, dann die Zitronencreme darauf geben. Meine Großmutter gab immer "
    "etwas Butter "
    "dazu, und wir aßen ihn warm im Garten mit ihren Freundinnen aus der Dorfschule.",
    "fr": "Faites cuire la pâte vingt minutes, puis ajoutez la crème au citron. Ma grand-mère mettait "
    "toujours un peu de "
    "beurre, et nous la mangions tiède au jardin avec ses amies de l'école du village.",
    "el": "Ψήνουμε τη ζύμη για είκοσι λεπτά και μετά προσθέτουμε την κρέμα λεμονιού. Η γιαγιά μου έβαζε πάντα λίγο "
    "βούτυρο και την τρώγαμε ζεστή στον κήπο με τις φίλες της από το χωριό.",
    "zh": "把面团烤二十分钟,然后加入柠檬奶油。我的奶奶总是在上面放一点黄油,我们和她的朋友们在花园里趁热吃。",
    None: "Bake the pastry for twenty minutes, then add the lemon cream and eat it warm in the garden.",
}


def page(
    *texts: str,
    language: str | None = "en",
    title: str = "",
    links: Sequence[Outlink] = (),
    url: str = "http://a.test/",
) -> Document:
    return Document(url, language, title, tuple(DocumentPart("content", text) for text in texts), tuple(links))


def document_score(topic: Topic, document: Document) -> float:
    score = TextAnalyser(topic).analyse(document).document
    assert score is not None
    return score


@pytest.mark.slow
@pytest.mark.parametrize("language", list(ON_TOPIC))
def test_a_page_about_the_topic_is_clearly_relevant_in_any_language(language: str | None) -> None:
    keywords, text = ON_TOPIC[language]
    assert document_score(topic_of(keywords), page(text, language=language)) > 2 * RELEVANT
    assert document_score(topic_of(keywords), page(OFF_TOPIC[language], language=language)) < RELEVANT / 4


@pytest.mark.parametrize("language", list(ON_TOPIC))
def test_one_chance_mention_does_not_make_a_page_relevant(language: str | None) -> None:
    keywords, _ = ON_TOPIC[language]
    texts = [text for each, text in OFF_TOPIC.items() if each == language] * 3
    chance = document_score(topic_of(keywords), page(*texts, keywords[0], language=language))
    assert chance < RELEVANT


def test_a_long_page_about_the_topic_stays_relevant() -> None:
    filler = " ".join(f"{OFF_TOPIC['en']} Item{number} nr{number} word{number}" for number in range(30))
    assert document_score(WIND, page(f"{ON_TOPIC['en'][1]} {ON_TOPIC['en'][1]} {filler}")) > RELEVANT


def test_the_number_of_keywords_does_not_decide() -> None:
    keywords, text = ON_TOPIC["en"]
    more = [
        f"{first} {second}" for first in ("tidal", "hydro", "solar") for second in ("barrage", "dam", "array", "plant")
    ]
    assert document_score(topic_of([*keywords, *more]), page(text)) > RELEVANT
    assert document_score(topic_of(keywords[:2]), page(text)) > RELEVANT


def test_a_phrase_counts_for_more_than_its_words() -> None:
    together = page("The rotor blade was brought by lorry through town last week.")
    apart = page("The blade was brought by lorry through town, the rotor last week.")
    assert document_score(WIND, together) > document_score(WIND, apart) > 0


def test_the_best_part_counts() -> None:
    spread = page(*(f"{OFF_TOPIC['en']} turbine" for _ in range(4)))
    dense = page(*(OFF_TOPIC["en"] for _ in range(3)), f"{OFF_TOPIC['en']} wind turbine, rotor blade, offshore turbine")
    assert document_score(WIND, dense) > document_score(WIND, spread)


def test_only_content_parts_speak_for_a_page_that_has_some() -> None:
    menu = DocumentPart("navigation", "wind turbine offshore rotor blade renewable energy")
    document = page(OFF_TOPIC["en"])
    assert document_score(WIND, replace(document, parts=(*document.parts, menu))) == document_score(WIND, document)
    assert document_score(WIND, replace(document, parts=(menu,))) > RELEVANT


def test_the_entries_of_a_list_speak_for_it_beside_its_introduction() -> None:
    entries = DocumentPart("navigation", "wind turbine offshore rotor blade renewable energy")
    sidebar = DocumentPart("sidebar", "pastry recipes and more of the same for the whole week")
    document = replace(page(), parts=(entries,), rest="All that was written in the second week of January.")
    assert document_score(WIND, document) > RELEVANT
    assert document_score(WIND, replace(document, parts=(entries, sidebar))) == document_score(WIND, document)


def test_reference_documents_make_a_topic() -> None:
    topic = topic_of([], [ON_TOPIC["en"][1]])
    other = (
        "Engineers lifted the last rotor blades onto a turbine on the ridge; the wind farm feeds the grid by spring."
    )
    assert document_score(topic, page(other)) > RELEVANT > 2 * document_score(topic, page(OFF_TOPIC["en"]))


def test_links_closer_to_a_match_score_higher() -> None:
    near = "Read how the wind turbine was built: photos"
    links = [
        Outlink("http://a.test/1", "the wind turbine", context="the wind turbine was built here"),
        Outlink("http://a.test/2", "photos", context=near),
        Outlink("http://a.test/3", "pastry recipes", context="pastry recipes and more"),
    ]
    scores = TextAnalyser(WIND).analyse(page(ON_TOPIC["en"][1], links=links)).links
    first, second, third = (score or 0.0 for score in scores)
    assert 1 >= first > second > third > 0


def test_a_link_without_words_has_the_score_of_its_page() -> None:
    links = [Outlink("http://a.test/1", ""), Outlink("http://a.test/2", "2", context="12 34")]
    scores = TextAnalyser(WIND).analyse(page(ON_TOPIC["en"][1], links=links))
    assert scores.document is not None
    assert scores.links == (scores.document, scores.document)


def test_a_page_without_words_is_no_page_off_the_topic() -> None:
    links = [Outlink("http://a.test/1", "wind turbine"), Outlink("http://a.test/2", "")]
    scores = TextAnalyser(WIND).analyse(page(" ... ", links=links))
    assert scores.document is None
    assert scores.links[0] is not None
    assert scores.links[0] > 0.5
    assert scores.links[1] is None


words = st.sampled_from(["wind", "turbine", "rotor", "blade", "pastry", "lemon", "the", "2024", "offshore", "grid"])
texts = st.lists(words, max_size=40).map(" ".join) | st.text(max_size=60)


@given(
    st.lists(texts, max_size=4),
    texts,
    st.lists(st.tuples(texts, texts), max_size=4),
    st.sampled_from(["en", "de", "zh", None]),
)
def test_scores_are_bounded_and_repeatable(
    parts: list[str], title: str, anchors: list[tuple[str, str]], language: str | None
) -> None:
    links = [Outlink("http://a.test/wind", anchor, context) for anchor, context in anchors]
    document = page(*parts, title=title, links=links, language=language)
    for analyser in (TextAnalyser(WIND), UrlAnalyser(WIND, {}), SpamAnalyser(["a.test"])):
        scores = analyser.analyse(document)
        assert scores == analyser.analyse(document)
        assert len(scores.links) == len(links)
        assert all(0 <= value <= 1 for value in (scores.document, *scores.links) if value is not None)


def url_scores(*urls: str, patterns: dict[str, float] | None = None) -> tuple[float | None, ...]:
    document = page("text", links=[Outlink(url, "") for url in urls])
    return UrlAnalyser(WIND, patterns or {}).analyse(document).links


def test_addresses_speak_by_their_words_or_not_at_all() -> None:
    topical, query, encoded, other, host = url_scores(
        "https://a.test/news/Wind-Turbine_plans.html",
        "https://a.test/?q=rotor+blade",
        "https://a.test/%72otor%20blade",
        "https://a.test/viewtopic.php?t=12",
        "https://turbine.test/",
    )
    assert topical is not None
    assert topical > 0.5
    assert query == encoded
    assert query is not None
    assert other is None
    assert host is None


def test_the_longest_pattern_decides() -> None:
    patterns = {"/energy/": 0.9, "/energy/archive/": 0.0}
    assert url_scores(
        "http://a.test/energy/1", "http://a.test/energy/archive/wind-turbine", "http://a.test/x", patterns=patterns
    ) == (0.9, 0.0, None)


def names(icd: Icd, topic: Topic) -> list[str]:
    return [analyser.name for analyser in analysers(icd, topic)]


def test_a_crawl_has_the_analysers_that_its_definition_weighs() -> None:
    icd = with_lines("scoring: {weights: {text: 1, url: 0}}")
    assert names(icd, build_topic(icd, {})) == ["text", "spam", "social", "application"]
    assert names(with_lines(), WIND) == ["text", "url", "spam", "social", "application"]
    event = "event: {start: 2024-05-01, end: 2024-05-02}"
    assert names(with_lines(event, "scoring: {weights: {text: 1, application: 0, social: 0}}"), WIND) == [
        "text",
        "url",
        "spam",
        "temporal",
    ]


def test_the_topic_of_a_definition_needs_the_texts_of_its_documents() -> None:
    text = SMALLEST.replace("[solar power]", "[solar power], documents: [https://example.org/x]")
    icd = Icd.parse(text.encode())
    with pytest.raises(KeyError):
        build_topic(icd, {})
    topic = build_topic(icd, {"https://example.org/x": "Photovoltaics on barns and stables."})
    assert set(topic.vector("en").keywords.weights) == {"solar", "power", "solar power"}
    assert set(topic.vector("en").documents.weights) == {"photovolta", "barn", "stabl"}


def test_keywords_and_documents_have_the_same_say() -> None:
    barns = "Barns and stables stand on meadows beside the meadows of barns. "
    both = topic_of(["photovoltaics"], [barns])
    text = page(barns * 3 + "Photovoltaics on a roof, photovoltaics everywhere.")
    alone = [document_score(topic, text) for topic in (topic_of(["photovoltaics"]), topic_of([], [barns]))]
    assert document_score(both, text) == pytest.approx(sum(alone) / 2)


def test_all_text_of_a_page_is_compared_with_documents_and_content_most() -> None:
    topic = topic_of([], [ON_TOPIC["en"][1]])
    beside = DocumentPart("sidebar", "Wind turbines: rotor blades, a turbine farm, the electricity grid")
    off = page(OFF_TOPIC["en"])
    with_sidebar = document_score(topic, replace(off, parts=(*off.parts, beside)))
    as_content = document_score(topic, page(OFF_TOPIC["en"], beside.text))
    assert document_score(topic, off) < with_sidebar < as_content


def test_a_rare_word_does_not_outweigh_all_that_a_document_speaks_of() -> None:
    clocks = "The clock of the church tells the time to the street, and people set their watches by its bell. "
    topic = topic_of([], [clocks * 5 + "A gnomon is meant."])
    about = page("People in this street know the time by the bell of a church. A watch is set by the clock." * 3)
    naming = page(OFF_TOPIC["en"] + " A gnomon.")
    assert document_score(topic, about) > RELEVANT > 5 * document_score(topic, naming)


def test_the_words_of_a_topic_in_another_language_do_not_drown_its_names() -> None:
    text = (
        "The village of Feldheim and the wind farm of the village: the story of Feldheim, the people of the village "
        "and the turbines that Enercon built for the village of Feldheim in the year of the crisis."
    )
    german = "Feldheim ist ein Dorf mit Windrädern von Enercon. In Feldheim steht auch ein Speicher."
    assert document_score(topic_of([], [text]), page(german, language="de")) > RELEVANT
    assert document_score(topic_of([], [text]), page(OFF_TOPIC["de"], language="de")) < RELEVANT / 10


@pytest.mark.parametrize("language", list(ON_TOPIC))
def test_reference_documents_serve_in_any_language(language: str | None) -> None:
    _, text = ON_TOPIC[language]
    topic = topic_of([], [text])
    quoting = page(text[: len(text) // 2] + OFF_TOPIC[language], language=language)
    assert document_score(topic, quoting) > RELEVANT
    assert document_score(topic, page(OFF_TOPIC[language], language=language)) < RELEVANT / 4
