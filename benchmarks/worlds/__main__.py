"""Builds worlds for simulated crawls, each of a different kind.

    python -m benchmarks.worlds --out FOLDER [--packages FOLDER] [NAME ...]

`manuals` are references of programming interfaces, `handbooks` are prose, and `guides` are both, of other software and
held out: nothing was chosen by them. All three are documentation packages of Debian. `wiki` has the articles of a
dictionary of computing. `forums` and `weblogs` are generated from sentences about subjects that are drawn from WordNet.
Packages are downloaded once, by `apt-get download`, and unpacked, not installed. The same packages make the same
worlds; `sources.json` names their files. Topics and seeds are drawn at random from sections, categories and tags, which
are the labels of `topics.tsv`.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from random import Random

from benchmarks.recorded import PROJECT
from benchmarks.worlds.boards import forums
from benchmarks.worlds.handbooks import PackageError, debian_package, dictionary_wiki, manual
from benchmarks.worlds.prose import ArchivedResponse, subjects
from benchmarks.worlds.weblogs import weblogs
from benchmarks.worlds.world_files import LotError, drawn, write_labels, write_responses, write_topics

_MANUALS = (
    *("cppreference-doc-en-html", "libglib2.0-doc", "libgtk-3-doc", "postgresql-doc-15", "python-django-doc"),
    *("python-sqlalchemy-doc", "sqlite3-doc"),
)
_HANDBOOKS = (
    *("apache2-doc", "aptitude-doc-en", "bind9-doc", "c++-annotations-html", "debian-policy", "debian-reference-en"),
    *(
        "debian-handbook",
        "developers-reference",
        "exim4-doc-html",
        "gap-doc",
        "gimp-help-en",
        "git-doc",
        "installation-guide-amd64",
    ),
    *("lilypond-doc-html", "maint-guide", "maxima-doc", "python3.11-doc", "zsh-doc"),
)
_GUIDES = (
    *("erlang-doc", "fp-docs-3.2.2", "gnuplot-doc", "octave-doc", "postfix-doc", "postgis-doc", "python-pandas-doc"),
    *("r-doc-html", "tcl8.6-doc"),
)
_ABOUT = 40
"""The number of subjects of a generated world."""

Unpacked = Mapping[str, Path]
Fill = Callable[[Unpacked, Random], Iterator[ArchivedResponse]]


def _manuals(packages: Unpacked, _: Random) -> Iterator[ArchivedResponse]:
    return chain.from_iterable(manual(f"{name}.test", folder) for name, folder in packages.items())


WORLDS: Mapping[str, tuple[Sequence[str], Fill]] = {
    "manuals": (_MANUALS, _manuals),
    "handbooks": (_HANDBOOKS, _manuals),
    "guides": (_GUIDES, _manuals),
    "forums": (
        ("wordnet-base",),
        lambda held, drawn: forums(subjects(held["wordnet-base"], _ABOUT, drawn), 800, drawn),
    ),
    "weblogs": (
        ("wordnet-base",),
        lambda held, drawn: weblogs(subjects(held["wordnet-base"], _ABOUT, drawn), 350, drawn),
    ),
    "wiki": (("dict-foldoc",), lambda held, drawn: dictionary_wiki(held["dict-foldoc"], drawn)),
}
"""The packages of each world, and the function that makes its pages of them."""


def build(name: str, folder: Path, packages: Path) -> int:
    """Build a world in a folder; return the number of its pages. Raises ``PackageError`` and ``LotError``."""
    needed, fill = WORLDS[name]
    fetched = {package: debian_package(package, packages) for package in needed}
    folder.mkdir(parents=True, exist_ok=True)
    random = Random(name)
    unpacked = {package: path for package, (_, path) in fetched.items()}
    labels = write_responses(folder, name, fill(unpacked, random))
    write_labels(folder, labels)
    write_topics(folder, drawn(folder, labels, random), {package: file for package, (file, _) in fetched.items()})
    return len(labels)


def main() -> int:
    """Build worlds from the command line; the exit code is 1 if one could not be built."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(WORLDS)}; default: all")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the worlds, each in one of its own")
    parser.add_argument("--packages", type=Path, default=PROJECT / ".cache" / "packages", help="keeps what was fetched")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in WORLDS]
    if unknown:
        parser.error(f"there is no world {unknown[0]!r}; there are {', '.join(WORLDS)}")
    return max(
        [_told(partial(build, name, options.out / name, options.packages), name) for name in options.names or WORLDS]
    )


def _told(building: Callable[[], int], name: str) -> int:
    """Build a world and print the result; return the exit code."""
    try:
        print(f"{name}: {building():,} pages", flush=True)
    except (PackageError, LotError) as error:
        print(f"{name}: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
