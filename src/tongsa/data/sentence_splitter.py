"""Rule-based sentence splitting for English, German and Korean. Only white space between sentences is removed.

A line break ends a sentence. So do . ! ? … and their full-width forms, together with closing quotes and brackets,
unless the following text continues the sentence.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

CLOSING_PUNCTUATION = "\"'”’»›“‘)\\]}」』〉》〕】"
"""Closing quotes and brackets belong to the sentence before them; “ and ‘ close a German quotation."""
OPENING_PUNCTUATION = re.compile("[\"'“”‘’«»‹›„‚(\\[{¿¡「『〈《〔【*_–—-]*+\\s*+")
"""Characters that may precede the first letter of a sentence."""
FULLWIDTH_STOPS = "。！？"
"""Stops that need no following space."""
STOPS = ".!?…‥" + FULLWIDTH_STOPS
"""Sentence-final punctuation."""

# possessive quantifiers, and no match starts inside a run of stops: linear time even for a megabyte of dots
_SENTENCE_STOP = re.compile(
    rf"(?<![.!?…‥])(?P<stop>[.!?…‥]++)(?P<close>[{CLOSING_PUNCTUATION}]*+)(?=\s|$)|(?P<wide>[{FULLWIDTH_STOPS}]++)[{CLOSING_PUNCTUATION}]*+"
)
_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_CLAUSE_BREAK = re.compile(r"[,;:，、；：–—]\s")
_SPACE = re.compile(r"\s")
_LAST_WORD = re.compile(r"[^\s(\[{]{1,24}$")
"""A bracket starts a word: Korean writes it without a space, 스미스(J. Smith)."""
_TRIMMED = re.compile(r"\S(?:.*\S)?", re.DOTALL)

ENGLISH_ABBREVIATIONS = """
mr mrs ms dr prof rev hon st sr fr gen col capt lt sgt maj cmdr gov sen rep pres mt ft fig figs eq no nos
vol vols pp p ch sec ed eds trans cf vs viz approx dept est al e.g i.e eg ie jan feb mar apr jun jul aug sep sept oct
nov dec mon tue wed thu fri sat sun ave blvd rd"""
GERMAN_ABBREVIATIONS = """
hr hrn fr frl dr prof dipl ing st str nr abb tab kap bd bde s z b d h u a o ä i v m e zb z.b d.h u.a o.ä
i.d.r u.u z.t z.zt m.e v.a s.o s.u bzw ca vgl evtl ggf inkl exkl max min mind sog geb gest jh jan feb mär apr jun jul
aug sep sept okt nov dez mo di mi do fr sa so tel hl std"""
AMBIGUOUS_ABBREVIATIONS = (
    "etc usw usf inc ltd co corp jr sr a.m p.m u.s u.k u.s.a u.n e.v gmbh ph.d m.d b.c a.d n.chr v.chr bros"
)
"""Abbreviations that may end a sentence: a following capital letter starts a new one."""
ABBREVIATIONS = {
    "en": frozenset(ENGLISH_ABBREVIATIONS.split()),
    "de": frozenset(GERMAN_ABBREVIATIONS.split()),
    "ko": frozenset(ENGLISH_ABBREVIATIONS.split()),
}
ALL_ABBREVIATIONS = frozenset(ENGLISH_ABBREVIATIONS.split()) | frozenset(
    word for word in GERMAN_ABBREVIATIONS.split() if len(word) > 1
)
KOREAN_SENTENCE_ENDINGS = "다요죠까네지군음함임오라자냐니야걸게"
"""Last syllables of Korean sentences."""
KOREAN_QUOTATIVE = re.compile(
    "(?:이?라고|이?라며|이?라는|이?라면서|하고|하며|하는|고|며)(?![가-힣])|[라하]고|라며|라는|라던"
)
"""Endings that continue a Korean sentence after a quotation."""
_KOREAN_MISSING_SPACE = re.compile(
    f"(?<=[다요죠까네])[.!?](?=[가-힣])(?!{KOREAN_QUOTATIVE.pattern}|[는를란](?![가-힣]))"
)
"""A Korean sentence end without a space: …갔다.그는…, but not …갈까?라는 생각…"""


class Span(NamedTuple):
    start: int
    end: int


def split_sentences(text: str, language: str = "") -> list[Span]:
    """Return the spans of the sentences in order, without surrounding white space."""
    spans = []
    for line in _LINE.finditer(text):
        start = line.start()
        for end in (*_sentence_ends(line[0], language), len(line[0])):
            if inner := _TRIMMED.search(text, start, line.start() + end):
                spans.append(Span(*inner.span()))
            start = line.start() + end
    return spans


def split_lines(text: str) -> list[Span]:
    """Return the spans of the lines, without surrounding white space and without empty lines."""
    lines = (_TRIMMED.search(text, *line.span()) for line in _LINE.finditer(text))
    return [Span(*line.span()) for line in lines if line]


def split_in_half(text: str, span: Span) -> tuple[Span, Span]:
    """Split a long sentence near its middle: after a comma, else at a space, else between any two characters."""
    middle, reach = (span.start + span.end) // 2, (span.end - span.start) // 4
    for pattern in (_CLAUSE_BREAK, _SPACE):
        offsets = [match.end() for match in pattern.finditer(text, middle - reach, middle + reach)]
        if offsets:
            middle = min(offsets, key=lambda offset: abs(offset - middle))
            break
    first = _TRIMMED.search(text, span.start, middle)
    second = _TRIMMED.search(text, middle, span.end)
    return (
        Span(*first.span()) if first else Span(span.start, span.start),
        Span(*second.span()) if second else Span(span.end, span.end),
    )


def _sentence_ends(line: str, language: str) -> Iterator[int]:
    """Yield the offsets in a line after which a new sentence starts."""
    start = 0
    for stop in sorted(
        [*_SENTENCE_STOP.finditer(line), *_KOREAN_MISSING_SPACE.finditer(line)], key=lambda match: match.start()
    ):
        if stop.re is _KOREAN_MISSING_SPACE or stop["wide"] or _ends_sentence(line, start, stop, language):
            yield stop.end()
            start = stop.end()


def _ends_sentence(line: str, start: int, stop: re.Match[str], language: str) -> bool:
    """Return whether the sentence that starts at `start` ends with this stop."""
    following = line[stop.end() : stop.end() + 64].lstrip()
    if not following:
        return True
    opener = OPENING_PUNCTUATION.match(following)
    rest = following[opener.end() if opener else 0 :]
    if rest[:1].islower():
        return False
    if stop["close"] and KOREAN_QUOTATIVE.match(rest):
        return False
    before = line[max(start, stop.start() - 24) : stop.start()]
    if len(stop["stop"]) > 1 or stop["stop"] in "…‥":
        return (
            not _starts_with_hangul(rest)
            or before[-1:] in KOREAN_SENTENCE_ENDINGS
            or not set(stop["stop"]) <= set(".…‥")
        )
    if stop["stop"] == ".":
        word = _LAST_WORD.search(before)
        sentence = before.strip() if start >= stop.start() - 24 else ""
        return _period_ends_sentence(word[0] if word else "", rest, language, sentence_so_far=sentence)
    return True


def _period_ends_sentence(word: str, following: str, language: str, *, sentence_so_far: str) -> bool:
    """Return whether a period between this word and the following text ends the sentence."""
    word = word.strip(CLOSING_PUNCTUATION + "„‚«»“([{¿¡").lower()
    if word.isdigit():
        if word == sentence_so_far or following[:1].isdigit():  # "1." in a list, 2026. 10. 9.
            return False
        return not (language in ("de", "ko", "") and len(word) <= 2)  # der 3. Oktober, 10. 9. 왔다
    if word in AMBIGUOUS_ABBREVIATIONS.split():
        return following[:1].isupper() or _starts_with_hangul(following)
    if word in ABBREVIATIONS.get(language, ALL_ABBREVIATIONS):
        return False
    initial = len(word) == 1 and word.isalpha() and word.isascii()
    return not (initial and word != "i")  # J. Smith, but: so do I. Then


def _starts_with_hangul(text: str) -> bool:
    return "가" <= text[:1] <= "힣"
