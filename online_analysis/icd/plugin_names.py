"""The names of analysers that other distributions bring along."""

from importlib.metadata import entry_points

PLUGINS = "aahcrawler.analysers"
"""The group of entry points, ``name = module:factory``, in which distributions announce analysers."""


def plugin_names() -> tuple[str, ...]:
    """Return the names of the analysers that are installed beside those that ship, without importing any."""
    return tuple(sorted({entry.name for entry in entry_points(group=PLUGINS)}))
