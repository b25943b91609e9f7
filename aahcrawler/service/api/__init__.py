"""The JSON web service: programs post scored URLs, query crawls and steer them."""
