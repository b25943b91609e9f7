"""The RDF terms that describe web objects and captures; ``docs/vocabulary.md`` explains them."""

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import quote

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"
SCHEMA = "https://schema.org/"
SIOC = "http://rdfs.org/sioc/ns#"
DCTERMS = "http://purl.org/dc/terms/"
PROV = "http://www.w3.org/ns/prov#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OA = "http://www.w3.org/ns/oa#"
"""The Web Annotation Vocabulary of the W3C."""
OSLC_CM = "http://open-services.net/ns/cm#"
"""OSLC Change Management 3.0, an OASIS standard on what trackers hold."""
AAH = "urn:aahcrawler:term:"
"""The namespace of this crawler's own terms, which the common vocabularies lack."""

CRAWL = "urn:aahcrawler:crawl:"
"""The beginning of the IRI of a crawl; ``crawl`` makes one."""

VERSION = "urn:aahcrawler:version:"
"""The beginning of the IRI of a version of an object; ``versions.version`` makes one."""

READING = "urn:aahcrawler:reading:"
"""The beginning of the IRI of a later reading of a capture; ``readings.reading`` makes one."""

ANNOTATIONS = "urn:aahcrawler:annotations:"
"""The beginning of the IRI of what one annotator says of one capture."""

ANNOTATION = "urn:aahcrawler:annotation:"
"""The beginning of the IRI of an annotation."""

ANNOTATOR = "urn:aahcrawler:annotator:"
"""The beginning of the IRI of an annotator of some version."""

DECISIONS = "urn:aahcrawler:decisions:"
VISITS = "urn:aahcrawler:visits:"
"""The beginning of the IRI of what people decided to keep of one crawl's folder."""

ACCOUNT = "urn:aahcrawler:account:"
"""The beginning of the IRI of somebody who decides, by the name of the account."""

ENTITY = "urn:aahcrawler:entity:"
"""The beginning of the IRI of who or what bears a name."""

TIME = "http://www.w3.org/2006/time#"
"""The Time Ontology of the W3C."""

RDF_TYPE = RDF + "type"

XSD_BOOLEAN = XSD + "boolean"
XSD_INTEGER = XSD + "integer"
XSD_DOUBLE = XSD + "double"
XSD_DATE_TIME = XSD + "dateTime"
XSD_ANY_URI = XSD + "anyURI"
XSD_DATE_TIME_STAMP = XSD + "dateTimeStamp"

CAPTURE = AAH + "Capture"
GENERATED_AT = PROV + "generatedAtTime"
DERIVED_FROM = PROV + "wasDerivedFrom"
URL = SCHEMA + "url"
FORMAT = DCTERMS + "format"
STATUS = AAH + "status"
APPLICATION = AAH + "application"
LEVEL = AAH + "level"
ROLE = AAH + "levelRole"
SCORE = AAH + "score"
RELEVANT = AAH + "relevant"
PRIORITY = AAH + "priority"
DEPTH = AAH + "depth"
VIA = AAH + "via"
SESSION = AAH + "session"
"""How the site knew the crawl, of a capture that others would not have been shown."""
READ_FROM = AAH + "readFrom"
"""The record of the document that a browser made of a page, where the page was read from that."""
GENERATED_BY = PROV + "wasGeneratedBy"
UNCHANGED_SINCE = AAH + "unchangedSince"
REVISION_OF = PROV + "wasRevisionOf"
ADDED = AAH + "added"
EDITED = AAH + "edited"
DELETED = AAH + "deleted"
SPECIALIZATION_OF = PROV + "specializationOf"
HAS_FRAME = DCTERMS + "hasPart"
FRAME_OF = DCTERMS + "isPartOf"
VISIT = AAH + "Visit"
STARTED_AT = PROV + "startedAtTime"
ENDED_AT = PROV + "endedAtTime"
GENERATED = PROV + "generated"
INFORMED_BY = PROV + "wasInformedBy"
"""The visit before, with which a visit is compared."""
CHANGE_STATE = AAH + "changeState"
CHANGE_KIND = AAH + "changeKind"
STATEMENTS_ADDED = AAH + "statementsAdded"
STATEMENTS_REMOVED = AAH + "statementsRemoved"
STATEMENTS_CHANGED = AAH + "statementsChanged"
VOLATILE = AAH + "volatile"
REASON = AAH + "reason"
MOVED_TO = AAH + "movedTo"
BYTES = AAH + "bytes"
REQUESTS = AAH + "requests"
CHANGED_DURING = AAH + "changedDuring"
DATED_BY = AAH + "datedBy"
INTERVAL = TIME + "Interval"
INSTANT = TIME + "Instant"
BEGINNING = TIME + "hasBeginning"
END = TIME + "hasEnd"
IN_DATE_TIME = TIME + "inXSDDateTimeStamp"
TRAP = AAH + "trap"
SOFT_404 = "soft_404"
"""The value of ``TRAP`` for a page that tells of an error with the status of a success."""
REQUISITE = AAH + "Requisite"
"""The class of captures of files that were fetched for a page."""
READING_TYPE = AAH + "Reading"
READER = AAH + "reader"
METHOD = AAH + "method"
PRIMARY_SOURCE = PROV + "hadPrimarySource"

SOURCE_ARCHIVE = AAH + "archive"
"""The archive that a capture was taken from: a host, or the name of a folder or file."""
SOURCE = AAH + "source"
"""The source of the definition by which it was found."""
OBTAINED_AT = AAH + "obtainedAt"
"""When it was taken from there; ``GENERATED_AT`` is when the archive captured it."""

