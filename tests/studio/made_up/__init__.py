"""Made-up software: a forum, a blog and a gallery that nobody has described, each with all that it holds told."""
