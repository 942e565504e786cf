"""Glossary terms: where they match, what the search enforces, and what the results report."""

import re
from pathlib import Path

import pytest
import torch

from tongsa.decoding import glossary as glossary_module
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.glossary import Glossary, Term
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer

TEXTS = ["the cat sleeps", "I like New York and the York of old", "나는 고양이를 좋아한다", "", "a dog reads"]
WORDS = ["고양이는 잔다", "뉴욕이 좋다", "개가 책을 읽는다", "the cat sleeps", "I like New York", "GitHub"]
TOKENIZER = train_tokenizer([*TEXTS, *WORDS], TokenizerConfig(model="bpe", vocab_size=330))
LONG_TERM = " ".join(["고양이는 책을 읽는다"] * 9)


@pytest.fixture(scope="module")
def translator() -> Translator:
    torch.manual_seed(2)
    config = TransformerConfig(width=16, ffn_width=32, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0)
    model = config.build(len(TOKENIZER), len(TOKENIZER)).eval()
    return Translator(model, TOKENIZER, TOKENIZER, DecodingConfig(beam=4, max_extra_tokens=6))


def test_terms_are_in_the_outputs_and_in_the_results(translator: Translator) -> None:
    glossary = Glossary.from_pairs([("cat", "고양이"), ("New York", "뉴욕"), ("York", "요크")], copies=["dog"])
    translations = translator.translate(TEXTS, glossary=glossary)
    assert [[result.term for result in translation.terms] for translation in translations] == [
        [Term("cat", "고양이")],
        [Term("New York", "뉴욕"), Term("York", "요크")],
        [],
        [],
        [Term("dog", "dog")],
    ]
    assert "고양이" in translations[0].text and "뉴욕" in translations[1].text and "dog" in translations[4].text
    free = translator.translate(TEXTS)
    assert "고양이" not in free[0].text, "the model writes the term by itself: the test shows nothing"
    assert translations[2].text == free[2].text and translations[3].text == ""
    for translation in translations:
        assert all(result.satisfied == (result.term.target in translation.text) for result in translation.terms)


def test_the_record_of_a_result_has_all_keys(translator: Translator) -> None:
    (translation,) = translator.translate(["the cat sleeps"], glossary=Glossary.from_pairs([("cat", "고양이")]))
    (record,) = translation.record["terms"]
    assert record == {
        "source": "cat",
        "target": "고양이",
        "text": "고양이",
        "expected": 1,
        "occurrences": 1,
        "satisfied": True,
        "skipped_reason": "",
    }


def test_a_term_that_does_not_fit_is_skipped_and_the_others_are_enforced(translator: Translator) -> None:
    glossary = Glossary.from_pairs([("cat", LONG_TERM)])
    (translation,) = translator.translate(["the cat sleeps"], glossary=glossary)
    assert translation.text == translator("the cat sleeps").text
    (result,) = translation.terms
    assert not result.satisfied and "max_extra_tokens=200" in result.skipped_reason
    (roomy,) = translator.translate(["the cat sleeps"], glossary=glossary, max_extra_tokens=200)
    assert roomy.terms[0].satisfied, "the remedy of the message does not work"
    both = Glossary.from_pairs([("cat", LONG_TERM), ("sleeps", "잔다")])
    (translation,) = translator.translate(["the cat sleeps"], glossary=both)
    assert [result.satisfied for result in translation.terms] == [False, True]
    assert [bool(result.skipped_reason) for result in translation.terms] == [True, False]


def test_a_ninth_term_is_skipped_with_a_reason(translator: Translator) -> None:
    words = [f"{first}{second}" for first in "abc" for second in "xyz"]
    glossary = Glossary.from_pairs(zip(words, [*"고양이는책을읽잔", "뉴욕"], strict=True))
    (translation,) = translator.translate([" ".join(words)], glossary=glossary, max_extra_tokens=40)
    (skipped,) = [result for result in translation.terms if result.skipped_reason]
    assert len(translation.terms) == 9
    assert all(result.satisfied for result in translation.terms if result is not skipped)
    assert "at most 8 terms" in skipped.skipped_reason


def test_a_term_without_room_beside_the_prefix_is_skipped_with_a_reason(translator: Translator) -> None:
    glossary, prefix = Glossary.from_pairs([("cat", "뉴욕이 좋다")]), "고양이는 " * 4
    (translation,) = translator.translate(["the cat"], prefixes=[prefix], max_extra_tokens=10, glossary=glossary)
    assert translation.text.startswith(prefix.strip())
    assert "Shorten the prefix, or raise max_extra_tokens" in translation.terms[0].skipped_reason
    (roomy,) = translator.translate(["the cat"], prefixes=[prefix], max_extra_tokens=40, glossary=glossary)
    assert roomy.terms[0].satisfied and not roomy.terms[0].skipped_reason


