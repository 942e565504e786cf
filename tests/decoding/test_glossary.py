"""Glossary terms: where they match, what the search enforces, and what the results report."""

import csv
import re
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toy_translation import NOUNS, PAIRS, train_toy_translator

from tiny import CONFIGS, kind_of
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.glossary import Glossary, Term, count_inner_sentence_ends, find_phrase, text_before_end
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer

SYNONYMS = Glossary.from_pairs([("Hund", "canine"), ("Mann", "gentleman"), ("Junge", "lad"), ("Baum", "New York")])
TOKENIZER = train_tokenizer([text for pair in PAIRS for text in pair], TokenizerConfig(model="bpe", vocab_size=300))


@pytest.fixture(scope="module")
def translator() -> Translator:
    return train_toy_translator()


def test_terms_take_the_place_of_the_models_own_translation(translator: Translator) -> None:
    sources, targets = [source for source, _ in PAIRS], [target for _, target in PAIRS]
    assert [translation.text for translation in translator.translate(sources)] == targets
    in_place = 0
    for translation, target in zip(translator.translate(sources, glossary=SYNONYMS), targets, strict=True):
        for result in translation.terms:
            assert result.satisfied and result.in_place and not result.skipped_reason
        for usual, term in [("dog", "canine"), ("man", "gentleman"), ("boy", "lad"), ("tree", "New York")]:
            target = target.replace(usual, term)
        in_place += translation.text == target
    assert in_place >= 0.9 * len(PAIRS)


def test_alternatives_keep_the_prefix_and_have_the_terms(translator: Translator) -> None:
    source, target = next(pair for pair in PAIRS if "Baum" in pair[0])
    prefix = " ".join(target.split()[:2])
    alternatives = translator.alternatives(source, prefix, count=4, glossary=SYNONYMS)
    texts = [alternative.text for alternative in alternatives]
    assert target.replace("tree", "New York") in texts and len(set(texts)) == len(texts)
    for alternative in alternatives:
        assert alternative.text.startswith(prefix)
        assert all(result.satisfied == bool(find_phrase(alternative.text, result.text)) for result in alternative.terms)


def test_text_after_the_end_is_translated_again_without_replacing_the_term() -> None:
    things = ("Ball", "Baum", "Mann")
    translator = train_toy_translator(
        [(f"Ein canine sieht den {thing}.", f"A canine sees the {NOUNS[thing]}. A dog.") for thing in things]
    )
    translator.term_replacement = True  # the model has learned it, but goes on after the end
    result = translator.translate(["Ein Hund sieht den Ball."], glossary=Glossary.from_pairs([("Hund", "canine")]))[0]
    assert result.text == "A canine sees the ball."
    assert result.satisfies_terms


def test_texts_without_terms_are_translated_as_without_a_glossary(translator: Translator) -> None:
    sources = [source for source, _ in PAIRS[:20]]
    with_glossary = translator.translate(sources, glossary=Glossary.from_pairs([("Ball", "GitHub")]), nbest=2)
    for translation, free in zip(with_glossary, translator.translate(sources, nbest=2), strict=True):
        if "Ball" not in translation.source_tokens and not translation.terms:
            assert translation.record == free.record


def test_the_record_of_a_result_has_all_keys(translator: Translator) -> None:
    (translation,) = translator.translate(["Ein Hund sieht den Ball."], glossary=SYNONYMS)
    (record,) = translation.record["terms"]
    assert record == {
        "source": "Hund",
        "target": "canine",
        "text": "canine",
        "expected": 1,
        "occurrences": 1,
        "satisfied": True,
        "in_place": True,
        "skipped_reason": "",
    }


def test_a_term_that_the_model_writes_itself_changes_nothing(translator: Translator) -> None:
    text = "Ein Hund sieht den Ball."
    (translation,) = translator.translate([text], glossary=Glossary.from_pairs([("Hund", "dog"), ("Ball", "ball")]))
    assert translation.text == translator(text).text and all(result.in_place for result in translation.terms)


def test_a_term_that_costs_too_much_is_left_out_with_both_scores(translator: Translator) -> None:
    text = "Ein Hund sieht den Ball."
    (translation,) = translator.translate([text], glossary=SYNONYMS, max_term_cost=0.0)
    (result,) = translation.terms
    assert translation.text == translator(text).text and not result.satisfied and not result.in_place
    assert "at most 0 less is allowed. Raise max_term_cost" in result.skipped_reason
    limit = int(result.skipped_reason.rpartition("max_term_cost=")[2].rstrip(")."))
    (translation,) = translator.translate([text], glossary=SYNONYMS, max_term_cost=limit)
    assert translation.terms[0].satisfied, "the remedy of the message does not work"


