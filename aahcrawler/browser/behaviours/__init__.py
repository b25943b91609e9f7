"""Run behaviours on a page as the knowledge base describes them: scroll, open, dismiss, play."""
