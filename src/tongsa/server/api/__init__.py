"""HTTP API: routes under /v1, LibreTranslate's routes, request and response schemas, the OpenAPI document."""
