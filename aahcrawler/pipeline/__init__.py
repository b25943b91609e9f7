"""Turn a page into scored links and web objects (ARCOMEM, section 4.2, figure 3).

``understand`` a page, ``score`` it and its links, ``rank`` the links by what other pages taught, gather pages whose
links are scored together in a ``batch``, and turn ``links`` into offers. Nothing here waits, reads or writes: a live
crawl has its stores around it, a simulated one a world that was crawled before.
"""
