"""What objects say, and who says it, as parts of a document tell it."""

from aahcrawler.webobject import Person, WebObject


def body_of(item: WebObject) -> str:
    """Return the text of an object, empty where it has none."""
    body = item.first("body")
    return body if isinstance(body, str) else ""


def author_of(item: WebObject) -> str:
    """Return the name of who made an object, empty where that is not known."""
    author = item.first("author")
    return author.name if isinstance(author, Person) else author if isinstance(author, str) else ""
