"""The HTTP API: native routes under /v1, LibreTranslate's routes, their schemas."""
