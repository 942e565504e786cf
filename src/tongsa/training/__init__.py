"""From batches to weights: the update, what it minimises, how fast, and how to go on after a fall."""
