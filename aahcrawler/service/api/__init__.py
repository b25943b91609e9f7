"""The JSON web service: scored URLs from other programs, and what they may ask and do."""
