"""The summary vector as a bottleneck, by sentence length."""
