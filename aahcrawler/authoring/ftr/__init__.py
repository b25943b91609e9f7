"""Convert fivefilters' site configs into site-level applications of the knowledge base.

The configs (github.com/fivefilters/ftr-site-config, public domain) describe the place of the article on the pages of
one site; their format is described at help.fivefilters.org/full-text-rss/site-patterns.html.
"""

from aahcrawler.authoring.ftr.conversion import Conversion, LeftOut
from aahcrawler.authoring.ftr.pack import Pack, convert, write, write_report
from aahcrawler.authoring.ftr.sources import ConfigsError

__all__ = ["ConfigsError", "Conversion", "LeftOut", "Pack", "convert", "write", "write_report"]
