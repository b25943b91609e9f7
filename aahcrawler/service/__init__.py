"""The web service and the cockpit: programs post scored URLs and query crawls, people watch and steer them."""
