"""Collections as they are shown: what describes them, and their crawls with what each of these counts."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import Field

from aahcrawler.crawl_collections import Collection, CollectionError, CollectionFile
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.views.crawl_state import CrawlStates
from aahcrawler.service.web.problems import NO_COLLECTION, ProblemError, Shown


class CollectedCrawl(Shown):
    """A crawl of a collection, by the name of its folder. Of one that is gone nothing else is known.

    ``pages`` and ``objects`` are as in the crawl's own state; ``objects`` is None where they are not yet counted.
    """

    folder: str
    id: str = ""
    title: str = ""
    state: str = Field(default="gone", description="That of the crawl, or `gone`.")
    pages: int = 0
    objects: int | None = None


class CollectionView(Shown):
    """A collection: its name, what describes it, and its crawls. ``pages`` and ``objects`` are the sums of theirs.

    ``problem`` says what is wrong with its file; nothing else is known then.
    """

    name: str
    described: Collection | None = None
    crawls: tuple[CollectedCrawl, ...] = ()
    pages: int = 0
    objects: int = 0
    missing: tuple[str, ...] = ()
    problem: str = ""

    @property
    def title(self) -> str:
        """What it is called."""
        return self.name if self.described is None else self.described.title


def collections(reach: CrawlRegistry, states: CrawlStates) -> Sequence[CollectionView]:
    """Return the collections in the folder of crawls, in the order of their names."""
    place = reach.catalog.place_for_new()
    crawls = _by_folder(reach)
    return [] if place is None else [_shown(file, states, crawls) for file in CollectionFile.all_in(place)]


def collection(reach: CrawlRegistry, states: CrawlStates, name: str) -> CollectionView:
    """Return a collection. Raise ``ProblemError`` where there is none."""
    return _shown(collection_file(reach, name), states, _by_folder(reach))


def collection_file(reach: CrawlRegistry, name: str, *, is_new: bool = False) -> CollectionFile:
    """Return the file of a collection. Raise ``ProblemError`` where there is none, or, if it is new, can be none."""
    place = reach.catalog.place_for_new()
    try:
        if place is None:
            raise CollectionError("this service was given folders of single crawls; a collection lies beside several")
        file = CollectionFile(place / name)
    except CollectionError as error:
        raise ProblemError(NO_COLLECTION, str(error)) from None
    if file.name != name or not (is_new or file.path.is_file()):
        raise ProblemError(NO_COLLECTION, "no collection of this name lies in this service's folder of crawls")
    return file


def folders_to_add(reach: CrawlRegistry, shown: CollectionView) -> Iterator[tuple[str, str]]:
    """Yield name and title of the folders of crawls that a collection could have and has not."""
    place = reach.catalog.place_for_new()
    known = {each.folder for each in shown.crawls}
    for crawl in reach.crawls():
        folder = crawl.folder
        if folder is not None and folder.parent == place and folder.name not in known:
            yield folder.name, crawl.icd.title or crawl.id


def _by_folder(reach: CrawlRegistry) -> Mapping[Path, Crawl]:
    return {crawl.folder.resolve(): crawl for crawl in reach.crawls() if crawl.folder is not None}


def _shown(file: CollectionFile, states: CrawlStates, known: Mapping[Path, Crawl]) -> CollectionView:
    try:
        described = file.read()
    except CollectionError as error:
        return CollectionView(name=file.name, problem=str(error).replace(f"{file.path}: ", ""))
    crawls = tuple(_crawl(name, known.get(file.folder(name).resolve()), states) for name in described.crawls)
    return CollectionView(
        name=file.name,
        described=described,
        crawls=crawls,
        pages=sum(each.pages for each in crawls),
        objects=sum(each.objects or 0 for each in crawls),
        missing=tuple(each.folder for each in crawls if each.state == "gone"),
    )


def _crawl(name: str, crawl: Crawl | None, states: CrawlStates) -> CollectedCrawl:
    if crawl is None:
        return CollectedCrawl(folder=name)
    status = states.status(crawl)
    return CollectedCrawl(
        folder=name,
        id=crawl.id,
        title=crawl.icd.title or crawl.id,
        state=status.state,
        pages=status.fetched,
        objects=status.objects,
    )
