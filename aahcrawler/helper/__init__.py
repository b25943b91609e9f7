"""What a crawler knows of the pages it meets: application, level, objects, links worth following."""

from aahcrawler.helper.application_aware import ApplicationAwareHelper
from aahcrawler.helper.assistance import Assistance, FailedAction, Failure, Refused

__all__ = ["ApplicationAwareHelper", "Assistance", "FailedAction", "Failure", "Refused"]
