"""Run the extract actions of a level: items, fields, runs of text, and the objects they make."""
