"""The error of a visit that found nothing to keep."""


class VisitFailedError(Exception):
    """A visit got no page: it did not load, left for elsewhere at once, or answered to nothing within its bounds."""
