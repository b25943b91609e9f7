"""Determine which crawls are meant by folders and collections, and what describes them together."""

from collections.abc import Sequence
from pathlib import Path

from aahcrawler.crawl_collections import CollectionFile
from offline.export.wacz_export import Described
from offline.export.wacz_file import ExportError


def described_crawls(paths: Sequence[Path]) -> tuple[Sequence[Path], Described, Sequence[str]]:
    """Return the folders of crawls, their description, and messages about those that are gone.

    A single collection describes its content; so does a single crawl. Raises ``CollectionError``, and ``ExportError``
    if no crawl is left.
    """
    folders: list[Path] = []
    missing: list[str] = []
    described: Described | None = None
    for path in paths:
        file = CollectionFile.named(path)
        if file is None:
            if not path.is_dir():
                raise ExportError(f"{path}: is no folder of a crawl and no collection; check the name")
            folders.append(path)
            continue
        collection = file.read()
        gone = frozenset(file.missing(collection))
        missing += [f"{path}: {name} is in the collection, and gone" for name in sorted(gone)]
        folders += [file.folder(name) for name in collection.crawls if name not in gone]
        if len(paths) == 1:
            terms = tuple(each for each in collection.terms() if each[0] != "description")
            described = Described(collection.title, collection.description, terms)
    if not folders:
        raise ExportError("\n".join((*missing, f"{', '.join(map(str, paths))}: no crawl is there")))
    return folders, described or Described.of_crawls(folders), missing
