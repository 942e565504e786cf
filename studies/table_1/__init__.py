"""Complexity, sequential steps and path length of layers: Table 1 of Vaswani et al. 2017."""
