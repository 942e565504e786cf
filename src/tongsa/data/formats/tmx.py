"""TMX (Translation Memory eXchange): the segments of two languages of each translation unit, without inline tags."""

from collections.abc import Iterator
from itertools import islice

from tongsa.data.formats.xml_stream import check_root, xml_events
from tongsa.data.records import MAX_RECORD_BYTES, CorpusError, ReadOptions, Record, dropped_record, too_long_record
from tongsa.data.source_file import SourceFile

CODE_ELEMENTS = frozenset({"bpt", "ept", "ph", "it", "ut"})
"""Inline elements whose content is markup of another format; the content of <hi> is text."""
MAX_UNITS_TO_CHOOSE = 1_000
"""Units in which two languages are looked for if the settings name none."""


class TranslationUnit:
    """A translation unit: the first segment of each language."""

    def __init__(self, line: int, source_language: str) -> None:
        self.line, self.size, self.texts = line, 0, dict[str, str]()
        self.source_language = source_language
        """Language that the texts were translated from, as the header of the file says; "" if it does not."""

    def find(self, language: str) -> str | None:
        """Return the text in a language: the code itself, or one with a region, such as en-US for en."""
        exact = self.texts.get(language)
        regional = (text for code, text in self.texts.items() if code.startswith(f"{language}-"))
        return exact if exact is not None else next(regional, None)


def read_tmx_pairs(file: SourceFile, options: ReadOptions) -> Iterator[Record]:
    """Yield a record for each unit. Without languages in the settings, the file must have exactly two."""
    source, target = map(_code, options.languages)
    if not (source and target):
        source, target = choose_languages(file, options)
    return _records(file, source, target)


def read_tmx_texts(file: SourceFile, options: ReadOptions) -> Iterator[Record]:
    """Yield the texts in the target language."""
    target = _code(options.languages[1]) or choose_languages(file, options)[1]
    return _records(file, "", target)


def _records(file: SourceFile, source: str, target: str) -> Iterator[Record]:
    codes = [code for code in (source, target) if code]
    for unit in _units(file):
        texts = [unit.find(code) for code in codes]
        missing = [code for code, text in zip(codes, texts, strict=True) if text is None]
        if unit.size > MAX_RECORD_BYTES:
            yield too_long_record(unit.line)
        elif missing or not codes:
            detail = (
                f"no {' and '.join(missing) or 'language is chosen'}; has {', '.join(unit.texts)[:80] or 'no language'}"
            )
            yield dropped_record(unit.line, "missing-language", detail)
        else:
            yield Record(unit.line, (texts[0] or "") if source else "", texts[-1] or "")


def choose_languages(file: SourceFile, options: ReadOptions) -> tuple[str, str]:
    """Return the languages of the first unit with two, without regions if they differ so.

    A language that the settings name keeps its side; else the source is the one that the header names, or the first.
    """
    source, target = map(_code, options.languages)
    for unit in islice(_units(file), MAX_UNITS_TO_CHOOSE):
        codes = list(unit.texts)
        if len(codes) < 2:
            continue
        if len(codes) > 2:
            raise CorpusError(
                f"{file}:{unit.line}: {len(codes)} languages ({', '.join(codes)[:80]}). "
                "Choose two: --set data.source_language=CODE --set data.target_language=CODE"
            )
        if source or target:
            is_exchanged = bool(source and _matches(codes[1], source)) or bool(target and _matches(codes[0], target))
        else:
            is_exchanged = _matches(codes[1], unit.source_language or "?") != options.is_reversed
        first, second = codes[::-1] if is_exchanged else codes
        short = first.partition("-")[0], second.partition("-")[0]
        first, second = short if short[0] != short[1] else (first, second)
        return source or first, target or second
    return source, target or "?"  # no unit has two languages: all are dropped


def _matches(code: str, language: str) -> bool:
    return code == language or code.startswith(f"{language}-")


def _code(language: str) -> str:
    return language.strip().lower().replace("_", "-")


def _units(file: SourceFile) -> Iterator[TranslationUnit]:
    unit: TranslationUnit | None = None
    language, segment, code_depth, has_root, source_language = "", None, 0, False, ""
    for event in xml_events(file):
        if not has_root and event.kind == "start":
            check_root(file, event, "tmx", "TMX")
            has_root = True
        if event.kind == "text":
            if segment is not None and unit is not None and not code_depth and unit.size <= MAX_RECORD_BYTES:
                unit.size += len(event.value)
                segment.append(event.value)
        elif event.kind == "start":
            if event.value == "header":
                source_language = _code(event.attributes.get("srclang", ""))
            elif event.value == "tu":
                unit, language, segment = TranslationUnit(event.line, source_language), "", None
            elif event.value == "tuv":
                language = _code(event.attributes.get("xml:lang") or event.attributes.get("lang") or "")
            elif event.value == "seg" and unit is not None:
                segment, code_depth = list[str](), 0
            elif code_depth or event.value in CODE_ELEMENTS:
                code_depth += 1
        elif event.value == "seg" and unit is not None and segment is not None:
            unit.texts.setdefault(language, "".join(segment))
            segment, code_depth = None, 0
        elif event.value == "tu" and unit is not None:
            yield unit
            unit = None
        elif code_depth:
            code_depth -= 1
