"""Annotations: what an analysis says about web objects after their capture, and on which words it rests."""

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
