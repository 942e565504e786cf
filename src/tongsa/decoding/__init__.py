"""From a memory to an output: search, and text to text."""
