"""Make expressions for values that share their element with constant words: ``by Ann Boyd``, ``Ann Boyd says:``."""

from collections.abc import Iterator, Sequence

from aahcrawler.page.text import fold
from aahcrawler.webobject import Person
from aahcrawler.wrapper_induction.robust_paths import Expression
from aahcrawler.wrapper_induction.samples import Sample, text_of
from knowledge_base.model import Field, FieldKind

MAX_CUT_LENGTH = 20
"""How many constant characters on each side of a value are used at most."""

MAX_LOOKED_AT = 40


def cut(written: Expression, samples: Sequence[Sample], wanted: Field) -> Iterator[Expression]:
    """Yield expressions that cut a value out of the text that an expression finds.

    The text used before and after the value must be the same for all samples.
    """
    parts = [part for sample in samples[:MAX_LOOKED_AT] if (part := _around(sample, wanted)) is not None]
    if not parts or len(parts) < min(len(samples), MAX_LOOKED_AT) or all(part == ("", "") for part in parts):
        return
    before = _constant([lead[::-1] for lead, _ in parts])[:MAX_CUT_LENGTH][::-1]
    behind = _constant([rest for _, rest in parts])[:MAX_CUT_LENGTH]
    if (not before and any(lead for lead, _ in parts)) or (not behind and any(rest for _, rest in parts)):
        return
    source = written.selector.source
    text = (
        f"normalize-space({source})" if not written.attribute else f"normalize-space(({source})/@{written.attribute})"
    )
    closing = behind if len(parts) > 1 and all(rest == behind for _, rest in parts) else ""
    for lead in _lengths(before, from_end=True):
        taken = f"substring-after({text}, {_quoted(lead)})" if lead else text
        if closing and _quoted(lead) is not None:
            yield Expression(xpath=f"substring({taken}, 1, string-length({taken}) - {len(closing)})")
        for rest in _lengths(behind, from_end=False):
            quoted = (_quoted(lead), _quoted(rest))
            if None in quoted:
                continue
            yield Expression(xpath=f"substring-before({taken}, {quoted[1]})" if rest else taken)


def _around(sample: Sample, wanted: Field) -> tuple[str, str] | None:
    """Return the text before and after a value in its element; None if the value is not in it."""
    label = sample.label
    if label is None:
        return None
    value = label.value
    if wanted.kind is FieldKind.DATETIME:
        shown = sample.date_text(wanted)
    else:
        shown = fold(value.name if isinstance(value, Person) else str(value))
    whole = text_of(label)
    lead, found, rest = whole.partition(shown) if shown else ("", "", "")
    return (lead, rest) if found else None


def _constant(texts: Sequence[str]) -> str:
    """Return the common beginning of texts, without numbers, and without a last word that differs later.

    Such words and numbers belong to the values.

    >>> _constant([" (03.03.2024)", " (04.03.2024)"]), _constant([" said Monday", " said Marta"])
    (' (', ' said ')
    """
    found = shared(texts)
    constant = found[: next((place for place, sign in enumerate(found) if sign.isdigit()), len(found))]
    goes_on = any(text[len(constant) : len(constant) + 1].isalpha() for text in texts)
    while goes_on and constant[-1:].isalpha():
        constant = constant[:-1]
    return constant


def _lengths(constant: str, *, from_end: bool) -> Iterator[str]:
    """Yield the word of a constant that is next to the value, then the whole constant."""
    words = constant.split()
    if len(words) > 1:
        nearest = words[-1] if from_end else words[0]
        place = constant.rfind(nearest) if from_end else constant.find(nearest) + len(nearest)
        yield constant[place:] if from_end else constant[:place]
    yield constant


def _quoted(text: str) -> str | None:
    if "'" not in text:
        return f"'{text}'"
    return f'"{text}"' if '"' not in text else None


def shared(texts: Sequence[str]) -> str:
    """Return the longest common prefix of texts.

    >>> shared(["post_12", "post_7"]), shared([])
    ('post_', '')
    """
    if not texts:
        return ""
    first, last = min(texts), max(texts)
    length = next((place for place, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), None)
    return first[: min(len(first), len(last)) if length is None else length]
