"""How good a model is, with signatures."""
