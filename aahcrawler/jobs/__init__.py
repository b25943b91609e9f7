"""Jobs over captures: resumable, by several processes, with the same result whatever happens to them."""

from aahcrawler.jobs.resumable_job import Job, JobError, Made, Step, Work
from aahcrawler.jobs.worker_processes import own_processes

__all__ = ["Job", "JobError", "Made", "Step", "Work", "own_processes"]
