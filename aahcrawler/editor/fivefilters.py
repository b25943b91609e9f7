"""Convert fivefilters' site configs into site-level applications of the knowledge base.

The configs (github.com/fivefilters/ftr-site-config, public domain) describe the place of the article on the pages of
one site; their format is described at help.fivefilters.org/full-text-rss/site-patterns.html.
"""

import json
import re
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath

from lxml import etree

from knowledge_base.file_selection import SHIPPED
from knowledge_base.loader import load
from knowledge_base.selectors import BadExpressionError, compile_selector

MAX_FILES = 20_000
MAX_FILE_SIZE = 256 * 1024
MAX_ARCHIVE = 256 * 1024 * 1024
"""The most unpacked bytes of an archive that are read: the real one has 10 million."""
_DIRECTIVE = re.compile(r"\s*(?P<name>[a-z_]+)\s*(?:\((?P<parameter>[^)]*)\))?\s*:\s*(?P<value>.*?)\s*", re.IGNORECASE)
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?\.)+[a-z0-9-]{2,}")
PROJECT = "github.com/fivefilters/ftr-site-config"
MAX_EXAMPLES = 5
MAX_EXPRESSION_LENGTH = 4_000
_NEEDLESS = frozenset(
    (
        *("test_url", "test_contains", "parser", "https", "native_ad_clue", "autodetect_on_failure"),
        *("autodetect_next_page", "tidy", "prune", "strip_attr", "post_strip_attr", "strip_comments", "skip_json_ld"),
        *("insert_detected_image", "src_lazy_load_attr", "convert_double_br_tags", "footnotes", "wrap_in", "dissolve"),
    )
)
"""Directives that change the form of an excerpt, or test it: the extracted text is the same without them."""
_LOGIN = "the crawler logs in nowhere; pages behind the login are not collected"
_REASONS = {
    "http_header": "the crawler identifies itself truthfully, and sends the same header fields to every site",
    "find_string": "pages are read as they were sent; text is not replaced before",
    "replace_string": "pages are read as they were sent; text is not replaced before",
    "requires_login": _LOGIN,
    "not_logged_in_xpath": _LOGIN,
    "login_uri": _LOGIN,
    "login_username_field": _LOGIN,
    "login_password_field": _LOGIN,
    "login_extra_fields": _LOGIN,
    "if_page_contains": "a rule for some pages of a site has to be written as a level or a variant by hand",
    "move_into": "the parts of a page stay where they are",
    "skip_id_or_class": "exceptions from exclusions have to be written by hand",
}
_FIELDS = {"title": ("text", "headline name"), "author": ("person", "author"), "date": ("datetime", "datePublished")}
_LINKS = {"single_page_link": "single-page", "next_page_link": "next-page"}


class ConfigsError(Exception):
    """The configs cannot be read; the message says which file and why."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The name of a site config, without folders, and its text."""

    name: str
    text: str


def config_files(source: Path) -> Iterator[ConfigFile]:
    """Yield the ``.txt`` files of a folder or a tar archive, in the order of their names or of the archive.

    Links, devices and files of more than `MAX_FILE_SIZE` bytes are skipped. Raises `ConfigsError` if the source is
    neither folder nor archive, or is larger than any honest archive.
    """
    if source.is_dir():
        yield from _of_folder(source)
        return
    try:
        yield from _of_archive(source)
    except (OSError, EOFError, tarfile.TarError) as error:
        raise ConfigsError(f"{source}: this is neither a folder nor a tar archive that can be read: {error}") from None


def _of_folder(folder: Path) -> Iterator[ConfigFile]:
    for number, file in enumerate(sorted(folder.rglob("*.txt"))):
        _refuse_many(folder, number)
        if file.is_file() and not file.is_symlink() and file.stat().st_size <= MAX_FILE_SIZE:
            yield ConfigFile(file.name, _decoded(file.read_bytes()))


def _of_archive(archive: Path) -> Iterator[ConfigFile]:
    unpacked = 0
    with tarfile.open(archive, "r|*") as tar:
        for number, member in enumerate(tar):
            _refuse_many(archive, number)
            unpacked += member.size
            if unpacked > MAX_ARCHIVE:
                raise ConfigsError(f"{archive}: the archive holds more than {MAX_ARCHIVE:,} bytes")
            name = PurePosixPath(member.name).name
            if not member.isfile() or not name.endswith(".txt") or member.size > MAX_FILE_SIZE:
                continue
            content = tar.extractfile(member)
            if content is not None:
                yield ConfigFile(name, _decoded(content.read(MAX_FILE_SIZE)))


def _refuse_many(source: Path, number: int) -> None:
    if number >= MAX_FILES:
        raise ConfigsError(f"{source}: there are more than {MAX_FILES:,} files in it")


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


@dataclass(frozen=True, slots=True)
class Directive:
    """One line of a config: ``name: value``, or ``name(parameter): value``."""

    line: int
    name: str
    value: str


