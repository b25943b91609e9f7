"""Names are found with and without models, and joined where they mean the same."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from aahcrawler.annotations import REFINES, Annotation, Kind, annotation_iri
from offline.enrichment.annotator import ObjectText
from offline.enrichment.capitals import names_by_capitals
from offline.enrichment.entity_annotator import EntityAnnotator, _Doubt
from offline.enrichment.name_contexts import kind_beside, kind_by_words
from offline.enrichment.name_joining import Consolidation
from offline.enrichment.word_dictionaries import noun_dictionary

CAPTURE = "urn:uuid:00000000-0000-4000-8000-000000000001"


def given(text: str, language: str = "en", *, author: str = "", number: int = 1) -> ObjectText:
    return ObjectText(f"http://forum.test/t/1#p{number}", CAPTURE, "post", "", text, author=author, language=language)


def capitals(text: str, language: str = "en") -> list[tuple[str, str]]:
    return [(text[each.start : each.end], str(each.kind)) for each in names_by_capitals(text, language)]


def named(annotations: Sequence[Annotation]) -> list[tuple[str, str, str]]:
    return [(each.quote, each.kind, each.label) for each in annotations]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Save a pipeline that knows some names by heart, and return its folder."""
    import spacy  # What it imports takes long.
    from spacy.pipeline import EntityRuler

    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("entity_ruler", name="ner")
    assert isinstance(ruler, EntityRuler)
    known = {"Ida Berg": "PERSON", "Berg": "PERSON", "Arnhem": "GPE", "the Water Board (WB": "ORG", "Monday": "DATE"}
    ruler.add_patterns([{"label": label, "pattern": name} for name, label in known.items()])
    folder = tmp_path_factory.mktemp("model") / "en_small"
    pipeline.to_disk(folder)
    return str(folder)


def test_capitals_inside_sentences_are_names() -> None:
    text = "We saw Ida Berg in Arnhem on Monday. Nobody knew. Arnhem was wet, and I was NOT there with NATO."
    assert capitals(text) == [("Ida Berg", "name"), ("Arnhem", "name"), ("Arnhem", "name"), ("NATO", "name")]


@pytest.mark.parametrize("language", ["", "de", "en", "es", "fr", "nl", "pl"])
def test_english_months_and_weekdays_end_in_every_language(language: str) -> None:
    """Where they are names, one may begin a name; where they are none, they end one."""
    found = capitals("They met Ida May on Monday. Monday March, and April in the May of Berg.", language)
    assert (("Monday", "name") in found) == (language in {"es", "fr", "nl", "pl"})


def test_words_beside_a_name_tell_what_bears_it() -> None:
    text = "Then Dr. J. Berg met Frau Müller of the University of Leeds at the River Aire."
    assert capitals(text) == [
        ("J. Berg", "person"),
        ("Müller", "person"),
        ("University of Leeds", "organisation"),
        ("River Aire", "place"),
    ]


def test_where_capitals_tell_little_little_is_said() -> None:
    assert capitals("Das Wasser stieg in der Stadt, und die Leute von Ida Berg gingen nach Hause.", "de") == [
        ("Ida Berg", "name")
    ]
    assert capitals("Es kostet Millionen Euro und kam Ende Mai, sagt Ida Berg.", "de") == [("Ida Berg", "name")]
    assert capitals("Sie sprach mit dem Verein für Deichkunde, als Wind aufkam.", "de") == [
        ("Verein für Deichkunde", "organisation")
    ]
    assert capitals("東京都知事は北京を訪れた。", "ja") == []
    assert capitals("How The Old Dike Broke At Night\nTHIS IS TERRIBLE NEWS FROM ARNHEM TODAY") == []


def test_what_is_too_long_for_a_name_is_none() -> None:
    assert capitals(f"We saw {'A' + 'b' * 5_000} in Arnhem, and Ida {'Berg' * 40} there.") == [("Arnhem", "name")]


def test_long_and_odd_texts_take_little_time() -> None:
    for text in ("A" * 200_000, "A. " * 60_000, "Aa " * 60_000, "\n" * 200_000, "Dr. " * 50_000):
        list(EntityAnnotator((), {}).annotate(given(text)))


