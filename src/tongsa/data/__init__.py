"""From files to normalized text: corpora, ledger of dropped lines, sentence splitting. Imports no torch."""
