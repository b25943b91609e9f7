"""Annotations: what analysis says of web objects after they were captured, and where in their words it says so."""

from aahcrawler.annotations.annotation import Annotation, Kind

__all__ = ["Annotation", "Kind"]
