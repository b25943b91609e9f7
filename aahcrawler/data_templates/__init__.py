"""Pages made of their data without a browser, by templates that pages which scripts made have shown."""
