"""Write a WACZ package (WACZ 1.1.1): the members of a ZIP file, the digest of each, and their list.

The signed value is the digest of ``datapackage.json``, which contains the digests of all members.
"""

import base64
import errno
import fcntl
import gzip
import hashlib
import io
import json
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Protocol, Self, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from pydantic import JsonValue

from aahcrawler import __version__
from aahcrawler.imports.wacz_package import Window
from aahcrawler.segments import no_link
from aahcrawler.segments.reader import sync_folder

_VERSION: Final = "0.1.0"
_HALF: Final = 48
"""Bytes of each of the two numbers of a signature on the curve P-384."""
_HOW: Final = "make one by: openssl ecparam -name secp384r1 -genkey -noout -out key.pem"


@dataclass(frozen=True, slots=True)
class EcdsaKey:
    """A private key on the curve P-384, which ReplayWeb.page supports."""

    key: ec.EllipticCurvePrivateKey

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read a PEM key without a password. Raises ``ExportError``."""
        try:
            key = load_pem_private_key(file.read_bytes(), None)
        except OSError as error:
            raise ExportError(f"--sign {file}: cannot be read ({error.strerror}); {_HOW}") from error
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise ExportError(f"--sign {file}: is no private key in PEM without a password; {_HOW}") from error
        if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP384R1):
            raise ExportError(f"--sign {file}: is a key of another kind than ECDSA on the curve P-384; {_HOW}")
        return cls(key)

    def signed(self, digest: str, created: str) -> Mapping[str, str]:
        """Return the ``signedData`` of a digest. The same digest gives the same signature."""
        made = self.key.sign(digest.encode(), ec.ECDSA(hashes.SHA256(), deterministic_signing=True))
        # Web Crypto wants both numbers one after the other, and not in ASN.1.
        raw = b"".join(number.to_bytes(_HALF, "big") for number in decode_dss_signature(made))
        public = self.key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return {
            "hash": digest,
            "created": created,
            "software": f"AAHCrawler/{__version__}",
            "version": _VERSION,
            "signature": base64.b64encode(raw).decode(),
            "publicKey": base64.b64encode(public).decode(),
        }


EXTENSION: Final = ".wacz"
VERSION: Final = "1.1.1"
PACKAGE: Final = "datapackage.json"
PACKAGE_DIGEST: Final = "datapackage-digest.json"
INDEX_LINES: Final = 1024
"""Lines in a gzip member of the index, which replay software loads to look up one URL."""
_COMPRESSION: Final = 6
_PART: Final = ".part"
_FILE_MODE: Final = 0o644 << 16
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FIRST_MOMENT: Final = datetime(1980, 1, 1, tzinfo=UTC)
"""The earliest moment that a ZIP file can represent."""
_SURELY_SMALL: Final = 1 << 30
_TIMESTAMP: Final = 0x5455
"""The field of ZIP files for a time in seconds since 1970."""


class ExportError(Exception):
    """Raised when a package cannot be written; the message gives the cause and the remedy.

    No file is left under its name.
    """


class Signer(Protocol):
    """Signs packages."""

    def signed(self, digest: str, created: str) -> Mapping[str, str]:
        """Return the ``signedData`` of a digest made at the time ``created``."""


class Member(NamedTuple):
    """A member of the package: its path, its uncompressed size and SHA-256, and the offset of its bytes in the file."""

    path: str
    size: int
    digest: str
    begin: int


@dataclass(frozen=True, slots=True)
class Finished:
    """A complete package: its size, and the SHA-256 of the list of its members, which is what is signed."""

    size: int
    digest: str


class WaczFile:
    """Writes the members of a package one by one; ``finish`` adds their list.

    Memory use does not depend on their sizes. The same members give the same bytes.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._zip = ZipFile(file, "w")
        self.members: list[Member] = []

    def add(
        self, path: str, pieces: Iterable[bytes], at: datetime, *, is_packed: bool, size: int | None = None
    ) -> Member:
        """Add a member with a modification time in UTC. Raises ``OSError``.

        Members that are already compressed (``is_packed``), such as WARC files, are stored unchanged, so that replay
        software can request any part of them. ``size`` is that of all pieces; None if it is not known in advance.
        """
        moment = max(at.astimezone(UTC), _FIRST_MOMENT)
        info = ZipInfo(path, moment.timetuple()[:6])
        info.external_attr = _FILE_MODE
        info.compress_type = ZIP_STORED if is_packed else ZIP_DEFLATED
        info.file_size = size or 0
        may_be_large = size is None or size > _SURELY_SMALL
        if may_be_large:
            # The header before the bytes has room for large sizes then, and the directory at the end does not say so
            # where they are small. ReplayWeb.page looks at the former only where the latter names any such field.
            info.extra = struct.pack("<HHBl", _TIMESTAMP, 5, 1, int(moment.timestamp()))
        digest, written = hashlib.sha256(), 0
        with self._zip.open(info, "w", force_zip64=may_be_large) as opened:
            begin = self._file.tell()
            for piece in pieces:
                digest.update(piece)
                written += len(piece)
                opened.write(piece)
        self.members.append(Member(path, written, f"sha256:{digest.hexdigest()}", begin))
        return self.members[-1]

    def abandon(self) -> None:
        """Stop writing and leave the file as it is; has no effect on a finished one."""
        self._zip.fp = None

    @contextmanager
    def stored(self, member: Member) -> Iterator[BinaryIO]:
        """Open the bytes of an uncompressed member."""
        self._file.flush()
        with Path(self._file.name).open("rb") as file:
            yield cast("BinaryIO", io.BufferedReader(Window(file, member.begin, member.size)))

    def finish(self, described: Mapping[str, JsonValue], at: datetime, key: Signer | None = None) -> Finished:
        """Add ``datapackage.json`` and its digest, signed if there is a key. Raises ``OSError``."""
        package: dict[str, object] = {
            "profile": "data-package",
            "wacz_version": VERSION,
            **described,
            "created": rfc3339(at),
            "resources": [
                {"name": _name(each.path), "path": each.path, "hash": each.digest, "bytes": each.size}
                for each in self.members
            ],
        }
        text = _json(package)
        digest = f"sha256:{hashlib.sha256(text).hexdigest()}"
        told: dict[str, JsonValue] = {"path": PACKAGE, "hash": digest}
        if key is not None:
            told["signedData"] = dict(key.signed(digest, rfc3339(at)))
        self.add(PACKAGE, (text,), at, is_packed=False, size=len(text))
        self.add(PACKAGE_DIGEST, (last := _json(told),), at, is_packed=False, size=len(last))
        self._zip.close()
        return Finished(self._file.tell(), digest)