def test_entities_of_the_definition_are_found_in_any_language() -> None:
    annotator = EntityAnnotator(["Hermann Scheer", "東京都"], {})
    assert named([*annotator.annotate(given("wo HERMANN SCHEER war, weiß niemand", "de"))]) == [
        ("HERMANN SCHEER", "name", "Hermann Scheer")
    ]
    assert named([*annotator.annotate(given("昨日は東京都へ行った", "ja"))]) == [("東京都", "name", "東京都")]


def test_a_short_name_means_the_whole_one_before_it() -> None:
    text = "We met Ida Berg. Later Berg spoke for the Old Water Board (OWB), and the OWB agreed with I. Berg."
    assert [(each.quote, each.label) for each in EntityAnnotator((), {}).annotate(given(text))] == [
        ("Ida Berg", "Ida Berg"),
        ("Berg", "Ida Berg"),
        ("Old Water Board", "Old Water Board"),
        ("OWB", "Old Water Board"),
        ("OWB", "Old Water Board"),
        ("I. Berg", "Ida Berg"),
    ]


def test_a_surname_that_two_people_have_means_neither() -> None:
    text = "We met Ida Berg and Jo Berg there. Then we saw that Berg left."
    assert [each.label for each in EntityAnnotator((), {}).annotate(given(text))] == ["Ida Berg", "Jo Berg", "Berg"]


def test_a_model_tells_people_from_places(model: str) -> None:
    annotator = EntityAnnotator(["Ida Berg"], {"en": model})
    text = "On Monday Ida Berg met the Water Board (WB) in Arnhem. Berg left."
    assert named([*annotator.annotate(given(text))]) == [
        ("Ida Berg", "person", "Ida Berg"),
        ("Water Board", "organisation", "Water Board"),
        ("WB", "organisation", "Water Board"),
        ("Arnhem", "place", "Arnhem"),
        ("Berg", "person", "Ida Berg"),
    ]
    for each in annotator.annotate(given(text)):
        assert text[each.start : each.end] == each.quote


def test_a_model_is_part_of_the_version_and_of_what_is_told(model: str) -> None:
    with_model, without = EntityAnnotator(["Ida Berg"], {"en": model}), EntityAnnotator((), {})
    assert with_model.version != without.version
    told = [*with_model.told({"en": 1, "de": 2, "ja": 3})]
    assert told[2].startswith("names in 1 object in en: found by the model ")
    assert told[2].endswith(" and the entities of the crawl's definition")
    assert told[0].endswith("no model of the language is installed; found by the entities of the crawl's definition")
    assert "definition" not in " ".join(without.told({"en": 1, "ja": 3}))
    assert told[-1].startswith("to find more in de, ja: install")


def consolidated(texts: Mapping[str, Sequence[str]], authors: Sequence[str] = ()) -> list[tuple[str, str, str]]:
    """Return what is said anew of the names in texts, given by language."""
    annotator = EntityAnnotator(["Hermann Scheer"], {})
    every = [(language, text) for language, own in texts.items() for text in own]
    objects = [given(text, language, number=number) for number, (language, text) in enumerate(every)]
    objects += [given("", author=author, number=100 + number) for number, author in enumerate(authors)]
    known = [each for one in objects for each in annotator.annotate(one)]
    found = [*Consolidation().annotate(lambda: iter(objects), lambda: iter(known))]
    other = [*Consolidation().annotate(lambda: reversed(objects), lambda: reversed(known))]
    assert sorted(map(repr, found)) == sorted(map(repr, other))
    refined = {annotation_iri(each): each for each in known}
    for each in found:
        if REFINES not in dict(each.values):
            continue
        former = refined[dict(each.values)[REFINES]]
        assert (former.object, former.start, former.quote) == (each.object, each.start, each.quote)
    return named(found)


def test_initials_mean_the_only_whole_name_that_fits() -> None:
    texts = ["We met Ida Maria Berg there.", "We met I. Berg there.", "We met I. M. Berg there."]
    assert consolidated({"en": texts}) == [
        ("Ida Maria Berg", "person", "Ida Maria Berg"),
        ("I. Berg", "person", "Ida Maria Berg"),
        ("I. M. Berg", "person", "Ida Maria Berg"),
    ]
    assert consolidated({"en": [*texts, "We met Ira Berg there."]}) == [
        ("Ida Maria Berg", "person", "Ida Maria Berg"),
        ("I. M. Berg", "person", "Ida Maria Berg"),
    ]


