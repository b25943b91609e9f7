"""Tell the rows of tables that hold texts from those that say who wrote one, and when."""

from aahcrawler.induction.outline import Outline


def is_entry(outline: Outline, place: int) -> bool:
    """Return whether an element is one of several rows with running text in one cell and others beside it.

    Such are the posts of a thread in a table: a name in the row does not make it a byline.
    """
    if outline.tags[place] != "tr":
        return False
    cells = list(outline.children(place))
    if len(cells) < 2 or sum(outline.running(cell) > 0 for cell in cells) != 1:
        return False
    rows = outline.children(outline.parents[place])
    return any(row != place and outline.tags[row] == "tr" and outline.running(row) for row in rows)