def directives(text: str) -> Iterator[Directive]:
    """Yield the directives of a config; comments, empty lines and lines without a directive are ignored."""
    for number, line in enumerate(text.splitlines(), start=1):
        match = None if line.lstrip().startswith("#") else _DIRECTIVE.fullmatch(line)
        if match is not None and match["value"]:
            yield Directive(number, match["name"].lower(), match["value"])


def host_of(file: ConfigFile) -> str | None:
    """Return the host that a config is for, from its name; None if it is for none.

    >>> host_of(ConfigFile("example.org.txt", "")), host_of(ConfigFile(".example.org.txt", ""))
    ('example.org', '*.example.org')
    """
    name = file.name.removesuffix(".txt").lower()
    host = name.removeprefix(".").removeprefix("www.")
    if not _HOST.fullmatch(host):
        return None
    return f"*.{host}" if name.startswith(".") else host


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A directive of a config that has no counterpart, and why; ``line`` is 0 for the whole file."""

    file: str
    line: int
    directive: str
    reason: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: {self.directive}" if self.line else self.file
        return f"{where}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Conversion:
    """The result of one config. ``application`` is the root of a file, None if nothing can be extracted."""

    file: str
    host: str | None
    application: etree._Element | None
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True)
class _Expression:
    xpath: str
    cite: str


@dataclass
class _Config:
    """The directives of one config, sorted; expressions that cannot be used are left out."""

    file: ConfigFile
    left_out: list[LeftOut] = field(default_factory=list)
    expressions: dict[str, list[_Expression]] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)

    def read(self) -> None:
        for directive in directives(self.file.text):
            if directive.name == "test_url":
                self.examples.append(directive.value)
            elif directive.name in ("body", "strip", *_FIELDS, *_LINKS):
                self._keep(directive.name, directive, directive.value)
            elif directive.name == "strip_id_or_class":
                text = _quoted(directive.value.strip("\"'"))
                self._keep("strip", directive, f"//*[contains(@class, {text}) or contains(@id, {text})]")
            elif directive.name == "strip_image_src":
                self._keep("strip", directive, f"//img[contains(@src, {_quoted(directive.value.strip(chr(34)))})]")
            elif directive.name not in _NEEDLESS:
                self.leave_out(directive, _REASONS.get(directive.name, "this directive is not known"))

    def _keep(self, group: str, directive: Directive, xpath: str) -> None:
        if len(xpath) > MAX_EXPRESSION_LENGTH:
            self.leave_out(directive, f"the expression has more than {MAX_EXPRESSION_LENGTH:,} signs")
            return
        if any(ord(sign) < ord(" ") for sign in xpath):
            self.leave_out(directive, "the expression holds signs that no XML file can hold")
            return
        try:
            compile_selector(xpath=xpath)
        except BadExpressionError as error:
            self.leave_out(directive, f"the expression cannot be used: {error}")
            return
        expression = _Expression(xpath, f"{PROJECT}, {self.file.name}, line {directive.line}")
        known = self.expressions.setdefault(group, [])
        if all(expression.xpath != other.xpath for other in known):
            known.append(expression)

    def leave_out(self, directive: Directive, reason: str) -> None:
        self.left_out.append(LeftOut(self.file.name, directive.line, directive.name, reason))


def convert_file(file: ConfigFile) -> Conversion:
    """Convert one config.

    The application has one terminal level: a page on which one of the config's bodies is found, except the front page.
    All of its links are followed, as a config does not restrict them.
    """
    host = host_of(file)
    if host is None:
        reason = "the file is for no site of its own: its name is no host"
        return Conversion(file.name, None, None, (LeftOut(file.name, 0, "", reason),))
    config = _Config(file)
    config.read()
    if not config.expressions.get("body"):
        config.left_out.append(LeftOut(file.name, 0, "", _no_body(file)))
        return Conversion(file.name, host, None, tuple(config.left_out))
    return Conversion(file.name, host, _application(config, host), tuple(config.left_out))


def _no_body(file: ConfigFile) -> str:
    if any(directive.name == "body" for directive in directives(file.text)):
        return "no body is left that could be extracted"
    return "it names no body, and leaves it to fivefilters to find one"


def _application(config: _Config, host: str) -> etree._Element:
    root = etree.Element("application", name=host, kind="news")
    about = etree.SubElement(root, "about")
    about.text = f"Articles of {host}, converted from {PROJECT}, {config.file.name} (public domain)."
    examples = [url for url in config.examples if url.isprintable()][:MAX_EXAMPLES]
    if examples:
        about.text += f" Pages to try it on: {' '.join(examples)}"
    cite = f"{PROJECT}, {config.file.name}"
    etree.SubElement(etree.SubElement(root, "detect"), "pattern", host=host, strength="proof", cite=cite)
    level = etree.SubElement(root, "level", name="article", role="terminal")
    for expression in config.expressions["body"]:
        _with(level, "when", expression)
    etree.SubElement(level, "unless", path="/")
    _navigation(level, config.expressions)
    _extraction(level, config.expressions)
    return root


def _navigation(level: etree._Element, expressions: dict[str, list[_Expression]]) -> None:
    for directive, name in _LINKS.items():
        if directive in expressions:
            action = etree.SubElement(level, "navigate", name=name, to="article")
            _select(action, expressions[directive])
    links = etree.SubElement(level, "navigate", name="links", to="article")
    etree.SubElement(links, "select", css="a[href]")


def _extraction(level: etree._Element, expressions: dict[str, list[_Expression]]) -> None:
    action = etree.SubElement(level, "extract", name="article", type="article")
    etree.SubElement(action, "item", xpath="/html")
    for name, (kind, declared) in _FIELDS.items():
        wanted = etree.SubElement(action, "field", name=name, kind=kind, declared=declared)
        if name == "author":
            wanted.set("many", "yes")
        _select(wanted, expressions.get(name, ()))
        if name == "title" and "title" not in expressions:
            etree.SubElement(wanted, "select", xpath="//meta[@property='og:title']", attribute="content")
            etree.SubElement(wanted, "select", xpath="//title")
    body = etree.SubElement(action, "field", name="body", join="yes")
    _select(body, expressions["body"])
    for expression in expressions.get("strip", ()):
        _with(body, "without", expression)


def _select(parent: etree._Element, expressions: Iterable[_Expression]) -> None:
    for expression in expressions:
        _with(parent, "select", expression)


def _with(parent: etree._Element, tag: str, expression: _Expression) -> None:
    etree.SubElement(parent, tag, xpath=expression.xpath, cite=expression.cite)


def _quoted(text: str) -> str:
    """Write a text as an XPath string, which has no escapes: in quotes that it does not contain, else in pieces."""
    if "'" not in text:
        return f"'{text}'"
    if '"' not in text:
        return f'"{text}"'
    return f"concat({', '.join(_pieces(text))})"


def _pieces(text: str) -> Iterator[str]:
    for number, piece in enumerate(text.split("'")):
        if number:
            yield '"\'"'
        if piece:
            yield f"'{piece}'"


@dataclass(frozen=True, slots=True)
class Pack:
    """The conversions of one source, in its order; each host once."""

    conversions: tuple[Conversion, ...]

    @property
    def applications(self) -> tuple[Conversion, ...]:
        """The files that became an application."""
        return tuple(conversion for conversion in self.conversions if conversion.application is not None)

    @property
    def left_out(self) -> Iterator[LeftOut]:
        """All that was not taken over, file by file."""
        return (left for conversion in self.conversions for left in conversion.left_out)

    def summary(self) -> str:
        """Return one line with the numbers of files converted wholly, in part, and not at all."""
        whole = sum(not conversion.left_out for conversion in self.applications)
        part = len(self.applications) - whole
        none = len(self.conversions) - len(self.applications)
        return f"{len(self.conversions)} files: {whole} converted wholly, {part} in part, {none} not"

    def reasons(self) -> list[tuple[str, int]]:
        """Return the reasons for omissions with their frequencies, the most frequent first."""
        return Counter(
            f"{left.directive}: {left.reason}" if left.line else left.reason for left in self.left_out
        ).most_common()


def convert(source: Path) -> Pack:
    """Convert every config of a folder or an archive. Raises `ConfigsError`."""
    return Pack(tuple(_once(config_files(source))))


def _once(files: Iterable[ConfigFile]) -> Iterator[Conversion]:
    """Convert the files; of several for one host the first that becomes an application counts."""
    taken: dict[str, str] = {}
    for file in files:
        conversion = convert_file(file)
        if conversion.application is None or conversion.host is None:
            yield conversion
        elif conversion.host in taken:
            reason = f"{taken[conversion.host]} is for the same host"
            yield Conversion(file.name, conversion.host, None, (LeftOut(file.name, 0, "", reason),))
        else:
            taken[conversion.host] = file.name
            yield conversion


def write(pack: Pack, folder: Path) -> None:
    """Write the pack as a folder of the knowledge base: ``applications/<host>.xml``.

    Files of the same name are overwritten, others are left alone. Raises OSError, and `LoadError` if the written files
    do not load beside the shipped knowledge base.
    """
    applications = folder / "applications"
    applications.mkdir(parents=True, exist_ok=True)
    for conversion in pack.applications:
        if conversion.application is not None and conversion.host is not None:
            tree = etree.ElementTree(conversion.application)
            tree.write(
                applications / _file_name(conversion.host), pretty_print=True, xml_declaration=True, encoding="UTF-8"
            )
    load(SHIPPED, folder)


def write_report(pack: Pack, file: Path) -> None:
    """Write the omissions as JSON: a list of objects with file, line, directive and reason."""
    file.write_text(json.dumps([asdict(left) for left in pack.left_out], indent=1, ensure_ascii=False) + "\n", "utf-8")


def _file_name(host: str) -> str:
    return f"subdomains-of-{host[2:]}.xml" if host.startswith("*.") else f"{host}.xml"