def test_spellings_are_joined_and_the_definition_has_its_own() -> None:
    texts = ["We met Jürgen Müller there.", "And Jürgen Müller left.", "We met Juergen Mueller there, then H. Scheer."]
    assert consolidated({"en": [*texts, "Nobody met Hermann Scheer."]}) == [
        ("Juergen Mueller", "name", "Jürgen Müller"),
        ("H. Scheer", "person", "Hermann Scheer"),
        ("Hermann Scheer", "person", "Hermann Scheer"),
    ]


def test_a_name_in_another_script_is_joined() -> None:
    pytest.importorskip("anyascii")
    assert consolidated(
        {"ru": ["Вчера мы видели, как Ида Берг ушла."], "en": ["We met Ida Berg.", "And Ida Berg left."]}
    ) == [("Ида Берг", "name", "Ida Berg")]


def test_what_bears_a_name_is_said_where_the_texts_that_tell_agree() -> None:
    texts = ["We met Dr Ida Berg there.", "We met Ida Berg there."]
    assert consolidated({"en": texts}) == [("Ida Berg", "person", "Ida Berg")]
    assert consolidated({"en": ["We met Jo Berg there."]}, ["Jo Berg"] * 3) == [("Jo Berg", "person", "Jo Berg")]
    assert consolidated({"en": ["We met Jo Berg there."]}, ["Jo Berg"] * 2) == []


def test_letters_are_joined_to_what_one_text_explains() -> None:
    texts = ["Then the Old Water Board (OWB) came.", "We saw the OWB there."]
    assert consolidated({"en": texts}) == [("OWB", "organisation", "Old Water Board")]


def test_letters_are_joined_to_the_one_organisation_beside_them() -> None:
    texts = ["Then the West Dike Board came with plans. We saw the WDB there.", "We saw the WDB again."]
    assert consolidated({"en": texts}) == [("WDB", "organisation", "West Dike Board")] * 2
    assert consolidated({"en": [*texts, "We asked the Water Dam Board there."]}) == []
    assert consolidated({"en": ["We asked the West Dike Board there.", "We saw the WDB there."]}) == []


def test_words_beside_a_name_tell_what_bears_it_where_several_texts_agree() -> None:
    texts = ["We met in Lunden.", "They live near Lunden."]
    assert consolidated({"en": texts}) == [("Lunden", "place", "Lunden")] * 2
    assert consolidated({"en": ["We met in Lunden, in Lunden.", "They saw Lunden."]}) == []
    assert consolidated({"en": [*texts, "It was Lunden, who lied.", "We saw chairman Lunden there."]}) == []
    assert (
        consolidated({"fr": ["Elle habite à Lunden.", "On revient à Lunden demain."]})
        == [("Lunden", "place", "Lunden")] * 2
    )


def test_a_name_that_a_model_takes_for_another_kind_is_what_most_texts_tell(model: str) -> None:
    annotator = EntityAnnotator((), {"en": model})
    texts = ["We met in Berg.", "They went to a flat in Berg.", "Then Berg again.", "and Berg of Arnhem or BERG"]
    objects = [given(text, number=number) for number, text in enumerate(texts)]
    known = [each for one in objects for each in annotator.annotate(one)]
    found = [*Consolidation().annotate(lambda: iter(objects), lambda: iter(known))]
    assert named(found) == [("Berg", "place", "Berg")] * 4


def test_places_are_told_from_german_nouns_by_all_texts() -> None:
    texts = [
        "Sie fährt nach Brekkum. Das Wasser kommt in Bewegung.",
        "Wir sind in Brekkum, in Bewegung.",
        "Sie kommt aus Brekkum.",
        "Die Leute sind in Eile, aus Eile, mit großer Eile.",
        "Er kam in Eile und von Brekkum.",
    ]
    assert consolidated({"de": texts}) == [("Brekkum", "place", "Brekkum")] * 4