ANNOTATIONS_TYPE = AAH + "Annotations"
DECISIONS_TYPE = AAH + "Decisions"
VISITS_TYPE = AAH + "Visits"
ATTRIBUTED_TO = PROV + "wasAttributedTo"
SOFTWARE_VERSION = SCHEMA + "softwareVersion"
LABEL = RDFS + "label"
KIND = AAH + "kind"
CONFIDENCE = AAH + "confidence"
GIVEN = AAH + "given"
"""A digest of what an annotator was given."""
RUN = AAH + "run"
"""Which run over all objects of a crawl annotations come from."""
COMPLETE = AAH + "complete"
"""Whether a run has come to its end."""
DETAIL = AAH + "detail:"
"""The beginning of the predicates of an annotation's details."""

SHORTENED = AAH + "shortened"
INFERRED = AAH + "inferred:"
OBJECT_TYPE = AAH + "objectType"
PERSON = SCHEMA + "Person"
NAME = SCHEMA + "name"
TITLE = DCTERMS + "title"
AUTHOR = SCHEMA + "author"
DATE = SCHEMA + "datePublished"
BODY = SCHEMA + "text"
PART_OF = SCHEMA + "isPartOf"
HAS_CONTAINER = SIOC + "has_container"

TYPES: Mapping[str, tuple[str, ...]] = {
    "answer": (SIOC + "Post", SCHEMA + "Answer"),
    "article": (SCHEMA + "Article",),
    "audio": (SCHEMA + "AudioObject",),
    "chapter": (SCHEMA + "TechArticle",),
    "comment": (SIOC + "Post", SCHEMA + "Comment"),
    "dataset": (SCHEMA + "Dataset",),
    "document": (SCHEMA + "DigitalDocument",),
    "event": (SCHEMA + "Event",),
    "faq": (SCHEMA + "FAQPage",),
    "gallery": (SCHEMA + "ImageGallery",),
    "how-to": (SCHEMA + "HowTo",),
    "product": (SCHEMA + "Product",),
    "recipe": (SCHEMA + "Recipe",),
    "review": (SCHEMA + "Review",),
    "forum": (SIOC + "Forum",),
    "image": (SCHEMA + "ImageObject",),
    "message": (SIOC + "Post", SCHEMA + "EmailMessage"),
    "photo": (SCHEMA + "Photograph", SCHEMA + "ImageObject"),
    "page": (SCHEMA + "WebPage",),
    "post": (SIOC + "Post", SCHEMA + "DiscussionForumPosting"),
    "profile": (SCHEMA + "ProfilePage",),
    "question": (SIOC + "Post", SCHEMA + "Question"),
    "reply": (SIOC + "Post", SCHEMA + "Comment"),
    "thread": (SIOC + "Thread",),
    "ticket": (SIOC + "Post", OSLC_CM + "ChangeRequest"),
    "track": (SCHEMA + "AudioObject",),
    "video": (SCHEMA + "VideoObject",),
}
"""The classes of each object type of the knowledge base; others get a class of this crawler's."""

PROPERTIES: Mapping[str, str] = {
    "author": AUTHOR,
    "body": BODY,
    "date": DATE,
    "description": SCHEMA + "description",
    "format": SCHEMA + "encodingFormat",
    "height": SCHEMA + "height",
    "image": SCHEMA + "image",
    "images": SCHEMA + "image",
    "language": SCHEMA + "inLanguage",
    "links": SIOC + "links_to",
    "media": SCHEMA + "contentUrl",
    "modified": SCHEMA + "dateModified",
    "owner": DCTERMS + "contributor",
    "parent": SIOC + "reply_of",
    "reply_to": SIOC + "reply_of",
    "size": SCHEMA + "contentSize",
    "status": OSLC_CM + "status",
    "tag": SCHEMA + "keywords",
    "tags": SCHEMA + "keywords",
    "title": TITLE,
    "url": URL,
    "video": SCHEMA + "video",
    "width": SCHEMA + "width",
}
"""The predicate of each property name; others get a predicate of this crawler's."""


def crawl(name: str, number: int) -> str:
    """Return the IRI of a crawl, given the id of its definition and its number, counted from 1.

    >>> crawl("floods 2026", 2)
    'urn:aahcrawler:crawl:floods%202026:2'
    """
    return f"{CRAWL}{_segment(name)}:{number}"


@lru_cache(maxsize=256)
def classes(object_type: str) -> tuple[str, ...]:
    """Return the classes of an object type.

    >>> classes("recipe card")
    ('urn:aahcrawler:term:type:recipe%20card',)
    """
    return TYPES.get(object_type) or (f"{AAH}type:{_segment(object_type)}",)


@lru_cache(maxsize=256)
def predicate(name: str) -> str:
    """Return the predicate of a property.

    >>> predicate("title"), predicate("likes")
    ('http://purl.org/dc/terms/title', 'urn:aahcrawler:term:property:likes')
    """
    return PROPERTIES.get(name) or f"{AAH}property:{_segment(name)}"


def inferred(name: str) -> str:
    """Return the predicate that names the source from which a property was inferred.

    >>> inferred("title")
    'urn:aahcrawler:term:inferred:title'
    """
    return f"{INFERRED}{_segment(name)}"


def _segment(name: str) -> str:
    return quote(name, safe="", errors="replace")
