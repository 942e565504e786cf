"""Models that answer over HTTP: many users, one queue for each model. torch is loaded behind the open port."""
