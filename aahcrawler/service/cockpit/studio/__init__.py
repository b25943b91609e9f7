"""The pages of the studio: an entry of the knowledge base is begun, mended on captured pages, tried and saved."""