def test_a_town_that_a_model_takes_for_a_person_becomes_a_place_and_is_handed_on_as_no_person(tmp_path: Path) -> None:
    import spacy  # What it imports takes long.
    from spacy.pipeline import EntityRuler

    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("entity_ruler", name="ner")
    assert isinstance(ruler, EntityRuler)
    known = ("Rostock", "Brekkum", "Weimar", "Ida Weimar")
    ruler.add_patterns([{"label": "PERSON", "pattern": name} for name in known])
    pipeline.to_disk(tmp_path / "en_small")
    annotator = EntityAnnotator((), {"en": str(tmp_path / "en_small")})
    texts = [("en", "Then Ida visited Rostock.")]
    texts += [("en", "We saw Brekkum.")] * 3 + [("de", "Sie kam nach Brekkum.")]
    texts += [("en", "They met Ida Weimar."), ("en", "We saw Weimar."), ("de", "Wir waren in Rostock.")]
    objects = [given(text, language, number=number) for number, (language, text) in enumerate(texts)]
    known_names = [each for one in objects for each in annotator.annotate(one)]
    assert ("Rostock", "place", "Rostock") in named(known_names)
    found = [*Consolidation().annotate(lambda: iter(objects), lambda: iter(known_names))]
    assert named(found) == [("Rostock", "place", "Rostock")]


def test_german_names_in_other_cases_and_companies_without_their_form_are_joined() -> None:
    texts = ["Es half das Alte Grüne Kreuz.", "Er dankte dem Alten Grünen Kreuz.", "Hier ist das Alte Grüne Kreuz."]
    assert consolidated({"de": texts}) == [("Alten Grünen Kreuz", "name", "Alte Grüne Kreuz")]
    firms = ["We asked Brekkum AG there.", "We asked Brekkum there.", "They saw Brekkum there."]
    assert consolidated({"en": firms}) == [
        ("Brekkum AG", "organisation", "Brekkum"),
        ("Brekkum", "organisation", "Brekkum"),
        ("Brekkum", "organisation", "Brekkum"),
    ]
    assert consolidated({"en": [*firms, "We asked Brekkum GmbH there."]}) == []


def test_a_name_that_was_missed_is_added_where_other_texts_know_it(model: str) -> None:
    """A model that sees whole names alone misses what stands at the end of a longer one."""
    annotator = EntityAnnotator((), {"en": model})
    objects = [given("We saw Arnhem there.", number=number) for number in range(3)]
    known = [each for one in objects for each in annotator.annotate(one)]
    objects.append(given("We saw Arnhem, and Arnhem Fair, there.", number=3))
    found = [*Consolidation().annotate(lambda: iter(objects), lambda: iter(known))]
    assert [(each.object, each.quote, each.start, each.kind) for each in found] == [
        (objects[3].object, "Arnhem", 7, "place")
    ]


def test_what_models_part_or_see_in_small_letters_is_set_right(tmp_path: Path) -> None:
    import spacy  # What it imports takes long.
    from spacy.pipeline import EntityRuler

    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("entity_ruler", name="ner")
    assert isinstance(ruler, EntityRuler)
    known = {"Old Society": "ORG", "Dike Wardens": "ORG", "nectar": "ORG", "Ida Berg": "GPE", "J. Holm": "ORG"}
    ruler.add_patterns([{"label": label, "pattern": name} for name, label in known.items()])
    pipeline.to_disk(tmp_path / "en_small")
    text = "The Old Society of Dike Wardens gave nectar to Mayor Ida Berg and J. Holm."
    annotator = EntityAnnotator((), {"en": str(tmp_path / "en_small")})
    assert named([*annotator.annotate(given(text))]) == [
        ("Old Society of Dike Wardens", "organisation", "Old Society of Dike Wardens"),
        ("Ida Berg", "person", "Ida Berg"),
        ("J. Holm", "person", "J. Holm"),
    ]


