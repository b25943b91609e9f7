"""Works: entries under change, kept on disk step by step until they are saved to the own folder."""
