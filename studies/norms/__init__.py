"""Layer, batch, group and RMS normalization."""
