"""Positional encodings on longer and on shifted sentences."""
