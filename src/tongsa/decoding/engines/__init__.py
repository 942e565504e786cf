"""Programs that run the search: torch, or CTranslate2 with an exported model."""
