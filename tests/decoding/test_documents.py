"""Texts of several sentences: nothing is lost, and a text of one sentence is decoded as without splitting."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from export.bundles import SOURCE, TARGET, transformer
from tongsa.data.sentence_splitter import Span, split_lines, split_sentences
from tongsa.data.training_profile import TrainingProfile
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.documents import Document, DocumentError, missing_stop
from tongsa.decoding.glossary import Glossary
from tongsa.decoding.mbr import mbr_decode
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.visualize.panels import view

TEXTS = st.text(st.sampled_from("aAb 가다.!?。…\n\t\r\u2028\x00”"), max_size=40)
TWO = "a b cd.  D e fg!"


@pytest.fixture(scope="module")
def translator() -> Translator:
    torch.manual_seed(1)
    bundle = transformer(target=TARGET, tie_embeddings="target", positions="learned", seed=1)
    return replace(bundle, decoding=DecodingConfig(max_extra_tokens=8, min_tokens=4)).translator()


@given(TEXTS, st.integers(1, 8))
def test_all_but_white_space_is_in_a_sentence_and_joining_gives_the_text(text: str, max_tokens: int) -> None:
    for unsplit in (Document(text, split_sentences(text)), Document.of_lines(text)):
        document = unsplit.split_to_fit(lambda sentences: [len(sentence) <= max_tokens for sentence in sentences])
        assert document.join(document.sentences) == text
        assert (
            "".join(document.sentences).split() == text.split() or not document.join([""] * len(document.spans)).strip()
        )
        assert not document.join([""] * len(document.spans)).strip()
        assert all(len(sentence) <= max_tokens for sentence in document.sentences)
        assert document.target_starts(document.sentences) == [span.start for span in document.spans]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.text(st.sampled_from("abcd 가"), min_size=1, max_size=12).map(str.strip), max_size=3))
def test_a_text_of_one_sentence_is_decoded_as_without_splitting(translator: Translator, texts: list[str]) -> None:
    assert translator.translate(texts, nbest=2) == [
        # an empty text has no sentence
        split if source else translator.translate([""])[0]
        for source, split in zip(texts, translator.translate(texts, nbest=2, split_sentences=False), strict=True)
    ]


def test_a_translated_text_is_the_join_of_its_sentences(translator: Translator) -> None:
    (joined,) = translator.translate([f" {TWO}\n"], nbest=3)
    first, second = (translator.translate([text], nbest=3)[0] for text in ("a b cd.", "D e fg!"))
    assert [hypothesis.text for hypothesis in joined.nbest] == [
        f" {before.text}{before.final_punctuation}  {after.text}{after.final_punctuation}\n"
        for before, after in zip(first.nbest, second.nbest, strict=True)
    ]
    assert {before.final_punctuation for before in first.nbest} <= {"", "."}
    assert {after.final_punctuation for after in second.nbest} == {"!"}
    assert [(part.source, part.start, part.end) for part in joined.sentences] == [
        ("a b cd.", 1, 8),
        ("D e fg!", 10, 17),
    ]
    assert all(joined.text[part.target_start : part.target_end] == part.text for part in joined.sentences)
    assert joined.log_prob == pytest.approx(first.log_prob + second.log_prob, abs=1e-4)
    assert sum(joined.token_log_probs) == pytest.approx(joined.log_prob, abs=1e-4)
    assert joined.tokens == (*first.tokens, "</s>", *second.tokens)
    assert len(joined.token_log_probs) == len(joined.tokens) + 1
    assert joined.alignment.shape == (len(joined.tokens) + 1, len(joined.source_tokens) + 1)
    np.testing.assert_allclose(joined.alignment.sum(axis=1), 1, atol=1e-4)


def test_word_alignments_count_the_words_of_the_whole_text(translator: Translator) -> None:
    (joined,) = translator.translate([TWO])
    words = [(part.source.split(), part.text.split(), part.word_alignment) for part in joined.sentences]
    expected = [
        *((words[0][0][i], words[0][1][j]) for i, j in words[0][2]),
        *((words[1][0][i], words[1][1][j]) for i, j in words[1][2]),
    ]
    source, target = joined.source.split(), joined.text.split()
    assert [(source[i], target[j]) for i, j in joined.word_alignment] == expected
    assert max(i for i, _ in joined.word_alignment) >= 3


def test_glossary_sampling_and_mbr_work_sentence_by_sentence(translator: Translator) -> None:
    glossary = Glossary.from_pairs([("b", "가 나"), ("e", "다 라")])
    (with_terms,) = translator.translate([TWO], glossary=glossary, max_term_cost=1000)
    alone = translator.translate([part.source for part in with_terms.sentences], glossary=glossary, max_term_cost=1000)
    assert [part.text for part in with_terms.sentences] == [
        translation.text + translation.final_punctuation for translation in alone
    ]
    assert with_terms.terms == alone[0].terms + alone[1].terms
    assert [term.text for term in with_terms.terms] == ["가 나", "다 라"]
    (sampled,) = translator.translate([TWO], sampling=SamplingConfig(seed=3), nbest=2)
    assert len(sampled.nbest) == 2 and len(sampled.alternatives[0].sentences) == 2
    (chosen,) = mbr_decode(translator, [TWO], num_samples=4)
    assert len(chosen.sentences) == 2 and 0 <= chosen.score <= 1 and "  " in chosen.text


def test_a_prefix_needs_one_sentence(translator: Translator) -> None:
    with pytest.raises(DocumentError, match="text 2: 2 sentences") as error:
        translator.translate(["a b", TWO], prefixes=["가", "가"])
    assert error.value.index == 1
    unsplit = translator.translate(["a b", TWO], prefixes=["가", "가"], split_sentences=False)
    assert [translation.text[0] for translation in unsplit] == ["가", "가"]
    assert [translation.text[:1] for translation in translator.translate(["", "a b"], prefixes=["가", "나"])] == [
        "",
        "나",
    ]


def test_views_and_attention_need_one_sentence(translator: Translator) -> None:
    with pytest.raises(InputError, match="one sentence"):
        view(translator, TWO)
    (joined,) = translator.translate([TWO])
    with pytest.raises(InputError, match="2 sentences"):
        _ = joined.attention
    assert joined.sentences[1].attention["cross"]
    assert translator(" a b ").attention["cross"]


def test_a_sentence_too_long_for_the_model_is_translated_in_parts(translator: Translator) -> None:
    text = " ".join("abcdefg"[i % 7] for i in range(200))
    (translation,) = translator.translate([text])
    assert not translation.truncated and len(translation.sentences) > 1
    assert " ".join(part.source for part in translation.sentences) == text
    assert translator.translate([text], split_sentences=False)[0].truncated


def test_lines_are_spans_without_surrounding_white_space() -> None:
    assert split_lines(" A. B.\r\n\n  c ") == [Span(1, 6), Span(11, 12)]


def test_unseen_words_are_copied_if_the_setting_says_so(translator: Translator) -> None:
    names = [f"A{letter}B" for letter in "abcdefghijklmnopqrstuvwxyz"]
    bundle = transformer(target=SOURCE, positions="learned", seed=1)
    profile = TrainingProfile.from_pairs([(name, name) for name in names], longest_source=20)
    copying = replace(bundle, profile=profile).translator()
    (free,) = copying.translate(["AbA bc. GFg d"])
    (copied,) = copying.translate(["AbA bc. GFg d"], copy_unseen_words=True, max_term_cost=1000)
    glossary = Glossary.from_pairs([], copies=["AbA", "GFg"])
    (required,) = copying.translate(["AbA bc. GFg d"], glossary=glossary, max_term_cost=1000)
    assert not free.terms and [term.text for term in copied.terms] == ["AbA", "GFg"]
    assert (copied.text, copied.terms) == (required.text, required.terms)
    assert translator.translate(["AbA bc"], copy_unseen_words=True) == translator.translate(["AbA bc"])


def test_placeholders_of_templates_are_copied_as_terms() -> None:
    translator = transformer(target=SOURCE, positions="learned", seed=1).translator()
    text, glossary = "a {{gf}} b {c} d", Glossary.from_pairs([], copies=["{{gf}}"])
    kept, required = translator.translate([text]), translator.translate([text], glossary=glossary)
    assert [term.text for term in kept[0].terms] == ["{{gf}}"]
    assert (kept[0].text, kept[0].terms) == (required[0].text, required[0].terms)


@pytest.mark.parametrize(
    ("source", "output", "stop"),
    [
        ("I go home.", "집에 간다", "."),
        ("Where?!", "어디", "?"),
        ("Go!", "走", "！"),
        ("I go home.", "私は家に帰る", "。"),
        ("私は家に帰る。", "I go home", "."),
        ("Well...", "글쎄", "…"),
        ('He said "Go."', "'가라'", "."),
        ("It is 5%.", "5%", "."),
        ("I go home.", "집에 간다!", ""),
        ("I go home.", "(집에 간다.)", ""),
        ("First,", "첫째", ""),
        ("I go home.", "집에,", ""),
        ("I go home.", "", ""),
        ("...", "", ""),
    ],
)
def test_the_stop_of_the_source_has_the_form_of_the_output(source: str, output: str, stop: str) -> None:
    assert missing_stop(source, output) == stop
    assert not stop or not missing_stop(source, output + stop)


def test_a_period_inside_a_long_sentence_that_was_split_is_no_stop() -> None:
    text = "We met Mr. Smith at home."
    document = Document(text, split_sentences(text, "en")).split_to_fit(
        lambda sentences: [len(sentence) <= 15 for sentence in sentences]
    )
    inner, last = document.sentences[0], document.sentences[-1]
    assert inner == "We met Mr." and last.endswith("home.")
    assert [document.complete(i, "가") for i in range(len(document.spans))] == [
        *["가"] * (len(document.spans) - 1),
        "가.",
    ]
