"""Warm-up with post-norm and pre-norm."""
