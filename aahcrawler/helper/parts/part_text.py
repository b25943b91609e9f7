"""The text and the author of objects, in the form that parts of a document have."""

from aahcrawler.webobject import Person, WebObject


def body_of(item: WebObject) -> str:
    """Return the text of an object, empty if it has none."""
    body = item.first("body")
    return body if isinstance(body, str) else ""


def author_of(item: WebObject) -> str:
    """Return the name of an object's author, empty if not known."""
    author = item.first("author")
    return author.name if isinstance(author, Person) else author if isinstance(author, str) else ""