GERMAN: tuple[tuple[str, list[tuple[str, str]]], ...] = (
    ("Zum Film kam die Regisseurin Ida Brekkum, eine Philosophin.", [("Ida Brekkum", "person")]),
    ("Das Glas Wein und eine Menge Ärger kosten Geld.", []),
    ("Es liegt im Landkreis Brekkum, an der Westküste Amerikas.", [("Brekkum", "place"), ("Amerika", "name")]),
    ("Hier sprach Landesjägermeister Ove Tarl vor Fragen zur Klausel.", [("Ove Tarl", "person")]),
    ("Dort kennt die Katholische Kirche auch Ida Berg.", [("Katholische Kirche", "name"), ("Ida Berg", "name")]),
    ("Telefonische Auskunft gibt es nicht. Lesen Sie weiter.", []),
    ("Am Ende fuhr sie mit Brekkum heim, ohne Hassbotschaften.", [("Brekkum", "name")]),
    (
        "Das ist die Art Lebensversicherung, die das Bundesamt für Wasser meint.",
        [("Bundesamt für Wasser", "organisation")],
    ),
    ("Es liegt in Lüneburg, nicht in Bad Tölz und nicht in Eile.", [("Lüneburg", "name"), ("Bad Tölz", "place")]),
    ("Später sprach der Präsident Kolumbiens.", [("Kolumbien", "name")]),
    ("Es entstand unter Leitung von Thomas Krüger in Köln.", [("Thomas Krüger", "name"), ("Köln", "place")]),
    ("Der Reporter Klaus Weber trank ein Glas Wein.", [("Klaus Weber", "person")]),
    ("Es half dem Alten Grünen Kreuz.", [("Alten Grünen Kreuz", "name")]),
    ("Es kam vom Westdeutschen Deichfunk, so Sprecherin Alte Kirche.", [("Alte Kirche", "name")]),
    ("Wir hörten es vom Ostdeutschen Rundfunk.", [("Ostdeutschen Rundfunk", "organisation")]),
)


@pytest.mark.parametrize(("text", "names"), GERMAN)
def test_german_names_are_told_from_nouns_by_a_dictionary(text: str, names: list[tuple[str, str]]) -> None:
    found = names_by_capitals(text, "de", noun_dictionary("de"))
    assert [(text[each.start : each.end], each.kind.value) for each in found] == names


@pytest.mark.parametrize(
    ("name", "language", "kind"),
    [
        ("Mill Bridge", "en", Kind.PLACE),
        ("Nathan Lane", "en", Kind.NAME),
        ("Rue des Tanneurs", "fr", Kind.PLACE),
        ("Tanneurs Rue", "en", Kind.NAME),
        ("Lange Brücke", "de", Kind.PLACE),
        ("Kalverstraat", "nl", Kind.PLACE),
        ("Brekkum & Söhne KGaA", "de", Kind.ORGANISATION),
        ("Brekkum d.o.o.", "hr", Kind.ORGANISATION),
    ],
)
def test_words_of_places_and_legal_forms_tell_what_bears_a_name(name: str, language: str, kind: Kind) -> None:
    assert kind_by_words(name, language) is kind


def test_streets_that_may_be_surnames_are_told_by_what_stands_before_them() -> None:
    text = "They met on Salt Lane, said Nathan Lane."
    places = ((text.index(name), text.index(name) + len(name)) for name in ("Salt Lane", "Nathan Lane"))
    assert [kind_beside(text, *place, "en") for place in places] == [Kind.PLACE, Kind.PERSON]


def test_a_model_is_doubted_where_capitals_tell_nothing(model: str) -> None:
    text = "Old Mill Burns Again\nThe mill stood here. Remove the lid, and remove it soon. They met in Berg."
    doubt = _Doubt(text)
    assert doubt.about(text.index("Old Mill"), text.index(" Burns"))
    assert doubt.about(text.index("Remove"), text.index(" the lid"))
    assert not doubt.about(text.index("Berg"), text.index("Berg") + 4)
    again = _Doubt(f"{text} So the Old Mill was lost.")
    assert not again.about(text.index("Old Mill"), text.index(" Burns"))
    names = _Doubt("Ida Berg, Walter Grimm, Jonna Holm")
    assert not names.about(0, 8)
    assert EntityAnnotator((), {"en": model}).version.startswith("6 ")


@pytest.mark.parametrize(
    "name", ["Dirección de Prevención e Investigación de Robos", "Secretaría de Evaluación e Información Educativa"]
)
def test_spanish_bodies_are_whole(name: str) -> None:
    text = f"Ayer habló con la {name} de la provincia."
    assert name in {text[each.start : each.end] for each in names_by_capitals(text, "es")}
