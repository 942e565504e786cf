"""Cost of the deviations of known Transformer implementations."""
