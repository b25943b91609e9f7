"""Says in plain words what an expression looks for."""

from aahcrawler.wrapper_induction.element_features import Feature, Match
from aahcrawler.wrapper_induction.robust_paths import Path, Step

_NAMED = {"itemprop": "marked as", "property": "marked as", "rel": "marked as", "typeof": "of type", "role": "of role"}
_TAGS = {"a": "link", "img": "picture", "time": "time", "p": "paragraph", "li": "list entry", "tr": "table row"}


def words_of(path: Path, attribute: str = "", within: str = "") -> str:
    """Return what a path looks for, such as ``every element of class entry``.

    ``within`` says where, if that is not the page.
    """
    if not path.steps:
        return "the element itself" if not path.start else "an element beside it"
    *above, last = path.steps
    said = f"every {step_words(last)}"
    for holder, below in zip(reversed(above), reversed(path.steps[1:]), strict=True):
        said += f", {'directly ' if below.child else ''}in {_article(step_words(holder))}"
    if path.steps[0].child:
        said += ", directly in it"
    if path.start:
        said += ", beside it"
    if within:
        said += f", {within}"
    return f"the attribute {attribute} of {said}" if attribute else said


def step_words(step: Step) -> str:
    """Return what one step looks for, without an article."""
    parts = [_TAGS.get(step.tag, step.tag if step.tag and step.tag != "*" else "element")]
    if parts[0] in ("div", "span") and step.features:
        parts[0] = "element"
    parts += [feature_words(feature) for feature in step.features]
    parts += [_further_words(further) for further in step.further]
    return " ".join(parts)


def feature_words(feature: Feature) -> str:
    """Return what a feature says of an element."""
    name, value = feature.attribute, feature.value
    match feature.match:
        case Match.WORD if name == "class":
            return f"of class {value}"
        case Match.WORD:
            return f"{_NAMED.get(name, f'with {name}')} {value}"
        case Match.EQUAL if name == "id":
            return f"with the id {value}"
        case Match.EQUAL:
            return f"with {name} {value}"
        case Match.NUMBERED:
            begins = f"begins with {value}" if value.endswith(("-", "_")) else f"is {value} and a number"
            return f"whose {name} {begins}"
        case Match.PART if name == "href":
            return f"whose address holds {value}"
        case Match.PART:
            return f"whose {name} holds {value}"
        case Match.END:
            return f"of type {value.lstrip('/')}" if name == "itemtype" else f"whose {name} ends with {value}"
        case Match.PRESENT:
            return f"with {_article(name)}" if name != "href" else "that leads somewhere"


def _further_words(further: str) -> str:
    if further.isdigit():
        return f"number {further} of its sort"
    if further.startswith("not("):
        return "without what was marked as wrong"
    return "that holds what the others do not"


def _article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
