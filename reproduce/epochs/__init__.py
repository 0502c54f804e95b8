"""How long the networks are trained, and what the results would be with other lengths."""
