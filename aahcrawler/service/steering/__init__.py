"""Acts of people and programs on crawls: previewed and undone where possible, and logged."""
