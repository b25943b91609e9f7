"""What a text suggests for a definition: keywords, names, sites, languages and a span of time, each with its evidence.

Everything suggested stands in the text; equal texts give equal suggestions.
"""

from online_analysis.suggestions.evidence import Suggested, SuggestedSpan, Suggestions
from online_analysis.suggestions.text_suggestions import suggest

__all__ = ["Suggested", "SuggestedSpan", "Suggestions", "suggest"]
