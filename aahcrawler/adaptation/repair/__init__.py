"""Repairs what fails: repair strategies label the content of a page by other means, and actions are learned of that."""
