"""What a service keeps open to show what crawls have gathered."""

from dataclasses import dataclass, field

from aahcrawler.service.views.page_indexes import PageIndexes
from aahcrawler.service.views.sparql_answers import SparqlAnswers


@dataclass(frozen=True, slots=True)
class Gathered:
    """The indexes of pages and objects, and the way to the stores; by several threads at once."""

    indexes: PageIndexes = field(default_factory=PageIndexes)
    answers: SparqlAnswers = field(default_factory=SparqlAnswers)

    def close(self) -> None:
        """Let go of everything."""
        self.indexes.close()
        self.answers.close()