@contextmanager
def writing_wacz(target: Path) -> Iterator[WaczFile]:
    """Yield a package that appears as a whole or not at all, and replaces no other file.

    It is written under another name, so that a kill leaves nothing under its own. Raises ``ExportError`` if it cannot
    be written, another process writes it, or a file of that name appears meanwhile.
    """
    refuse(target)
    part = target.with_name(target.name + _PART)
    try:
        # What a killed export left is written over: it is cut only once nobody else has it.
        file = open(part, "r+b", opener=_made)  # noqa: SIM115 - the block below closes it
    except OSError as error:
        raise ExportError(f"{part}: cannot be written ({error.strerror or error})") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ExportError(f"{target}: another process is writing it; wait for that, or name another file") from None
        try:
            file.truncate()
            wacz = WaczFile(file)
            try:
                yield wacz
            finally:
                wacz.abandon()
            file.flush()
            os.fsync(file.fileno())
            os.link(part, target)
            sync_folder(target.parent)
        except FileExistsError:
            raise ExportError(f"{target}: exists, and is not overwritten; name another file") from None
        except OSError as error:
            advice = "; make room" if error.errno in _FULL else ""
            raise ExportError(f"{target}: cannot be written ({error.strerror or error}){advice}") from error
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)


def refuse(target: Path) -> None:
    """Raise ``ExportError`` if no package can be written to the target."""
    if target.suffix != EXTENSION:
        raise ExportError(f"{target}: give it a name that ends in {EXTENSION}")
    if target.exists():
        raise ExportError(f"{target}: exists, and is not overwritten; name another file, or remove it")
    if not target.parent.is_dir():
        raise ExportError(f"{target}: there is no folder {target.parent}; make it first")


def packed_index(lines: Iterable[bytes], name: str, blocks: list[bytes]) -> Iterator[bytes]:
    """Yield sorted CDXJ lines in gzip members, and append a line for each member to ``blocks``, after a header line.

    These lines are the secondary index, by which replay software finds the member that it needs.
    """
    blocks.append(f"!meta 0 {json.dumps({'format': 'cdxj-gzip-1.0', 'filename': name})}\n".encode())
    offset = 0
    waiting: list[bytes] = []

    def packed() -> bytes:
        nonlocal offset
        made = gzip.compress(b"".join(waiting), _COMPRESSION, mtime=0)
        place = {"offset": offset, "length": len(made), "digest": f"sha256:{hashlib.sha256(made).hexdigest()}"}
        blocks.append(b" ".join((*waiting[0].split(b" ", 2)[:2], json.dumps(place).encode())) + b"\n")
        offset += len(made)
        waiting.clear()
        return made

    for line in lines:
        waiting.append(line)
        if len(waiting) == INDEX_LINES:
            yield packed()
    if waiting:
        yield packed()


def rfc3339(at: datetime) -> str:
    """Return a time in the format of RFC 3339, in UTC and to the second.

    >>> rfc3339(datetime(2026, 1, 2, 3, 4, 5, 600, tzinfo=UTC))
    '2026-01-02T03:04:05Z'
    """
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _json(said: object) -> bytes:
    return json.dumps(said, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _name(path: str) -> str:
    """Return the name of a resource in the characters that data packages allow: a-z, digits, dots, ``-`` and ``_``."""
    return "".join(sign if sign.isascii() and (sign.isalnum() or sign in "._-") else "-" for sign in path.lower())


def _made(path: str, flags: int) -> int:
    return no_link(path, flags | os.O_CREAT)
