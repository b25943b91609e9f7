"""Find the lines of signs, expressions and URLs in the files of a knowledge base.

Values of the model carry no lines, so the files are read a second time.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lxml import etree

from aahcrawler.editor.text.places import step_to
from knowledge_base.loader import MAX_FILE_SIZE
from knowledge_base.selectors import BadExpressionError, css_to_xpath

ACTIONS = ("navigate", "pages", "extract")


@dataclass(frozen=True, slots=True)
class TextPlace:
    """A line of a file; 0 if only the file is known.

    ``element`` is the place of the element within the file, as ``element_place`` writes it; it is empty for the root,
    and where no element is known.
    """

    file: str
    line: int
    element: str = ""

    def __str__(self) -> str:
        """Return file and line; files below the working folder are written as seen from there."""
        return f"{self.file.removeprefix(f'{Path.cwd()}/')}:{self.line}"


@dataclass(frozen=True, slots=True)
class EntryLines:
    """An expression or sign of a file: ``css`` or ``xpath`` as written, ``source`` as XPath; ``words`` are all of it.

    ``source`` is empty for signs that are not expressions and for CSS that cannot be translated. ``level`` and
    ``action`` name the holder, empty if there is none.
    """

    place: TextPlace
    tag: str
    css: str
    xpath: str
    source: str
    cite: str
    level: str
    action: str
    words: str

    @property
    def written(self) -> str:
        """The expression in the author's words."""
        return self.css or self.xpath

    @property
    def is_proven(self) -> bool:
        """Return whether a person has read the documentation of this entry."""
        return not is_doubtful(self.cite)


@dataclass(frozen=True)
class ApplicationFile:
    """One file of an application that is well-formed XML."""

    path: Path
    root: etree._Element

    @property
    def name(self) -> str:
        """The application's name."""
        return _text(self.root, "name")

    @property
    def extends(self) -> str:
        """The name of the application whose file counts here too; mostly empty."""
        return _text(self.root, "extends")

    @cached_property
    def entries(self) -> tuple[EntryLines, ...]:
        """Every sign and expression, in document order."""
        return tuple(self._entry(element) for element in self.root.iter("*") if _is_entry(element))

    def place(self, element: etree._Element | None = None) -> TextPlace:
        """Return the line of an element, else that of the root."""
        where = self.root if element is None else element
        return TextPlace(str(self.path), where.sourceline or 0, element_place(where))

    def at(self, line: int) -> TextPlace:
        """Return the place of a line, with the first element that is written there, if any."""
        there = (each for each in self.root.iter("*") if each.sourceline == line)
        element = next(there, None)
        return TextPlace(str(self.path), line, element_place(element) if element is not None else "")

    def level(self, name: str) -> etree._Element | None:
        """Return the element of a level that this file has itself."""
        return next((level for level in self.root.iterchildren("level") if _text(level, "name") == name), None)

    def _entry(self, element: etree._Element) -> EntryLines:
        css, xpath = _text(element, "css"), _text(element, "xpath")
        source = xpath
        if css and not xpath:
            try:
                source = css_to_xpath(css)
            except BadExpressionError:
                source = ""
        above = tuple(element.iterancestors())
        level = next((_text(each, "name") for each in above if each.tag == "level"), "")
        action = next((_text(each, "name") for each in above if each.tag in ACTIONS), "")
        cite = _text(element, "cite")
        return EntryLines(
            self.place(element), str(element.tag), css, xpath, source, cite, level, action, _words(element)
        )


