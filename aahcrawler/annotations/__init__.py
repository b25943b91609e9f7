"""Annotations: what analysis says of web objects after they were captured, and where in their words it says so."""

from aahcrawler.annotations.annotation import Annotation, Kind
from aahcrawler.annotations.annotation_index import AnnotationIndex, Annotations, Named, annotations_of
from aahcrawler.annotations.annotation_statements import REFINES, SAID_BY, CaptureAnnotations, annotation_iri

__all__ = [
    "REFINES",
    "SAID_BY",
    "Annotation",
    "AnnotationIndex",
    "Annotations",
    "CaptureAnnotations",
    "Kind",
    "Named",
    "annotation_iri",
    "annotations_of",
]