def test_a_term_without_room_is_left_out_and_the_others_are_placed(translator: Translator) -> None:
    glossary = Glossary.from_pairs([("Ball", "New York " * 30), ("Hund", "canine")])
    (translation,) = translator.translate(["Ein Hund sieht den Ball."], glossary=glossary, max_extra_tokens=5)
    assert [result.satisfied for result in translation.terms] == [True, False]
    assert "max_extra_tokens=200" in translation.terms[1].skipped_reason
    (roomy,) = translator.translate(["Ein Hund sieht den Ball."], glossary=glossary, max_extra_tokens=200)
    assert roomy.satisfies_terms, "the remedy of the message does not work"


def test_a_forced_prefix_is_kept(translator: Translator) -> None:
    text = "Ein Hund sieht den Mann."
    (translation,) = translator.translate([text], prefixes=["A dog"], glossary=SYNONYMS)
    assert translation.text == "A dog sees the gentleman."
    assert [result.satisfied for result in translation.terms] == [False, True]
    assert translation.terms[0].skipped_reason


def test_all_hypotheses_of_an_nbest_list_have_the_terms(translator: Translator) -> None:
    (translation,) = translator.translate(["Ein Hund sieht den Ball."], nbest=3, glossary=SYNONYMS)
    assert len({hypothesis.text for hypothesis in translation.nbest}) == 3
    assert all(hypothesis.satisfies_terms for hypothesis in translation.nbest)
    (best,) = translator.translate(["Ein Hund sieht den Ball."], glossary=SYNONYMS)
    assert translation.text == best.text


def test_samples_skip_terms_with_a_reason(translator: Translator) -> None:
    (translation,) = translator.translate(
        ["Ein Hund sieht den Ball."], glossary=Glossary.from_pairs([("Hund", "GitHub")]), sampling=SamplingConfig()
    )
    assert "Leave out --sample" in translation.terms[0].skipped_reason


@pytest.mark.parametrize(
    "glossary",
    [Glossary.from_pairs([("Hund", "Hund")]), Glossary.from_pairs([], ["Hund"]), Glossary.from_pairs([("Hund", "")])],
)
def test_a_copied_term_is_required_as_often_as_it_occurs(translator: Translator, glossary: Glossary) -> None:
    (translation,) = translator.translate(["Ein Hund sieht den Hund."], glossary=glossary)
    assert translation.text == "A Hund sees the Hund."
    assert [(result.text, result.expected, result.occurrences) for result in translation.terms] == [("Hund", 2, 2)]
    assert "HUND" in translator.translate(["EIN HUND SIEHT DEN BALL."], glossary=glossary)[0].terms[0].text


SEQ2SEQ = {kind_of(name): name for name, config in CONFIGS.items() if config.task == "seq2seq"}
words = st.sampled_from(["dog", "canine", "lad", "New York", "the man.", "sees", "고양이", "猫"])


@pytest.mark.parametrize("kind", SEQ2SEQ.values())
@given(seed=st.integers(0, 1000), target=words, source=st.sampled_from(PAIRS).map(lambda pair: pair[0]))
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_satisfied_term_stands_as_whole_words_before_the_end(kind: str, seed: int, target: str, source: str) -> None:
    torch.manual_seed(seed)
    model = CONFIGS[kind].build(len(TOKENIZER), len(TOKENIZER)).eval()
    translator = Translator(model, TOKENIZER, TOKENIZER, DecodingConfig(beam=2, max_extra_tokens=8, max_term_cost=100))
    (translation,) = translator.translate([source], glossary=Glossary.from_pairs([(source.split()[1], target)]))
    free = translator(source)
    (result,) = translation.terms
    text = text_before_end(translation.text, count_inner_sentence_ends(source))
    assert result.satisfied == bool(find_phrase(text, target))
    assert result.satisfied or result.skipped_reason
    assert translation.text == free.text or result.in_place
    ends = max(count_inner_sentence_ends(source), count_inner_sentence_ends(free.text))
    assert count_inner_sentence_ends(translation.text) <= ends


