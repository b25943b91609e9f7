"""An HTTP/1.1 client that keeps every byte and judges every address it connects to."""