def test_a_diverse_beam_with_terms_gives_different_outputs(translator: Translator) -> None:
    glossary = Glossary.from_pairs([("cat", "고양이")])
    (translation,) = translator.translate(
        ["the cat sleeps"], nbest=4, beam_groups=4, diversity_penalty=50.0, glossary=glossary
    )
    texts = {hypothesis.text for hypothesis in translation.nbest}
    assert len(texts) > 1 and all("고양이" in text for text in texts)


def test_samples_skip_terms_with_a_reason(translator: Translator) -> None:
    glossary = Glossary.from_pairs([("cat", "고양이")])
    (translation,) = translator.translate(["the cat sleeps"], glossary=glossary, sampling=SamplingConfig())
    assert "Leave out --sample" in translation.terms[0].skipped_reason


@pytest.mark.parametrize(
    "glossary",
    [Glossary.from_pairs([("cat", "cat")]), Glossary.from_pairs([], ["cat"]), Glossary.from_pairs([("cat", "")])],
)
def test_a_copied_term_is_required_as_often_as_it_occurs_and_in_its_case(
    translator: Translator, glossary: Glossary
) -> None:
    (translation,) = translator.translate(["the CAT and the cat like the cat"], glossary=glossary, max_extra_tokens=30)
    assert [(result.text, result.expected) for result in translation.terms] == [("CAT", 1), ("cat", 2)]
    for result in translation.terms:
        assert result.satisfied and result.occurrences == translation.text.count(result.text)
    (translated,) = translator.translate(
        ["the cat and the cat"], glossary=Glossary.from_pairs([("cat", "고양이")]), max_extra_tokens=30
    )
    assert [(result.text, result.expected) for result in translated.terms] == [("고양이", 1)]


def test_copies_inside_longer_copies_count() -> None:
    copies = Glossary.from_pairs([], ["New York", "York"]).requirements("York, New York")
    assert [(requirement.text, requirement.times) for requirement in copies] == [("York", 2), ("New York", 1)]
    mixed = Glossary.from_pairs([("New York", "뉴욕")], ["York"]).requirements("York, New York")
    assert [(requirement.text, requirement.times) for requirement in mixed] == [("York", 1), ("뉴욕", 1)]


def test_copies_that_do_not_fit_or_that_no_repeat_forbids_are_fewer_with_a_reason(translator: Translator) -> None:
    text, glossary = "New York New York New York", Glossary.from_pairs([], ["New York"])
    (translation,) = translator.translate([text], glossary=glossary, no_repeat_ngram=1)
    (result,) = translation.terms
    assert result.expected == 3 and result.occurrences == 1
    assert "no_repeat_ngram 1 forbids more" in result.skipped_reason
    (translation,) = translator.translate([text], prefixes=["개가"], glossary=glossary, max_extra_tokens=0)
    assert len(translation.tokens) <= len(TOKENIZER.encode(text)) + 1
    (result,) = translation.terms
    assert 1 <= result.occurrences < 3
    assert f"{result.occurrences} of 3: no more room" in result.skipped_reason


def test_a_term_that_no_repeat_forbids_is_an_error_with_a_remedy(translator: Translator) -> None:
    glossary = Glossary.from_pairs([("cat", "뉴욕 뉴욕")])
    with pytest.raises(InputError, match=r"no_repeat_ngram 1: .* set it to 0"):
        translator.translate(["the cat sleeps"], glossary=glossary, no_repeat_ngram=1)
    (translation,) = translator.translate(["the cat sleeps"], glossary=glossary, no_repeat_ngram=0)
    assert "뉴욕 뉴욕" in translation.text


def test_a_glossary_file_has_comments_and_errors_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("# 용어집\ncat\t고양이\n\nGitHub\nGitLab\t\n", "utf-8")
    assert Glossary.read(path).terms == (Term("cat", "고양이"), Term("GitHub", "GitHub"), Term("GitLab", "GitLab"))
    path.write_text("cat\t고양이\ndog\t개\t멍멍이\n", "utf-8")
    with pytest.raises(InputError, match=r"terms\.tsv:2: not a term"):
        Glossary.read(path)


@pytest.mark.parametrize(
    ("term", "text", "matches"),
    [
        ("cat", "The Cat sleeps", True),
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


def test_a_glossary_compiles_its_patterns_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, pattern = list[str](), glossary_module._pattern

    def record(term: str) -> re.Pattern[str]:
        compiled.append(term)
        return pattern(term)

    monkeypatch.setattr(glossary_module, "_pattern", record)
    glossary = Glossary.from_pairs([("York", "요크"), ("New York", "뉴욕")])
    for _ in range(3):
        requirements = glossary.requirements("York, New York and YORK, new york")
        assert [requirement.term.source for requirement in requirements] == ["York", "New York"]
    assert compiled == ["New York", "York"]
