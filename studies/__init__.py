"""Claims of the papers, measured on tongsa's own layers and models. `python -m studies --help` is the command."""
