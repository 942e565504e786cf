"""From files to normalized text: corpora, the ledger of dropped lines, sentence splitting. Nothing here imports torch."""
