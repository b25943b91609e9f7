"""Split a page into the parts of a document: content, navigation, sidebars."""
