"""Rewords the mistakes that the schema finds, for people who have never read a schema."""

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches

from lxml import etree

_NAMES = {"xs": "http://www.w3.org/2001/XMLSchema"}
_ELEMENT = r"Element '(?P<element>[^']*)'(?:, attribute '(?P<attribute>[^']*)')?: "
_FORMS = {
    name: re.compile(_ELEMENT + form, re.DOTALL)
    for name, form in (
        ("place", r"This element is not expected\.(?: Expected is (?:one of )?\( (?P<expected>.*) \)\.)?"),
        ("lacking", r"Missing child element\(s\)\.(?: Expected is (?:one of )?\( (?P<expected>.*) \)\.)?"),
        ("unknown", r"The attribute '[^']*' is not allowed\."),
        ("required", r"The attribute '(?P<needed>[^']*)' is required but missing\."),
        ("value", r"(?:\[facet '\w+'\] The value )?'(?P<value>.*?)' is not (?:an element|accepted|a valid).*"),
        ("twice", r"Duplicate key-sequence \['(?P<value>.*)'\] in unique identity-constraint '.*'\."),
        ("text", r"(?:Character|Element) content .*is not allowed.*"),
        ("root", r"No matching global declaration available.*"),
    )
}  # fmt: skip


class SchemaWords:
    """Rewords the complaints of the schema's validator, with the schema's own documentation."""

    def __init__(self, schema: etree._Element) -> None:
        self._schema = schema
        self._words: Mapping[str, Callable[[re.Match[str]], str]] = {
            "place": self._place,
            "lacking": self._lacking,
            "unknown": self._unknown,
            "required": lambda found: f'<{found["element"]}> needs {found["needed"]}; write {found["needed"]}="..."',
            "value": self._value,
            "twice": lambda found: f"another <{found['element']}> has the name {found['value']} already; rename one",
            "text": lambda found: (
                f"nothing of this sort can stand within <{found['element']}>; take it out, or put <!-- --> around it"
            ),
            "root": lambda found: (
                f"<{found['element']}> cannot be the outermost element; write <application> or <kind>"
            ),
        }

    def plain(self, message: str) -> str:
        """Return a message of the validator in plain words; unchanged where its form is not known."""
        for name, form in _FORMS.items():
            found = form.fullmatch(message.strip())
            if found is not None:
                return self._words[name](found)
        return message

    def _place(self, found: re.Match[str]) -> str:
        expected = _tags(found["expected"])
        if f"<{found['element']}>" not in self._elements():
            return f"there is no element <{found['element']}>; {self._meant(found['element'], expected)}"
        if not expected:
            return f"<{found['element']}> cannot stand here; take it out, or look at the order in the schema"
        return f"<{found['element']}> cannot stand here; at this place comes {_either(expected)}"

    def _meant(self, element: str, expected: list[str]) -> str:
        close = get_close_matches(f"<{element}>", expected or self._elements(), 1, 0.6)
        return f"did you mean {close[0]}?" if close else f"at this place comes {_either(expected)}"

    def _lacking(self, found: re.Match[str]) -> str:
        return f"<{found['element']}> is not complete; it needs {_either(_tags(found['expected']))} as well"

    def _unknown(self, found: re.Match[str]) -> str:
        element, attribute = found["element"], found["attribute"]
        known = self._attributes(element)
        close = get_close_matches(attribute, known, 1, 0.6)
        advice = f"did you mean {close[0]}?" if close and close[0] != attribute else f"it can have {', '.join(known)}"
        return f"<{element}> has no {attribute} here; {advice if known else 'take it out'}"

    def _value(self, found: re.Match[str]) -> str:
        element, attribute = found["element"], found["attribute"]
        type_name = next(iter(self._types(element, attribute)), "")
        choices = self._strings("//xs:simpleType[@name=$name]//xs:enumeration/@value", name=type_name)
        texts = self._strings("//xs:simpleType[@name=$name]/xs:annotation/xs:documentation/text()", name=type_name)
        wanted = " ".join(" ".join(texts).split())
        advice = f"write {_either(choices)}" if choices else f"what must stand there: {wanted}"
        place = f"{attribute} of <{element}>" if attribute else f"<{element}>"
        return f'{place} cannot be "{found["value"]}"; {advice}'

    def _elements(self) -> list[str]:
        return [f"<{name}>" for name in self._strings("//xs:element/@name")]

    def _attributes(self, element: str) -> list[str]:
        """Return the attributes that elements of a name can have, wherever they stand."""
        own = "//xs:element[@name=$element]/xs:complexType | //xs:complexType[@name=//xs:element[@name=$element]/@type]"
        shared = f"//xs:attributeGroup[@name=({own})/xs:attributeGroup/@ref]"
        names = self._strings(f"({own} | {shared})/xs:attribute/@name", element=element)
        return list(dict.fromkeys(names))

    def _types(self, element: str, attribute: str | None) -> list[str]:
        if attribute is None:
            return self._strings("//xs:element[@name=$element]/@type", element=element)
        own = "//xs:element[@name=$element]/xs:complexType | //xs:complexType[@name=//xs:element[@name=$element]/@type]"
        shared = f"//xs:attributeGroup[@name=({own})/xs:attributeGroup/@ref]"
        return self._strings(
            f"({own} | {shared})/xs:attribute[@name=$attribute]/@type", element=element, attribute=attribute
        )

    def _strings(self, expression: str, **variables: str) -> list[str]:
        found = etree.XPath(expression, namespaces=_NAMES)(self._schema, **variables)
        return [str(value) for value in found] if isinstance(found, list) else []


def _tags(expected: str | None) -> list[str]:
    return [f"<{name.strip()}>" for name in (expected or "").split(",") if name.strip()]


def _either(choices: list[str]) -> str:
    return " or ".join(filter(None, (", ".join(choices[:-1]), choices[-1]))) if choices else "nothing more"
