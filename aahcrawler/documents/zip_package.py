"""Unpacks ZIP files of XML (DOCX, ODT, EPUB) within bounds, and parses that XML."""

import zlib
from io import BytesIO
from typing import Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from lxml.etree import XMLParser, XMLSyntaxError, fromstring
from lxml.etree import _Element as Element

from aahcrawler.documents.content import EncryptedError

MAX_MEMBERS: Final = 20_000
MAX_UNPACKED: Final = 64 << 20
"""Bytes that are unpacked of one file."""
MAX_OF_MEMBER: Final = 16 << 20
MAX_RATIO: Final = 200
"""How many times its packed size may be unpacked of a member larger than ``_SMALL``: text is packed 3 to 50 times."""
_SMALL: Final = 1 << 20
_CHUNK: Final = 1 << 16
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_PACKAGE: Final = "EncryptedPackage".encode("utf-16-le")
_ENTRY: Final = b"PK\x01\x02"
_METHODS: Final = frozenset({ZIP_STORED, ZIP_DEFLATED})
"""Ways of packing that the formats allow; others can ask for any amount of memory."""
_IS_ENCRYPTED: Final = 0x1


def is_encrypted(body: bytes) -> bool:
    """Return whether a file of Microsoft's formats needs a password: it is in their older container then."""
    return body.startswith(_OLE) and _ENCRYPTED_PACKAGE in body


class Package:
    """The members of a ZIP file by name; ``is_cut`` says that some were read in part only.

    Raises ``BadZipFile`` for a file that is no ZIP file or has too many members.
    """

    def __init__(self, body: bytes) -> None:
        # The list of members is read as a whole, before anything can be counted otherwise.
        if body.count(_ENTRY) > MAX_MEMBERS:
            raise BadZipFile("too many members")
        self._file = ZipFile(BytesIO(body))
        self._members = {member.filename: member for member in self._file.infolist()}
        self._left = MAX_UNPACKED
        self.is_cut = False

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def read(self, name: str) -> bytes:
        """Return a member, as far as the bounds and its own damage allow; nothing if there is none.

        Raises ``EncryptedError`` for a member that needs a password.
        """
        member = self._members.get(name)
        if member is None:
            return b""
        if member.flag_bits & _IS_ENCRYPTED:
            raise EncryptedError
        limit = min(self._left, MAX_OF_MEMBER, max(_SMALL, MAX_RATIO * member.compress_size))
        found = bytearray()
        try:
            self._unpack(member, limit, found)
        except (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError):
            self.is_cut = True
        self._left -= len(found)
        return bytes(found)

    def xml(self, name: str) -> Element | None:
        """Return the root of an XML member, None where there is none; broken XML is parsed as far as possible.

        Document types, entities and external files have no effect.
        """
        root, is_whole = _parsed(self.read(name))
        self.is_cut = self.is_cut or not is_whole
        return root

    def _unpack(self, member: ZipInfo, limit: int, found: bytearray) -> None:
        if member.compress_type not in _METHODS:
            raise NotImplementedError
        with self._file.open(member) as packed:
            while chunk := packed.read(min(_CHUNK, limit + 1 - len(found))):
                found += chunk
                if len(found) > limit:
                    del found[limit:]
                    self.is_cut = True
                    return


def _parsed(markup: bytes) -> tuple[Element | None, bool]:
    """Return the root of what can be parsed, and whether everything could be."""
    parser = XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, recover=True, remove_comments=True, remove_pis=True
    )
    try:
        root = fromstring(markup, parser) if markup else None
    except XMLSyntaxError:
        return None, False
    return root, not parser.error_log.filter_from_fatals()


def tag_of(element: Element) -> str:
    """Return the name of an element without its namespace, which varies between versions of a format."""
    return str(element.tag).rpartition("}")[2]


def value_of(element: Element, attribute: str) -> str:
    """Return the value of an attribute in any namespace; empty if it is missing."""
    named = (value for name, value in element.items() if str(name).rpartition("}")[2] == attribute)
    return str(next(named, ""))


def text_of(root: Element | None, tag: str) -> str:
    """Return the text of the first element of a name, empty if it is missing."""
    found = None if root is None else next(root.iter(f"{{*}}{tag}"), None)
    return "" if found is None else "".join(map(str, found.itertext()))
