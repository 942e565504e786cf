"""Cleaning of corpora: repairs, filters, duplicates, and the report on what they did."""
