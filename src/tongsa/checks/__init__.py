"""Everything that `tongsa doctor` checks before the first step: corpus, scripts, alignment, model, resources."""
