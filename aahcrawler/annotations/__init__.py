"""Annotations: what analysis says of web objects after they were captured, and where in their words it says so."""

from aahcrawler.annotations.annotation import REFINES, SAID_BY, Annotation, CaptureAnnotations, Kind, annotation_iri
from aahcrawler.annotations.annotation_index import AnnotationIndex, Annotations, Named, annotations_of

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
