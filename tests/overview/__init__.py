"""What archives hold together."""
