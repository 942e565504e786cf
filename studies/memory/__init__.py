"""Memory of full and local attention."""
