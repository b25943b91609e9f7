"""Trains another library on pages of one theme and applies it to pages of another; run by an interpreter that has it.

    python peer_runner.py scrapling|scrapling-similar|autoscraper WORK.json OBJECTS.jsonl

WORK.json holds ``actions``: for each a ``name``, ``fields`` (XPath expressions by field, the best first) and ``pages``
to learn from, each with ``url``, ``file`` and the ``values`` that stand on it by field; and ``apply``, the pages to
find objects on, each with ``url`` and ``file``. Objects are written a line each, with the CPU seconds of all pages in
a last line. Nothing of the project is imported here.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Found = Mapping[str, Sequence[str]]
"""Texts by field, in document order."""
Finder = Callable[[str, str], Iterator[Found]]
"""Takes the URL and the markup of a page, and yields the text that each action finds there."""


class Scrapling:
    """Saves elements of known pages in adaptive mode, by the first expression that finds any; looks for them again."""

    def __init__(self, work: Mapping[str, Any], storage: Path, *, similar: bool) -> None:
        from scrapling.parser import Selector  # noqa: PLC0415 - this interpreter may have the other library alone

        self._selector = Selector
        self._storage = storage
        self._similar = similar
        self._actions = work["actions"]
        self._saved: dict[tuple[str, str], str] = {}
        for action in self._actions:
            for known in action["pages"]:
                self._learn(action, self._page(known["url"], Path(known["file"]).read_text("utf-8")))

    def _page(self, url: str, markup: str) -> Any:
        arguments = {"storage_file": str(self._storage), "url": url}
        return self._selector(markup, url=url, adaptive=True, storage_args=arguments)

    def _learn(self, action: Mapping[str, Any], page: Any) -> None:
        for field, expressions in action["fields"].items():
            key = (action["name"], field)
            expression = next((each for each in expressions if page.xpath(each)), None)
            if key not in self._saved and expression is not None:
                page.xpath(expression, identifier=" ".join(key), auto_save=True)
                self._saved[key] = expression

    def find(self, url: str, markup: str) -> Iterator[Found]:
        """Yield the text that each action finds on a page."""
        page = self._page(url, markup)
        for action in self._actions:
            yield {
                field: [_text(element) for element in self._elements(page, (action["name"], field))]
                for field in action["fields"]
            }

    def _elements(self, page: Any, key: tuple[str, str]) -> list[Any]:
        if key not in self._saved:
            return []
        elements = list(page.xpath(self._saved[key], identifier=" ".join(key), adaptive=True))
        if self._similar and len(elements) == 1 and hasattr(elements[0], "find_similar"):
            elements += elements[0].find_similar()
        return elements


def _text(element: Any) -> str:
    return str(element.get_all_text(separator="\n", strip=True) if hasattr(element, "get_all_text") else element)


def autoscraper(work: Mapping[str, Any]) -> Finder:
    """Build rules from values of known pages; apply them to similar ones."""
    from autoscraper import AutoScraper  # noqa: PLC0415 - as above

    scrapers = []
    for action in work["actions"]:
        scraper = AutoScraper()
        for known in action["pages"]:
            markup = Path(known["file"]).read_text("utf-8")
            wanted = {field: list(values) for field, values in known["values"].items() if values}
            scraper.build(url=known["url"], html=markup, wanted_dict=wanted, update=True)
        scrapers.append(scraper)

    def find(url: str, markup: str) -> Iterator[Found]:
        for scraper in scrapers:
            yield (
                scraper.get_result_similar(url=url, html=markup, group_by_alias=True, unique=False, keep_order=True)
                if scraper.stack_list
                else {}
            )

    return find


def objects(url: str, found: Found) -> Iterator[dict[str, str | None]]:
    """Yield an object for each body; authors and dates are assigned if there are as many of them as bodies."""
    bodies = found.get("body", ())
    beside = {field: found.get(field, ()) for field in ("author", "date", "title")}
    for place, body in enumerate(bodies):
        values = {field: str(values[place]) if len(values) == len(bodies) else None for field, values in beside.items()}
        yield {"url": url, "type": "post", "body": str(body), **values}


def main(method: str, work_file: str, target: str) -> None:
    """Train, apply, and write the objects."""
    work = json.loads(Path(work_file).read_text("utf-8"))
    with tempfile.TemporaryDirectory(prefix="aah-peers-") as folder, Path(target).open("w", encoding="utf-8") as out:
        storage = Path(folder) / "elements.db"
        if method == "autoscraper":
            find = autoscraper(work)
        else:
            find = Scrapling(work, storage, similar=method == "scrapling-similar").find
        started = time.process_time()
        for page in work["apply"]:
            seen = set()
            for found in find(page["url"], Path(page["file"]).read_text("utf-8", "replace")):
                for each in objects(page["url"], found):
                    if each["body"] not in seen:
                        seen.add(each["body"])
                        out.write(json.dumps(each) + "\n")
        out.write(json.dumps({"seconds": time.process_time() - started}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:4])
