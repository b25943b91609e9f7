"""Works: entries that are being edited, stored step by step until they are saved to the own folder."""
