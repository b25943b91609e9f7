"""What steering needs: crawls and their frontiers, definitions, processes, and jobs."""

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
    """The one object by which a service steers its crawls, so that concurrent operators do not conflict."""

    reach: CrawlRegistry
    definitions: HeldDefinitions
    processes: Processes
    jobs: Jobs
    trials: SeedTrials
    packages: Packages
    specifications: Specifications

    @classmethod
    def of(cls, reach: CrawlRegistry) -> "SteeringService":
        """Build the steering of a service."""

        def knowledge() -> KnowledgeFolders:
            return reach.knowledge

        definitions, processes, jobs = HeldDefinitions(reach), Processes(knowledge), Jobs()
        specifications = Specifications(reach, definitions, processes, jobs, knowledge)
        trials, packages = SeedTrials(knowledge), Packages(knowledge)
        return cls(reach, definitions, processes, jobs, trials, packages, specifications)

    def close(self) -> None:
        """Cancel running jobs. Crawls that were started keep running."""
        self.trials.close()
        self.jobs.close()
