"""Streams of film and sound: what their manifests (HLS, DASH) say is needed to play them in one quality."""
