"""Scaled, unscaled and additive attention, trained."""