class FileLines:
    """Finds the lines of a loaded knowledge base; for inherited parts, in the file that they come from."""

    def __init__(self, files: Iterable[ApplicationFile]) -> None:
        self._files = {file.name: file for file in files}

    @property
    def files(self) -> tuple[ApplicationFile, ...]:
        """All files, in the order given."""
        return tuple(self._files.values())

    def application(self, name: str) -> TextPlace:
        """Return the place of an application's description."""
        file = self._files.get(name)
        return file.place() if file else TextPlace(name, 0)

    def pattern(self, application: str, index: int) -> tuple[TextPlace, str]:
        """Return the line and the words of a detection pattern, by its number in the file."""
        file = self._files.get(application)
        patterns = file.root.findall("detect/pattern") if file else []
        if file is None or index >= len(patterns):
            return self.application(application), ""
        return file.place(patterns[index]), _words(patterns[index])

    def line(self, file: str, line: int) -> TextPlace:
        """Return the place of a line of a file, with its element where the file is one of these."""
        known = next((each for each in self.files if str(each.path) == file), None)
        return known.at(line) if known is not None else TextPlace(file, line)

    def level(self, application: str, level: str) -> TextPlace:
        """Return the line of a level."""
        found = self.level_element(application, level)
        return found[0].place(found[1]) if found else self.application(application)

    def condition(self, application: str, level: str, tag: str, index: int) -> tuple[TextPlace, str]:
        """Return the line and the words of one of a level's ``when`` or ``unless`` elements, by its number."""
        found = self.level_element(application, level)
        parts = found[1].findall(tag) if found else []
        if found is None or index >= len(parts):
            return self.level(application, level), ""
        return found[0].place(parts[index]), _words(parts[index])

    def action(self, application: str, level: str, action: str) -> TextPlace:
        """Return the line of an action: in the level itself, in a variant of it, or in the level it comes from."""
        found = self.level_element(application, level)
        if found is None:
            return self.application(application)
        file, element = found
        named = (each for each in element.iter(*ACTIONS, "use") if action in (each.get("name"), each.get("action")))
        return file.place(next(named, element))

    def level_element(self, application: str, level: str) -> tuple[ApplicationFile, etree._Element] | None:
        """Return the file and the element of a level, inherited ones included; None if there is none."""
        for file in self.chain(application):
            element = file.level(level)
            if element is not None:
                return file, element
        return None

    def entry(self, application: str, source: str, level: str = "", action: str = "") -> EntryLines | None:
        """Return the expression with that XPath source, the one of the level and action before those of others."""
        fitting = (entry for file in self.chain(application) for entry in file.entries if entry.source == source)
        return max(fitting, key=lambda entry: (entry.level == level, entry.action == action), default=None)

    def chain(self, application: str) -> Iterator[ApplicationFile]:
        """Yield the file of an application, that which it extends, and so on."""
        seen: set[str] = set()
        while application in self._files and application not in seen:
            seen.add(application)
            yield self._files[application]
            application = self._files[application].extends


def read_files(paths: Iterable[Path]) -> Iterator[ApplicationFile]:
    """Yield the files that are well-formed; the loader reports errors in the others."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
    for path in paths:
        try:
            if path.stat().st_size > MAX_FILE_SIZE:
                continue
            root = etree.fromstring(path.read_bytes(), parser)
        except (OSError, etree.XMLSyntaxError):
            continue
        if root.tag == "application":
            yield ApplicationFile(path, root)


def is_doubtful(cite: str) -> bool:
    """Return whether a citation says that nobody has seen where something is documented."""
    cite = cite.strip().lower()
    return not cite or cite.startswith("unproven")


def element_place(element: etree._Element) -> str:
    """Return the place of an element in its file, as `EntryText` has it; empty for the root.

    >>> root = etree.XML('<application><level name="thread"><when/><when/></level></application>')
    >>> element_place(root[0][1])
    'level[thread]/when[2]'
    """
    steps = [_step(each) for each in (element, *element.iterancestors()) if each.getparent() is not None]
    return "/".join(reversed(steps))


def _step(element: etree._Element) -> str:
    tag, name = str(element.tag), element.get("name") or ""
    before = list(element.itersiblings(tag, preceding=True))
    is_alone = all(each.get("name") != name for each in (*before, *element.itersiblings(tag)))
    return step_to(tag, name if is_alone else "", len(before) + 1)


def _is_entry(element: etree._Element) -> bool:
    return element.tag in {"pattern", "when", "unless", "listing"} or bool(element.get("css") or element.get("xpath"))


def _words(element: etree._Element) -> str:
    """Return the text that an element looks for, as written."""
    left_out = {"strength", "cite", "literal"}
    return " ".join(f'{name}="{value}"' for name, value in element.attrib.items() if name not in left_out)


def _text(element: etree._Element, attribute: str) -> str:
    return (element.get(attribute) or "").strip()
