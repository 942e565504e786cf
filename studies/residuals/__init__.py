"""Residual connections and depth."""
