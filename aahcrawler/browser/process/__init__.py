"""The processes of Chromium: start them without network access and within limits, and end all of them."""
