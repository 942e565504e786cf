"""Document formats: a file as fixed text and segments to translate, and back; everything but the text is kept."""
