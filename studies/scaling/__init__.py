"""Scaled, unscaled and additive attention."""
