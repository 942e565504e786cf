"""Terminology: how well a model follows a glossary, and what that costs.

    python benchmarks/terminology.py RUN --task multi30k --data DATA
    python benchmarks/terminology.py RUN --task koen-pydocs --data DATA --limit 200 --json

Two glossaries of about 30 terms. For Multi30k (German to English) all targets are synonyms that the model would not
choose itself. For koen-pydocs (English to Korean) most targets are the usual terms of the translated documentation,
and some are deliberate alternatives. The score of a term needs no alignment by the model: the table has the model's
usual translations of each source term, and in place means that none of them is left in the output.
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import sacrebleu
from record import Measurement, add_options, record, to_number, training_seed

import tongsa
from tongsa.decoding.glossary import Glossary

Table = dict[str, tuple[str, str]]
GERMAN_ENGLISH: Table = {  # source term: (target, usual translations)
    "Hund": ("canine", "dog dogs puppy"),
    "Hunde": ("canines", "dog dogs puppies"),
    "Mann": ("gentleman", "man men guy"),
    "Männer": ("gentlemen", "man men guys"),
    "Frau": ("lady", "woman women"),
    "Frauen": ("ladies", "woman women"),
    "Junge": ("lad", "boy boys"),
    "Mädchen": ("lass", "girl girls"),
    "Kind": ("youngster", "child children kid"),
    "Kinder": ("youngsters", "children kids child"),
    "Fahrrad": ("cycle", "bicycle bike bikes bicycles"),
    "Auto": ("automobile", "car cars"),
    "Straße": ("roadway", "street road streets"),
    "Haus": ("dwelling", "house houses home building"),
    "Wasser": ("liquid", "water"),
    "Ball": ("sphere", "ball balls"),
    "Hut": ("headgear", "hat hats cap"),
    "Hemd": ("blouse", "shirt shirts"),
    "Berg": ("peak", "mountain mountains hill"),
    "Boot": ("vessel", "boat boats"),
    "Pferd": ("steed", "horse horses"),
    "Wiese": ("meadow", "field grass lawn"),
    "Menschen": ("persons", "people men"),
    "Leute": ("folks", "people"),
    "rennt": ("sprints", "runs running run"),
    "springt": ("leaps", "jumps jumping jump"),
    "sitzt": ("rests", "sits sitting sit"),
    "kleiner": ("tiny", "little small young"),
    "großen": ("huge", "large big"),
    "roten": ("crimson", "red"),
}
ENGLISH_KOREAN: Table = {
    "function": ("함수", "펑션"),
    "functions": ("함수", "펑션"),
    "module": ("모듈", ""),
    "object": ("객체", "오브젝트 개체"),
    "objects": ("객체", "오브젝트 개체"),
    "argument": ("인자", "인수"),
    "arguments": ("인자", "인수"),
    "string": ("문자열", "스트링"),
    "list": ("리스트", "목록"),
    "dictionary": ("딕셔너리", "사전"),
    "class": ("클래스", ""),
    "method": ("메서드", "메소드"),
    "value": ("값", ""),
    "file": ("파일", ""),
    "exception": ("예외", ""),
    "iterable": ("이터러블", ""),
    "iterator": ("이터레이터", "반복자"),
    "sequence": ("시퀀스", "순서열"),
    "attribute": ("속성", "어트리뷰트"),
    "type": ("타입", "형 유형"),
    "default": ("디폴트", "기본값 기본"),
    "interpreter": ("해석기", "인터프리터"),
    "library": ("도서관", "라이브러리"),
    "example": ("보기", "예 예를 예제"),
    "error": ("오류", "에러"),
    "number": ("수치", "숫자 수 번호"),
    "code": ("소스코드", "코드"),
    "parameter": ("파라미터", "매개 매개변수"),
    "package": ("꾸러미", "패키지"),
    "directory": ("폴더", "디렉터리 디렉토리"),
}
TASKS = {"multi30k": GERMAN_ENGLISH, "koen-pydocs": ENGLISH_KOREAN}
HANGUL = "가-힣"
INNER_END = re.compile(r"[.!?。]['\")\]”’]*\s+\S")


@dataclass(frozen=True, kw_only=True)
class TermScores:
    """Figures of one run over one test set."""

    sentences: int
    """Sentences with terms."""
    terms: int
    reported_satisfied: float
    as_text: float
    """Share of the terms whose target is anywhere in the output, even in another word."""
    whole_words: float
    in_place: float
    """Share of the terms as whole words before the end of the sentence, with no usual translation beside them."""
    false_reports: int
    """Terms reported as satisfied that are not there as whole words before the end."""
    text_after_end: int
    """Sentences with text after their end."""
    bleu_free: float
    bleu: float
    bleu_free_term_reference: float
    """BLEU of the free translations against references in which the usual translations are replaced by the terms."""
    bleu_term_reference: float
    seconds_ratio: float
    """Time with the glossary / time without, over all sentences of the test set."""


def read_test(task: str, folder: Path) -> list[tuple[str, str]]:
    if task == "koen-pydocs":
        lines = (folder / task / "test.tsv").read_text("utf-8").splitlines()
        return [(source, target) for source, target in (line.split("\t")[:2] for line in lines)]
    sources, targets = (
        (folder / task / f"test_2016_flickr.{side}").read_text("utf-8").splitlines() for side in ("de", "en")
    )
    return list(zip(sources, targets, strict=True))


def whole_word(word: str) -> re.Pattern[str]:
    """Match a word with a capital or small first letter; in Korean a particle may follow."""
    after = "" if re.search(f"[{HANGUL}]$", word) else r"(?!\w)"
    return re.compile(rf"(?<!\w)(?:{re.escape(word)}|{re.escape(word[:1].upper() + word[1:])}){after}")


def inner_ends(text: str) -> int:
    return len(INNER_END.findall(text))


def before_end(text: str, source: str) -> str:
    ends = [match.start() + 1 for match in INNER_END.finditer(text)]
    allowed = inner_ends(source)
    return text[: ends[allowed]] if len(ends) > allowed else text


def with_terms(reference: str, terms: Sequence[Any], table: Table) -> str:
    for result in terms:
        for usual in table[result.term.source][1].split():
            reference = whole_word(usual).sub(result.text, reference)
    return reference


@dataclass
class TermCounts:
    """Counts over the terms of all outputs."""

    terms: int = 0
    reported_satisfied: int = 0
    as_text: int = 0
    whole_words: int = 0
    in_place: int = 0
    false_reports: int = 0
    text_after_end: int = 0

    def add(self, source: str, free: str, output: Any, table: Table) -> None:
        """Count the terms of one output; `free` is the translation without the glossary."""
        text = before_end(output.text, source)
        self.text_after_end += inner_ends(output.text) > max(inner_ends(source), inner_ends(free))
        for result in output.terms:
            is_there = bool(whole_word(result.text).search(text))
            usual = [word for word in table[result.term.source][1].split() if word != result.text]
            before, left = (
                sum(len(whole_word(word).findall(translation)) for word in usual) for translation in (free, output.text)
            )
            self.terms += 1
            self.as_text += result.text in output.text
            self.whole_words += is_there
            self.in_place += is_there and left <= max(0, before - 1)
            self.reported_satisfied += result.satisfied
            self.false_reports += result.satisfied and not is_there


def measure(run: Path, task: str, folder: Path, limit: int, *, replace_in_source: bool) -> TermScores:
    table, pairs = TASKS[task], read_test(task, folder)[: limit or None]
    translator = tongsa.load(run)
    if not replace_in_source:
        translator.term_replacement = False
    glossary = Glossary.from_pairs((source, target) for source, (target, _) in table.items())
    sources = [source for source, _ in pairs]
    translator.translate(sources[:8], glossary=glossary)  # warm up
    started = perf_counter()
    free = translator.translate(sources)
    free_seconds = perf_counter() - started
    outputs = translator.translate(sources, glossary=glossary)
    seconds = perf_counter() - started - free_seconds
    counts, rows = TermCounts(), [i for i, output in enumerate(outputs) if output.terms]
    for i in rows:
        counts.add(sources[i], free[i].text, outputs[i], table)
    percent = {
        name: round(100 * getattr(counts, name) / max(1, counts.terms), 1)
        for name in ("reported_satisfied", "as_text", "whole_words", "in_place")
    }
    references = [pairs[i][1] for i in rows]
    term_references = [with_terms(pairs[i][1], outputs[i].terms, table) for i in rows]
    free_texts, texts = [free[i].text for i in rows], [outputs[i].text for i in rows]
    return TermScores(
        sentences=len(rows),
        terms=counts.terms,
        **percent,
        false_reports=counts.false_reports,
        text_after_end=counts.text_after_end,
        bleu_free=bleu(free_texts, references, task),
        bleu=bleu(texts, references, task),
        bleu_free_term_reference=bleu(free_texts, term_references, task),
        bleu_term_reference=bleu(texts, term_references, task),
        seconds_ratio=round(seconds / free_seconds, 2),
    )


def bleu(texts: list[str], references: list[str], task: str) -> float:
    tokenize = "char" if task == "koen-pydocs" else "13a"
    return round(sacrebleu.corpus_bleu(texts, [references], tokenize=tokenize).score, 2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("--task", choices=[*TASKS], required=True)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder of the data sets")
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="only the first N test sentences")
    parser.add_argument("--search-only", action="store_true", help="do not replace terms in the source")
    parser.add_argument("--json", action="store_true")
    add_options(parser)
    options = parser.parse_args()
    scores = measure(options.run, options.task, options.data, options.limit, replace_in_source=not options.search_only)
    if options.record:
        record("quality", [row(options, scores)], options.results)
    print(json.dumps(asdict(scores)) if options.json else "\n".join(f"{k:26} {v}" for k, v in asdict(scores).items()))
    return 0


def row(options: argparse.Namespace, scores: TermScores) -> Measurement:
    way = "search" if options.search_only else "as trained"
    return Measurement(
        id=f"terminology-{options.task}-{way.replace(' ', '-')}",
        table="terminology",
        what=f"Glossary of 30 terms, {options.task}, {way}: terms in place",
        value=to_number(scores.in_place, 1),
        unit="%",
        seeds=training_seed(options.run),
        details={
            name.replace("_", " "): value if isinstance(value, int) else to_number(value, 2)
            for name, value in asdict(scores).items()
        },
    )


if __name__ == "__main__":
    sys.exit(main())
