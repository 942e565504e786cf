"""What the deviations of known Transformer implementations cost."""
