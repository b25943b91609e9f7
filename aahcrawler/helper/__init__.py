"""The application-aware helper: application, level, objects and links of a page."""

from aahcrawler.helper.application_aware import ApplicationAwareHelper
from aahcrawler.helper.assistance import Assistance, FailedAction, Failure, Refused

__all__ = ["ApplicationAwareHelper", "Assistance", "FailedAction", "Failure", "Refused"]
