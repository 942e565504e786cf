"""Plain text: two parallel files, line n of one translates line n of the other; or one text per line."""

from collections.abc import Iterator
from itertools import zip_longest

from tongsa.data.records import BadRecordError, CorpusError, ReadOptions, Record, dropped_record
from tongsa.data.source_file import SourceFile


def read_parallel_files(source_file: SourceFile, target_file: SourceFile) -> Iterator[Record]:
    """Yield the pairs of two files. A bad side drops the pair; lines without a counterpart are an error."""
    sides = zip_longest(source_file.lines(), target_file.lines())
    for number, (source, target) in enumerate(sides, start=1):
        if source is None or target is None:
            shorter, longer = number - 1, number + sum(1 for _ in sides)
            counts = (shorter, longer) if source is None else (longer, shorter)
            raise CorpusError(
                f"{source_file}, {target_file}: not parallel ({counts[0]:,} and {counts[1]:,} lines). "
                "Find the missing line: line n of one file must translate line n of the other."
            )
        try:
            texts = source_file.decode(source, str(source_file)), target_file.decode(target, str(target_file))
        except BadRecordError as bad:
            yield dropped_record(number, bad.reason, bad.detail)
        else:
            yield Record(number, *texts)


def read_text_lines(file: SourceFile, _: ReadOptions) -> Iterator[Record]:
    """Yield each line as a text without a source."""
    return file.line_records(lambda line: ("", line))
