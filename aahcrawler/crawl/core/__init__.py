"""The crawl that is open in this process: its context, its lifecycle, its stores."""
