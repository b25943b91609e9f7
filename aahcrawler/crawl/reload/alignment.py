"""What is queued is brought into line with a definition that has changed."""

from collections.abc import Mapping

from aahcrawler.crawl.core.job import Job
from aahcrawler.crawl.reload.config_reload import Action
from aahcrawler.crawl.reload.scope_update import Requeueing, Rescoping
from aahcrawler.crawl.reload.score_update import Reweighing
from aahcrawler.crawls import frontier_settings
from online_analysis.icd import Part


def actions(job: Job, control: Requeueing) -> Mapping[Part, Action]:
    """Return what is done in a job for each part of its definition that has changed."""

    async def go_by() -> None:
        await job.call(job.stores.frontier.go_by, frontier_settings(job.icd))

    return {
        Part.LIMITS: go_by,
        Part.POLITENESS: go_by,
        Part.SCOPE: Rescoping(job, control).run,
        Part.WEIGHTS: Reweighing(job).run,
    }
