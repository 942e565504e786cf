"""Number of heads and key size."""
