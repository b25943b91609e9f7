"""First drafts of application files: from a page to signs, levels, addresses and expressions, every guess marked."""
