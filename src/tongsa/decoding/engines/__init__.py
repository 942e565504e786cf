"""Engines that run beam search: torch with the model itself, or CTranslate2 with an exported model."""
