"""Decoding: from a trained model to text."""
