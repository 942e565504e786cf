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

GERMAN_ENGLISH = {  # source term: (target, usual translations)
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
ENGLISH_KOREAN = {
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


def with_terms(reference: str, terms: Sequence[Any], table: dict[str, tuple[str, str]]) -> str:
    for result in terms:
        for usual in table[result.term.source][1].split():
            reference = whole_word(usual).sub(result.text, reference)
    return reference


def measure(run: Path, task: str, folder: Path, limit: int, *, replace_in_source: bool) -> TermScores:
    table, pairs = TASKS[task], read_test(task, folder)[: limit or None]
    translator = tongsa.load(run)
    if not replace_in_source and hasattr(translator, "term_replacement"):
        translator.term_replacement = False
    glossary = Glossary.from_pairs((source, target) for source, (target, _) in table.items())
    sources = [source for source, _ in pairs]
    translator.translate(sources[:8], glossary=glossary)  # warm up
    started = perf_counter()
    free = translator.translate(sources)
    free_seconds = perf_counter() - started
    started = perf_counter()
    outputs = translator.translate(sources, glossary=glossary)
    seconds = perf_counter() - started
    terms = as_text = whole = in_place = reported = false_reports = after_end = 0
    rows = [i for i, output in enumerate(outputs) if output.terms]
    for i in rows:
        text = before_end(outputs[i].text, sources[i])
        after_end += inner_ends(outputs[i].text) > max(inner_ends(sources[i]), inner_ends(free[i].text))
        for result in outputs[i].terms:
            found = bool(whole_word(result.text).search(text))
            others = [word for word in table[result.term.source][1].split() if word != result.text]
            count = len(re.findall(rf"(?<!\w){result.term.source}(?!\w)", sources[i]))
            usual_before = sum(len(whole_word(word).findall(free[i].text)) for word in others)
            usual_left = sum(len(whole_word(word).findall(outputs[i].text)) for word in others)
            terms += 1
            as_text += result.text in outputs[i].text
            whole += found
            in_place += found and usual_left <= max(0, usual_before - min(count, 1))
            reported += result.satisfied
            false_reports += result.satisfied and not found
    term_references = [with_terms(pairs[i][1], outputs[i].terms, table) for i in rows]
    tokenize = "char" if task == "koen-pydocs" else "13a"

    def bleu(texts: list[str], references: list[str]) -> float:
        return round(sacrebleu.corpus_bleu(texts, [references], tokenize=tokenize).score, 2)

    free_texts, texts = [free[i].text for i in rows], [outputs[i].text for i in rows]
    references = [pairs[i][1] for i in rows]
    share = 100 / max(1, terms)
    return TermScores(
        sentences=len(rows),
        terms=terms,
        reported_satisfied=round(share * reported, 1),
        as_text=round(share * as_text, 1),
        whole_words=round(share * whole, 1),
        in_place=round(share * in_place, 1),
        false_reports=false_reports,
        text_after_end=after_end,
        bleu_free=bleu(free_texts, references),
        bleu=bleu(texts, references),
        bleu_free_term_reference=bleu(free_texts, term_references),
        bleu_term_reference=bleu(texts, term_references),
        seconds_ratio=round(seconds / free_seconds, 2),
    )


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
        record("terminology", rows(options, scores), options.results)
    print(json.dumps(asdict(scores)) if options.json else "\n".join(f"{k:26} {v}" for k, v in asdict(scores).items()))
    return 0


def rows(options: argparse.Namespace, scores: TermScores) -> list[Measurement]:
    system = "search" if options.search_only else options.run.name
    return [
        Measurement(
            id=f"terminology-{options.task}-{system}",
            table="terminology",
            what=f"glossary terms in place, {options.task}, {system}",
            value=to_number(scores.in_place, 1),
            unit="%",
            seeds=training_seed(options.run),
            details={name: to_number(value, 2) for name, value in asdict(scores).items()},
        )
    ]


if __name__ == "__main__":
    sys.exit(main())
