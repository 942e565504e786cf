"""What several kinds of model are made of."""
