"""The folder to which an archive's files are copied, at any address that fsspec supports."""

import hashlib
import os
import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from online_analysis.icd import WHERE_SECRETS_ARE, Icd, Mistake, secret_in

PART = ".delivering"
"""The suffix of an unfinished copy, on file systems that show files while they are written."""

_READ_ONLY = frozenset({"data", "gist", "git", "github", "http", "https", "libarchive", "reference", "tar", "zip"})
_WHOLE = frozenset({"abfs", "abfss", "adl", "az", "gcs", "gs", "oci", "oss", "s3", "s3a", "tos", "tosfs"})
"""Object stores: a file appears when its upload has ended. Renaming would copy it once more."""
_REPLACING = frozenset({"file", "local", "memory", "sftp", "ssh"})
"""The file systems on which a rename replaces an existing file of that name."""
_PACKAGES = {"smbclient": "smbprotocol", "smbprotocol": "smbprotocol"}
_KINDS = "write s3://, gs://, az://, sftp://, or a folder"
_PIECE = 1 << 20
_BLOCK = 16 << 20
"""Bytes of a part of an upload: stores accept ten thousand parts, and each is held in memory."""
_SECRET = re.compile(r"://[^/@\s]*:[^@\s]*@")


class TargetError(Exception):
    """Raised for an unusable address: ``problem`` continues a sentence beginning with it, ``advice`` is the remedy."""

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(f"{problem}; {advice}")
        self.problem = problem
        self.advice = advice


class DamagedCopyError(Exception):
    """Raised when the file that arrived differs from the one sent."""


def check_address(address: str) -> None:
    """Raise ``TargetError`` for an unusable address.

    An address is unusable if it is of an unknown kind, lacks its package, is read-only, or contains a secret.
    """
    if problem := secret_in(address):
        raise TargetError(problem, WHERE_SECRETS_ARE)
    if _local_path(address) is not None:
        return
    for link in address.split("::"):
        protocol, separator, _ = link.partition("://")
        if protocol in _READ_ONLY:
            raise TargetError(f"is of the kind {protocol}, which cannot be written to", _KINDS)
        _check_package(protocol if separator or link != address else "file")


def _check_package(protocol: str) -> None:
    from fsspec import get_filesystem_class  # noqa: PLC0415 - as below

    try:
        get_filesystem_class(protocol)
    except ValueError:
        raise TargetError(f"is of the kind {protocol}, which fsspec does not know", _KINDS) from None
    except ImportError as error:
        missing = getattr(error.__cause__, "name", None)
        name = str(missing or "").partition(".")[0]
        advice = f"pip install {_PACKAGES.get(name, name)}" if name else str(error)
        raise TargetError(f"is of the kind {protocol}, which needs a package that is not installed", advice) from None


def target_mistakes(icd: Icd) -> tuple[Mistake, ...]:
    """Return the mistakes in an ICD's ``archive.target``, without connecting to it."""
    address = icd.archive.target
    if not address:
        return ()
    try:
        check_address(address)
        path = _local_path(address)
        if path is not None and (path / icd.id).resolve() == icd.output.resolve():
            raise TargetError("is where the crawl itself is written", "name another folder")
    except TargetError as error:
        return (icd.target_mistake(error.problem, error.advice),)
    return ()


def lasting_address(address: str) -> str:
    """Return an address with the same meaning that does not depend on the working directory.

    >>> lasting_address("s3://bucket/crawls"), lasting_address("/mnt/./crawls")
    ('s3://bucket/crawls', '/mnt/crawls')
    """
    path = _local_path(address)
    return address if path is None or "://" in address else str(path.expanduser().absolute())


def _local_path(address: str) -> Path | None:
    """Return the path on this machine that an address denotes; None if it denotes another machine."""
    if "::" in address:
        return None
    protocol, separator, path = address.partition("://")
    if not separator:
        return Path(address)
    return Path(path) if protocol in {"file", "local"} else None


class Target:
    """A folder at an address; each instance opens a connection of its own.

    fsspec finds the credentials: in its configuration files, the environment, or the sources that its packages read.
    Methods raise any error of the file system.
    """

    def __init__(self, address: str) -> None:
        """Connect. Raises ``TargetError`` as ``check_address`` does."""
        from fsspec.core import url_to_fs  # noqa: PLC0415 - most crawls copy nothing, and would wait for it

        check_address(address)
        self._files, root = url_to_fs(address, skip_instance_cache=True)
        self._root = root.rstrip("/")
        names = self._files.protocol
        self._protocols = frozenset({names} if isinstance(names, str) else names)

    def size(self, name: str) -> int | None:
        """Return the size of a file in bytes; None if it does not exist."""
        size = self._info(self._path(name)).get("size")
        return None if size is None else int(size)

    def digest(self, name: str) -> bytes | None:
        """Read a file and return its SHA-256; None if it does not exist."""
        if self.size(name) is None:
            return None
        digest = hashlib.sha256()
        with self._files.open(self._path(name), "rb", block_size=_BLOCK) as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
        return digest.digest()

    def put(self, source: BinaryIO, name: str) -> None:
        """Copy a file to this name, replacing an existing one.

        The name never shows an incomplete copy: if files are visible while they are written, the copy is written under
        another name and renamed. Uses some tens of megabytes of memory, whatever the file's size. Raises
        ``DamagedCopyError`` if the copy's size or, if the file system gives one, its checksum differs from the source.
        """
        final = self._path(name)
        part = final if self._protocols & _WHOLE else final + PART
        if part != final:
            self._files.makedirs(final.rpartition("/")[0], exist_ok=True)
        size, digest = self._copy(source, part)
        if part != final:
            if not self._protocols & _REPLACING and self._info(final):
                self._files.rm_file(final)
            self._files.mv(part, final)
        arrived = self._info(final)
        if arrived.get("size") != size or _md5(arrived) not in (None, digest):
            raise DamagedCopyError(f"{name} arrived with {arrived.get('size')} of {size} bytes, or other ones")

    def _copy(self, source: BinaryIO, path: str) -> tuple[int, bytes]:
        size, digest = 0, hashlib.md5(usedforsecurity=False)
        with self._files.open(path, "wb", block_size=_BLOCK) as sink:
            while piece := source.read(_PIECE):
                sink.write(piece)
                digest.update(piece)
                size += len(piece)
            with suppress(OSError, AttributeError):  # Other machines have no file descriptor.
                sink.flush()
                os.fsync(sink.fileno())
        return size, digest.digest()

    def _info(self, path: str) -> Mapping[str, Any]:
        self._files.invalidate_cache()
        try:
            info: Mapping[str, Any] = self._files.info(path)
        except FileNotFoundError:
            return {}
        return info if info.get("type") == "file" else {}

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"


def _md5(info: Mapping[str, Any]) -> bytes | None:
    """Return the MD5 digest that Google's and Azure's stores report.

    An ETag of S3 is not always one, so it is not used.
    """
    settings = info.get("content_settings")
    given = info.get("md5Hash") or (settings.get("content_md5") if isinstance(settings, Mapping) else None)
    try:
        digest = b64decode(given) if isinstance(given, str) else bytes(given or b"")
    except (Base64Error, TypeError, ValueError):
        return None
    return digest if len(digest) == 16 else None


def first_line(error: BaseException) -> str:
    """Return the type of an error and the first line of its message, because some messages quote whole responses."""
    line = _SECRET.sub("://***@", str(error).strip().partition("\n")[0])[:200]
    return f"{type(error).__name__}: {line}" if line else type(error).__name__
