"""How much of a made-up site a crawl has read, how much of what it says is there, and at how many requests."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from aahcrawler.objects.reader import object_rows
from benchmarks.results import Cell
from benchmarks.software.scorer import FIELDS, Described, Matching, TrueObjects, needed_pages, page_requests
from tests.studio.made_up.published import Software


@dataclass(frozen=True, slots=True)
class Score:
    """What a crawl found of a site, compared with what the site holds, and how many pages it asked for."""

    matching: Matching
    asked: int

    @property
    def shares(self) -> dict[str, Cell]:
        """Recall, precision, the shares of right titles, authors, dates and exact texts, and requests per needed page.

        A text is exact where it has the very words of what was found, and no more.
        """
        scores = self.matching.scores()
        needed = len(needed_pages(self.matching.true.objects))
        return {
            "recall": scores["recall"],
            "precision": self.matching.shares()["precision"],
            **{name: scores[name] for name in FIELDS},
            "exact": self._exact(),
            "requests_per_needed_page": round(self.asked / needed, 2),
        }

    @property
    def is_whole(self) -> bool:
        """Whether all that the site holds was found, once each with its fields and no word amiss, and nothing else."""
        return self.shares.items() >= dict.fromkeys(("recall", "precision", *FIELDS, "exact"), 1.0).items()

    def _exact(self) -> Cell:
        found = self.matching.found
        same = sum(self.matching.true.objects[number].bag == each.bag for number, each in found.items())
        return round(same / len(found), 4) if found else None

    def mistakes(self) -> str:
        """Return what is missing, wrong or amiss, a line each, for tests that fail."""
        found = [f"missing: {each.url}: {each.body}" for each in self.matching.missing]
        found += [f"wrong: {each.id}: {each.body}" for each in self.matching.wrong]
        found += [f"again: {each.id}: {each.body}" for each in self.matching.copies]
        found += [
            f"text: {each.id}: {sorted((each.bag - true.bag) + (true.bag - each.bag))}"
            for number, each in self.matching.found.items()
            if (true := self.matching.true.objects[number]).bag != each.bag
        ]
        found += [
            f"differs: {true.id}: {[(name, getattr(true, name), getattr(each, name)) for name in FIELDS]}"
            for true, each in self.matching.differing
        ]
        return "\n".join([str(self.shares), *(line[:300].replace("\n", " ") for line in found)])


def scored(folder: Path, software: Software, asked: Iterable[str]) -> Score:
    """Compare what a crawl's folder says to be there now with a site, of which these paths were asked for."""
    true = TrueObjects(each.described() for each in software.holds())
    live = (row for row in object_rows(folder) if row.deleted is None)
    found = (Described(row.iri, row.url, row.body or "", row.title, row.author, row.date) for row in live)
    return Score(Matching.of(true, found), page_requests(asked))
