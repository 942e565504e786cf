"""Limits of a document that is read into memory, and the error of a document that cannot be read."""

from tongsa.errors import InputError

MAX_TEXT_BYTES = 20_000_000
"""Size of a text file; a longer plain text can be translated line by line."""
MAX_ARCHIVE_BYTES = 50_000_000
"""Size of a DOCX or ODT file."""
MAX_UNPACKED_BYTES = 200_000_000
"""Size of all entries of an archive together, decompressed."""
MAX_ENTRY_BYTES = 50_000_000
"""Size of an entry with text, decompressed."""
MAX_ENTRIES = 5_000
"""Number of entries of an archive."""
MAX_COMPRESSION_RATIO = 200
"""Decompressed bytes per compressed byte of an entry; an office document has 5 to 50."""
MIN_CHECKED_BYTES = 1_000_000
"""Smaller entries may be compressed by any ratio."""
MAX_XML_DEPTH = 256
"""Nested elements of XML."""
MAX_COLUMNS = 10_000
"""Columns of CSV and TSV."""


class DocumentFormatError(InputError):
    """A document that cannot be read, with the location, the problem and the remedy."""
