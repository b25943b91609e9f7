"""An HTTP/1.1 client that keeps every byte it sends and receives, and checks every IP address before it connects."""
