"""Tied embeddings and their factor √d."""
