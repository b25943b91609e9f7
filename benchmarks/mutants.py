"""Makes up applications: the signs of real ones with letters replaced in their texts."""

import random
import re
import string
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path

from lxml import etree

_LEVEL = '<level name="any" role="intermediate"><when css="body"/></level>'
_LITERALS = ("generator", "script", "link", "value", "cookie", "text", "path", "query", "parameters", "literal")
_WORD = re.compile(r"[A-Za-z]{3,}")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_CSS_VALUE = re.compile(r"[#.][\w-]+|'[^']*'|\"[^\"]*\"|(?<==)[\w-]+|(?<=data-)[\w-]+")
_TRIES = 20


def detection_only(files: Sequence[Path], names: Sequence[str]) -> list[bytes]:
    """Return files of applications in the order of the names, with their signs and one level that fits any page."""
    roots = {root.get("name"): root for root in (etree.parse(file).getroot() for file in files)}
    return [_file(name, list(roots[name].iterfind("detect/pattern"))) for name in names]


class Mutants:
    """Makes applications whose signs no known page holds; a seed makes the same ones again.

    Each is made from a random one of the sources. Its words change together, as those of a real application would, so
    that a text of a sign that is written apart (``literal``) still fits its expression.
    """

    def __init__(self, sources: Sequence[bytes], chance: random.Random) -> None:
        self._sources = [list(etree.fromstring(source).iterfind("detect/pattern")) for source in sources]
        self._chance = chance
        self._taken = {_sign(pattern) for patterns in self._sources for pattern in patterns}

    def next(self, name: str) -> bytes:
        """Return the file of another application."""
        while True:
            made = self._patterns(self._chance.choice(self._sources))
            if made:
                return _file(name, made)

    def _patterns(self, originals: Sequence[etree._Element]) -> list[etree._Element]:
        for _ in range(_TRIES):
            words: dict[str, str] = {}
            made = [self._mutated(original, words) for original in originals]
            signs = {_sign(pattern) for pattern in made}
            if len(signs) == len(made) and not signs & self._taken:
                self._taken |= signs
                return made
        return []

    def _mutated(self, original: etree._Element, words: dict[str, str]) -> etree._Element:
        pattern = deepcopy(original)

        def word(found: re.Match[str]) -> str:
            return words.setdefault(found[0].lower(), self._word(found[0].lower()))

        def part(found: re.Match[str]) -> str:
            return _WORD.sub(word, found[0])

        for attribute, value in original.attrib.items():
            if attribute in _LITERALS:
                pattern.set(attribute, _WORD.sub(word, value))
            elif attribute == "xpath":
                pattern.set(attribute, _QUOTED.sub(part, value))
            elif attribute == "css":
                pattern.set(attribute, _CSS_VALUE.sub(part, value))
        return pattern

    def _word(self, word: str) -> str:
        letters = list(word)
        for place in self._chance.sample(range(len(letters)), max(1, len(letters) // 3)):
            letters[place] = self._chance.choice(string.ascii_lowercase.replace(letters[place], ""))
        return "".join(letters)


def _sign(pattern: etree._Element) -> tuple[tuple[str, str], ...]:
    found = ((str(name), str(value).lower()) for name, value in pattern.attrib.items())
    return tuple(sorted(pair for pair in found if pair[0] not in {"cite", "strength", "literal"}))


def _file(name: str, patterns: Sequence[etree._Element]) -> bytes:
    root = etree.Element("application", name=name, kind="web-forum")
    etree.SubElement(root, "detect").extend(deepcopy(list(patterns)))
    root.append(etree.fromstring(_LEVEL))
    return etree.tostring(root, encoding="utf-8", xml_declaration=True)
