"""All that steering needs beside a crawl: the way to it, its definition, its process, and jobs under way."""

from dataclasses import dataclass

from aahcrawler.service.catalog.crawl_registry import CrawlRegistry, KnowledgeFolders
from aahcrawler.service.steering.collection_specifications import Specifications
from aahcrawler.service.steering.crawl_process import Processes
from aahcrawler.service.steering.held_definitions import HeldDefinitions
from aahcrawler.service.steering.long_jobs import Jobs
from aahcrawler.service.steering.packaging import Packages
from aahcrawler.service.steering.seed_trials import SeedTrials


@dataclass(frozen=True, slots=True)
class SteeringService:
    """What a service steers its crawls by. There is one, so that two operators get in the way of none of them."""

    reach: CrawlRegistry
    definitions: HeldDefinitions
    processes: Processes
    jobs: Jobs
    trials: SeedTrials
    packages: Packages
    specifications: Specifications

    @classmethod
    def of(cls, reach: CrawlRegistry) -> "SteeringService":
        """Return the helm of a service."""

        def knowledge() -> KnowledgeFolders:
            return reach.knowledge

        definitions, processes, jobs = HeldDefinitions(reach), Processes(knowledge), Jobs()
        specifications = Specifications(reach, definitions, processes, jobs, knowledge)
        trials, packages = SeedTrials(knowledge), Packages(knowledge)
        return cls(reach, definitions, processes, jobs, trials, packages, specifications)

    def close(self) -> None:
        """Give up the jobs that are under way. Crawls that were started go on."""
        self.trials.close()
        self.jobs.close()
