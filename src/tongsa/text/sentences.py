"""A text and its sentences: where each begins and ends. What lies between is white space, and nothing is lost.

English, German and Korean by rule. A line break ends a sentence; so do . ! ? … and their wide forms, with the quotes
and brackets that close behind them, unless what follows says that the sentence goes on.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

CLOSERS = "\"'”’»›“‘)\\]}」』〉》〕】"
"""They belong to the sentence that they close; “ and ‘ close a German one."""
OPENERS = re.compile("[\"'“”‘’«»‹›„‚(\\[{¿¡「『〈《〔【*_–—-]*+\\s*+")
"""What may stand before the first letter of a sentence."""
WIDE = "。！？"
"""Behind these no space is written."""

# possessive, and never begun within a run: a megabyte of dots is read once
_STOP = re.compile(
    rf"(?<![.!?…‥])(?P<stop>[.!?…‥]++)(?P<close>[{CLOSERS}]*+)(?=\s|$)|(?P<wide>[{WIDE}]++)[{CLOSERS}]*+"
)
_LINES = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_CLAUSE = re.compile(r"[,;:，、；：–—]\s")
_SPACE = re.compile(r"\s")
_LAST_WORD = re.compile(r"[^\s(\[{]{1,24}$")
"""A bracket begins a word: Korean writes it right behind one, 스미스(J. Smith)."""
_WORDS = re.compile(r"\S(?:.*\S)?", re.DOTALL)

ENGLISH = """mr mrs ms dr prof rev hon st sr fr gen col capt lt sgt maj cmdr gov sen rep pres mt ft fig figs eq no nos
vol vols pp p ch sec ed eds trans cf vs viz approx dept est al e.g i.e eg ie jan feb mar apr jun jul aug sep sept oct
nov dec mon tue wed thu fri sat sun ave blvd rd"""
GERMAN = """hr hrn fr frl dr prof dipl ing st str nr abb tab kap bd bde s z b d h u a o ä i v m e zb z.b d.h u.a o.ä
i.d.r u.u z.t z.zt m.e v.a s.o s.u bzw ca vgl evtl ggf inkl exkl max min mind sog geb gest jh jan feb mär apr jun jul
aug sep sept okt nov dez mo di mi do fr sa so tel hl std"""
EITHER = "etc usw usf inc ltd co corp jr sr a.m p.m u.s u.k u.s.a u.n e.v gmbh ph.d m.d b.c a.d n.chr v.chr bros"
"""Abbreviations that end a sentence as often as they do not: a capital letter behind them begins another."""
ABBREVIATIONS = {
    "en": frozenset(ENGLISH.split()),
    "de": frozenset(GERMAN.split()),
    "ko": frozenset(ENGLISH.split()),
}
EVERY = frozenset(ENGLISH.split()) | frozenset(word for word in GERMAN.split() if len(word) > 1)
KOREAN_ENDS = "다요죠까네지군음함임오라자냐니야걸게"
"""The last syllables of Korean sentences."""
QUOTED = re.compile("(?:이?라고|이?라며|이?라는|이?라면서|하고|하며|하는|고|며)(?![가-힣])|[라하]고|라며|라는|라던")
"""How Korean goes on behind what it quotes."""
_GLUED = re.compile(f"(?<=[다요죠까네])[.!?](?=[가-힣])(?!{QUOTED.pattern}|[는를란](?![가-힣]))")
"""Korean that forgot the space: …갔다.그는…, but not …갈까?라는 생각…"""


class Span(NamedTuple):
    start: int
    end: int


def sentences(text: str, language: str = "") -> list[Span]:
    """The places of the sentences of a text, in order: each begins and ends with what is not white space."""
    found = []
    for line in _LINES.finditer(text):
        start = line.start()
        for end in (*_ends(line[0], language), len(line[0])):
            if inner := _WORDS.search(text, start, line.start() + end):
                found.append(Span(*inner.span()))
            start = line.start() + end
    return found


def halves(text: str, span: Span) -> tuple[Span, Span]:
    """A sentence that is too long, cut near its middle: behind a comma, else at a space, else where it must be."""
    middle, reach = (span.start + span.end) // 2, (span.end - span.start) // 4
    for pattern in (_CLAUSE, _SPACE):
        places = [match.end() for match in pattern.finditer(text, middle - reach, middle + reach)]
        if places:
            middle = min(places, key=lambda place: abs(place - middle))
            break
    first = _WORDS.search(text, span.start, middle)
    second = _WORDS.search(text, middle, span.end)
    return (
        Span(*first.span()) if first else Span(span.start, span.start),
        Span(*second.span()) if second else Span(span.end, span.end),
    )


def _ends(line: str, language: str) -> Iterator[int]:
    """Places within a line behind which another sentence begins."""
    begin = 0
    for stop in sorted([*_STOP.finditer(line), *_GLUED.finditer(line)], key=lambda match: match.start()):
        if stop.re is _GLUED or stop["wide"] or _breaks(line, begin, stop, language):
            yield stop.end()
            begin = stop.end()


def _breaks(line: str, begin: int, stop: re.Match[str], language: str) -> bool:
    """Whether a sentence that begins at `begin` ends with this stop."""
    following = line[stop.end() : stop.end() + 64].lstrip()
    if not following:
        return True
    opener = OPENERS.match(following)
    rest = following[opener.end() if opener else 0 :]
    if rest[:1].islower():
        return False
    if stop["close"] and QUOTED.match(rest):
        return False
    before = line[max(begin, stop.start() - 24) : stop.start()]
    if len(stop["stop"]) > 1 or stop["stop"] in "…‥":
        return not _hangul(rest) or before[-1:] in KOREAN_ENDS or not set(stop["stop"]) <= set(".…‥")
    if stop["stop"] == ".":
        word = _LAST_WORD.search(before)
        first = before.strip() if begin >= stop.start() - 24 else ""
        return _full_stop(word[0] if word else "", rest, language, first=first)
    return True


def _full_stop(word: str, rest: str, language: str, *, first: str) -> bool:
    """Whether a full stop behind this word, and before this rest, ends the sentence. `first` is a short one so far."""
    word = word.strip(CLOSERS + "„‚«»“([{¿¡").lower()
    if word.isdigit():
        if word == first or rest[:1].isdigit():  # 1. in a list, 2026. 10. 9.
            return False
        return not (language in ("de", "ko", "") and len(word) <= 2)  # der 3. Oktober, 10. 9. 왔다
    if word in EITHER.split():
        return rest[:1].isupper() or _hangul(rest)
    if word in ABBREVIATIONS.get(language, EVERY):
        return False
    initial = len(word) == 1 and word.isalpha() and word.isascii()
    return not (initial and word != "i")  # J. Smith, but: so do I. Then


def _hangul(text: str) -> bool:
    return "가" <= text[:1] <= "힣"
