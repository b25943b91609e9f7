"""Downloads packages with the clients of their indexes, and unpacks them into folders: nothing is installed."""

import subprocess
import tarfile
import zipfile
from pathlib import Path

_WITHIN = 900
"""The seconds that a client may take for one package."""


class PackageError(Exception):
    """Raised where a package cannot be had, or its client is not installed."""


def debian_package(name: str, folder: Path) -> tuple[str, Path]:
    """Return the version of a Debian package and the folder it was unpacked into, below ``folder``."""
    return _fetched(["apt-get", "download", name], name, folder, ".deb")


def _fetched(command: list[str], name: str, folder: Path, suffix: str) -> tuple[str, Path]:
    """Download into a folder of the package's name, unless it is there, and unpack."""
    kept, unpacked = folder / name, folder / name / "unpacked"
    kept.mkdir(parents=True, exist_ok=True)
    if not _archives(kept, suffix):
        _run(command, kept)
    archive = _archives(kept, suffix)[0]
    if not unpacked.exists():
        part = kept / "unpacking"
        _unpack(archive, part)
        part.rename(unpacked)
    return archive.name, unpacked


def _archives(folder: Path, suffix: str) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file() and path.name.endswith(suffix))


def _unpack(archive: Path, target: Path) -> None:
    if archive.suffix == ".deb":
        _run(["dpkg-deb", "--extract", archive.name, target.name], archive.parent)
    elif archive.suffix in (".whl", ".zip"):
        zipfile.ZipFile(archive).extractall(target)  # noqa: S202 - zipfile keeps members below the folder
    else:
        with tarfile.open(archive) as members:
            members.extractall(target, filter="data")


def _run(command: list[str], folder: Path) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=_WITHIN)
    except FileNotFoundError as error:
        raise PackageError(f"{command[0]} is not installed, so {command[-1]} cannot be had") from error
    except subprocess.TimeoutExpired as error:
        raise PackageError(f"{' '.join(command)}: not done after {_WITHIN} s") from error
    except subprocess.CalledProcessError as error:
        said = (error.stderr.strip().splitlines() or ["nothing"])[-1]
        raise PackageError(f"{' '.join(command)}: {said}") from error
