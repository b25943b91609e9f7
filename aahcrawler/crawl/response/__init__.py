"""What is done with an answer, from understanding the page to finishing its lease."""
