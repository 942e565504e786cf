"""Averaging in attention, and several heads against it."""