def test_copies_inside_longer_copies_count() -> None:
    copies = Glossary.from_pairs([], ["New York", "York"]).requirements("York, New York")
    assert [(requirement.text, requirement.times) for requirement in copies] == [("York", 2), ("New York", 1)]
    mixed = Glossary.from_pairs([("New York", "뉴욕")], ["York"]).requirements("York, New York")
    assert [(requirement.text, requirement.times) for requirement in mixed] == [("York", 1), ("뉴욕", 1)]


def test_a_glossary_file_has_comments_and_errors_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("# 용어집\ncat\t고양이\n\nGitHub\n", "utf-8")
    assert Glossary.read(path).terms == (Term("cat", "고양이"), Term("GitHub", "GitHub"))


def test_a_csv_glossary_is_read_with_quotes_and_a_header(tmp_path: Path) -> None:
    path, terms = tmp_path / "terms.csv", [("cat", "고양이"), ("red, white", '빨강, "하양"')]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("Source", "Target"), *terms, ("GitHub",)])
    assert Glossary.read(path).terms == (*(Term(*term) for term in terms), Term("GitHub", "GitHub"))


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("terms.tsv", "dog\t개\t멍멍이", r"terms\.tsv:2: not a term\. .* no third column"),
        ("terms.tsv", "dog,개", r"terms\.tsv:2: a comma and no tab\. .* name the file \*\.csv"),
        ("terms.txt", "dog,개", r"terms\.txt:2: a comma and no tab"),
        ("terms.csv", "dog,개,멍멍이", r"terms\.csv:2: not a term\. .* quote a text with a comma"),
        ("terms.csv", ",개", r"terms\.csv:2: not a term"),
    ],
)
def test_errors_in_a_glossary_file_name_the_line_and_the_remedy(
    tmp_path: Path, name: str, line: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(f"# terms\n{line}\n", "utf-8")
    with pytest.raises(InputError, match=message):
        Glossary.read(path)


@pytest.mark.parametrize(
    ("term", "text", "matches"),
    [
        ("Junge", "der junge Hund", False),
        ("Junge", "JUNGE HUNDE", True),
        ("junge", "Junge Hunde spielen", True),
        ("junge", "Er bellt. Junge Hunde spielen", True),
        ("junge", "Der Junge spielt", False),
        ("junge", "„Junge Hunde“", True),
        ("GitHub", "on Github", False),
    ],
)
def test_case_of_a_term(term: str, text: str, matches: bool) -> None:
    assert bool(Glossary.from_pairs([(term, "x")]).requirements(text)) == matches


@pytest.mark.parametrize(
    ("term", "text", "matches"),
    [
        ("cat", "The cat sleeps", True),
        ("cat", "a category", False),
        ("cat", "concat", False),
        ("고양이", "고양이가 잔다", True),
        ("고양이", "길고양이가 잔다", False),
        ("GitHub", "GitHub에서 찾았다", True),
        ("Git", "GitHub에서 찾았다", False),
        ("猫", "黒猫が寝る", True),
        ("C++", "I write C++, not C", True),
        ("3.5", "13.5 kg", False),
    ],
)
def test_a_term_matches_whole_words_of_its_script(term: str, text: str, matches: bool) -> None:
    assert bool(Glossary.from_pairs([(term, "x")]).requirements(text)) == matches


@pytest.mark.parametrize(
    ("text", "is_word"),
    [
        ("예외사항을 처리한다", True),
        ("예외사항에서는 다르다", True),
        ("이 예외사항들이", True),
        ("예외사항입니다.", True),
        ("예외사항", True),
        ("예외사항목의 항목", False),
        ("예외사항표", False),
        ("큰예외사항", False),
    ],
)
def test_particles_may_follow_a_korean_term_but_no_other_syllables(text: str, is_word: bool) -> None:
    assert bool(find_phrase(text, "예외사항")) is is_word


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("two.tsv", "Hund\tdog\nHund\thound\n", "two.tsv:2: 'Hund' has two targets"),
        ("no-target.tsv", "Hund\t\n", "no-target.tsv:1: not a term"),
        ("semicolons.csv", "Hund;dog\n", "semicolons.csv:1: not a term"),
        ("empty.tsv", "# nothing\n", "empty.tsv: no terms"),
    ],
)
def test_mistakes_in_a_glossary_are_named(name: str, content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(InputError, match=re.escape(message)):
        Glossary.read(tmp_path / name)
