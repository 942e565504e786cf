"""HTTP server: one queue per model, batches shared by all clients. torch is imported after the port is open."""
