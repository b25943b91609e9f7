"""What crawls learned, for people to review: beside what it replaces, on real pages, then accepted or rejected."""
