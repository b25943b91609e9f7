"""Recipes, instructions, questions, events and products that pages declare become objects with their texts."""

import json

import pytest

from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.webobject import WebObject
from knowledge_base.model import KnowledgeBase
from tests.page.building import page_of

URL = "http://site.test/news/ice"
STEPS = [{"@type": "HowToStep", "text": "Boil the water."}, {"@type": "HowToStep", "text": "Add the salt, then wait."}]


def objects(declared: object) -> list[WebObject]:
    script = f'<script type="application/ld+json">{json.dumps(declared)}</script>'
    page = page_of(f"<html><head><title>Soup</title>{script}</head><body><p>Soup</p></body></html>", url=URL)
    return list(ApplicationAwareHelper(KnowledgeBase(())).assist(page).objects)


SOUP = {"description": "A soup of the harbour.", "recipeIngredient": ["1 l water", "salt"], "recipeInstructions": STEPS}
ANSWER = {"@type": "Answer", "text": "<p>Nobody knows until Sunday.</p>"}
QUESTION = {"@type": "Question", "name": "Does the ice hold?", "acceptedAnswer": ANSWER}
CHOIR = "The choir sings on the ice until the ice breaks."
ROPE = "A rope of forty metres, dry and never used."
SECTION = {"@type": "HowToSection", "name": "First", "itemListElement": STEPS}


@pytest.mark.parametrize(
    ("declared", "kind", "text"),
    [
        (
            {"@type": "Recipe", **SOUP},
            "recipe",
            "A soup of the harbour.\n1 l water\nsalt\nBoil the water.\nAdd the salt, then wait.",
        ),
        ({"@type": "HowTo", "step": [SECTION]}, "how-to", "First\nBoil the water.\nAdd the salt, then wait."),
        ({"@type": "FAQPage", "mainEntity": [QUESTION]}, "faq", "Does the ice hold?\nNobody knows until Sunday."),
        ({"@type": "Event", "description": CHOIR}, "event", CHOIR),
        ({"@type": "Product", "description": ROPE}, "product", ROPE),
    ],
)
def test_what_a_page_declares_is_an_object_with_its_text(declared: dict[str, object], kind: str, text: str) -> None:
    found = [each for each in objects({"name": "Soup", **declared}) if each.type == kind]
    assert [(each.first("title"), each.first("body")) for each in found] == [("Soup", text)]


def test_things_of_other_pages_are_none_of_this_one() -> None:
    elsewhere = {"@type": "Product", "url": "http://site.test/rope", "name": "Rope", "description": ROPE}
    assert objects([elsewhere]) == []


def test_an_event_may_lie_ahead_and_a_recipe_may_not() -> None:
    [event] = objects({"@type": "Event", "name": "Choir", "startDate": "2030-01-02", "description": CHOIR})
    [recipe] = objects({"@type": "Recipe", "name": "Soup", "datePublished": "2030-01-02", "description": CHOIR})
    assert event.first("date") is not None
    assert recipe.first("date") is None


@pytest.mark.parametrize(("kind", "answers"), [("FAQPage", 0), ("QAPage", 1)])
def test_what_a_site_answers_itself_is_no_comment(kind: str, answers: int) -> None:
    found = objects({"@type": kind, "name": "Soup", "mainEntity": [QUESTION]})
    assert sum(each.type == "comment" for each in found) == answers
