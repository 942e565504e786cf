"""What a translator can be asked for, on a model whose weights are drawn and which thus says anything."""

import math
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tongsa.batch import Padded
from tongsa.decoding import glossary as glossary_module
from tongsa.decoding.beam_search import Hypothesis
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.generator import TextGenerator
from tongsa.decoding.glossary import Glossary, Term
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.text_classifier import TextClassifier
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.models.rnn import RNNConfig
from tongsa.models.transformer.decoder import TransformerDecoder, TransformerState
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.tokenization.special import EOS
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer
from tongsa.tokenization.words import word_alignment

TEXTS = ["the cat sleeps", "I like New York and the York of old", "나는 고양이를 좋아한다", "", "a dog reads"]
WORDS = ["고양이는 잔다", "뉴욕이 좋다", "개가 책을 읽는다", "the cat sleeps", "I like New York", "GitHub"]
PIECES = train_tokenizer([*TEXTS, *WORDS], TokenizerConfig(model="bpe", vocab_size=330))


@pytest.fixture(scope="module")
def translator() -> Translator:
    torch.manual_seed(2)
    config = TransformerConfig(width=16, ffn_width=32, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0)
    model = config.build(len(PIECES), len(PIECES)).eval()
    decoding = DecodingConfig(beam=4, max_extra_tokens=6)
    return Translator(model, PIECES, PIECES, decoding)


@pytest.mark.parametrize("beam", [1, 4])
def test_places_that_become_free_are_taken_and_no_answer_changes(beam: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a model whose outputs of like sources end early or late."""
    torch.manual_seed(5)
    config = TransformerConfig(
        width=16, ffn_width=32, heads=2, encoder_layers=1, decoder_layers=2, tie_embeddings="none"
    )
    model = config.build(len(PIECES), len(PIECES)).eval()
    with torch.no_grad():
        model.decoder.output.weight[EOS] *= 15  # type: ignore[attr-defined]
    translator = Translator(model, PIECES, PIECES, DecodingConfig(beam=beam, max_extra_tokens=40), batch_tokens=400)
    rows: list[int] = []
    stepping = TransformerDecoder.step

    def counted(decoder: TransformerDecoder, piece: torch.Tensor, state: TransformerState) -> Any:
        rows.append(len(piece))
        return stepping(decoder, piece, state)

    monkeypatch.setattr(TransformerDecoder, "step", counted)
    generator = random.Random(1)
    texts = [" ".join(generator.choices(" ".join(TEXTS).split(), k=6)) for _ in range(200)]
    flowing = translator.translate(texts)
    steps, computed = len(rows), sum(rows)
    rows.clear()
    apart = translator.translate(texts, no_repeat_ngram=99)  # a rule, if one that never speaks: batch by batch
    assert steps < 0.8 * len(rows) and computed == sum(rows)
    assert [one.text for one in flowing] == [one.text for one in apart]
    assert [one.score for one in flowing] == pytest.approx([one.score for one in apart], abs=1e-4)


class Counting(Translator):
    """Keeps the lengths of the sources that each thread was given."""

    def __init__(self, *rest: Any, **others: Any) -> None:
        super().__init__(*rest, **others)
        self.given: list[list[int]] = []
        self.places: list[int] = []

    def _search_continuous(self, sources: Sequence[Padded], *rest: Any) -> list[list[Hypothesis]]:
        self.given.append([length for source in sources for length in source.lengths.tolist()])
        self.places += [source.tokens.numel() for source in sources]
        return super()._search_continuous(sources, *rest)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("count", [0, 1, 2, 5, 23])
def test_threads_get_about_as_many_pieces_and_change_no_answer(
    translator: Translator, threads: int, count: int
) -> None:
    texts = [" ".join(TEXTS[0].split() * (1 + at % 4)) for at in range(count)]
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        counting = Counting(translator.model, PIECES, PIECES, translator.config)
        made = counting.translate(texts)
    finally:
        torch.set_num_threads(before)
    assert [one.text for one in made] == [translator(text).text for text in texts]
    longest = max((len(PIECES.encode(text)) + 1 for text in texts), default=0)
    given = [sum(lengths) for lengths in counting.given]
    assert len(given) == min(threads, count)
    assert max(given, default=0) - min(given, default=0) <= 2 * longest


@pytest.mark.parametrize("longest", [10, 1000])
def test_an_engine_gets_all_texts_at_once_or_those_batches_that_it_can(translator: Translator, longest: int) -> None:
    class Other:
        """Searches as torch does, but takes no long sources."""

        name = "other"

        def __init__(self) -> None:
            self.given: list[int] = []

        def supports(self, source: Padded, config: DecodingConfig) -> bool:
            return config.beam > 0 and int(source.lengths.max()) <= longest

        def search(self, source: Padded, config: DecodingConfig, nbest: int = 1) -> list[list[Hypothesis]]:
            self.given.append(len(source.lengths))
            return translator.search(source, config, nbest)

    texts = [" ".join(TEXTS[0].split() * (1 + at % 4)) for at in range(40)]
    engine = Other()
    made = Translator(translator.model, PIECES, PIECES, translator.config, engine=engine, batch_tokens=64)
    assert [one.text for one in made.translate(texts)] == [one.text for one in translator.translate(texts)]
    assert engine.given == [40] if longest == 1000 else 0 < sum(engine.given) < 40


def test_one_long_text_does_not_make_many_short_ones_long(translator: Translator) -> None:
    """Equal shares are counted in pieces; padded to the longest they could be many times a batch."""
    texts = ["the cat sleeps " * 30, *["cat"] * 120]
    small = Counting(translator.model, PIECES, PIECES, translator.config, batch_tokens=256)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        small.translate(texts, beam=1)
    finally:
        torch.set_num_threads(before)
    assert max(small.places) <= 256


def test_terms_are_in_the_output_and_the_report_says_so(translator: Translator) -> None:
    glossary = Glossary.from_pairs([("cat", "고양이"), ("New York", "뉴욕"), ("York", "요크")], copies=["dog"])
    found = translator.translate(TEXTS, glossary=glossary)
    assert [[outcome.term for outcome in one.terms] for one in found] == [
        [Term("cat", "고양이")],
        [Term("New York", "뉴욕"), Term("York", "요크")],
        [],
        [],
        [Term("dog", "dog")],
    ]
    assert "고양이" in found[0].text and "뉴욕" in found[1].text and "dog" in found[4].text
    free = translator.translate(TEXTS)
    assert "고양이" not in free[0].text, "it would have been there anyway: the test shows nothing"
    assert found[2].text == free[2].text and found[3].text == ""
    for one in found:
        assert all(outcome.satisfied == (outcome.term.target in one.text) for outcome in one.terms)


def test_a_term_that_does_not_fit_is_reported_as_missing_and_the_sentence_is_translated(translator: Translator) -> None:
    long = " ".join(["고양이는 책을 읽는다"] * 9)
    (found,) = translator.translate(["the cat sleeps"], glossary=Glossary.from_pairs([("cat", long)]))
    assert found.text == translator("the cat sleeps").text
    (outcome,) = found.terms
    assert not outcome.satisfied and "raise beyond" in outcome.skipped_reason


def test_one_term_that_does_not_fit_takes_no_other_with_it(translator: Translator) -> None:
    long = " ".join(["고양이는 책을 읽는다"] * 9)
    glossary = Glossary.from_pairs([("cat", long), ("sleeps", "잔다")])
    (found,) = translator.translate(["the cat sleeps"], glossary=glossary)
    assert [outcome.satisfied for outcome in found.terms] == [False, True]
    assert [bool(outcome.skipped_reason) for outcome in found.terms] == [True, False]


def test_a_ninth_term_is_given_up_and_says_why(translator: Translator) -> None:
    words = [f"{first}{second}" for first in "abc" for second in "xyz"]
    glossary = Glossary.from_pairs(zip(words, [*"고양이는책을읽잔", "뉴욕"], strict=True))
    (found,) = translator.translate([" ".join(words)], glossary=glossary, max_extra_tokens=40)
    (given_up,) = [outcome for outcome in found.terms if outcome.skipped_reason]
    assert len(found.terms) == 9 and all(outcome.satisfied for outcome in found.terms if outcome is not given_up)
    assert "held to 8 terms" in given_up.skipped_reason


def test_a_term_without_room_beside_the_prefix_says_so_and_the_rest_is_translated(translator: Translator) -> None:
    glossary, long = Glossary.from_pairs([("cat", "뉴욕이 좋다")]), "고양이는 " * 4
    (alone,) = translator.translate(["the cat"], prefixes=[long], max_extra_tokens=10, glossary=glossary)
    assert alone.text.startswith(long.strip())
    (outcome,) = alone.terms
    assert "shorten the prefix, or raise beyond" in outcome.skipped_reason
    (roomy,) = translator.translate(["the cat"], prefixes=[long], max_extra_tokens=40, glossary=glossary)
    assert roomy.terms[0].satisfied and not roomy.terms[0].skipped_reason


def test_more_pieces_than_an_output_may_have_are_told_as_that_and_not_as_a_broken_model(translator: Translator) -> None:
    with pytest.raises(InputError, match=r"at_least 90: .* lower it, or raise beyond"):
        translator.translate(["the cat sleeps"], min_tokens=90)


def test_terms_do_not_make_alternatives_of_a_diverse_beam_alike(translator: Translator) -> None:
    glossary = Glossary.from_pairs([("cat", "고양이")])
    (found,) = translator.translate(["the cat sleeps"], nbest=4, beam_groups=4, diversity_penalty=50.0, glossary=glossary)
    texts = {one.text for one in (found, *found.alternatives)}
    assert len(texts) > 1 and all("고양이" in text for text in texts)


def test_what_is_drawn_gives_its_terms_up_and_says_so(translator: Translator) -> None:
    glossary = Glossary.from_pairs([("cat", "고양이")])
    (found,) = translator.translate(["the cat sleeps"], glossary=glossary, sampling=SamplingConfig())
    assert "drawn" in found.terms[0].skipped_reason


@pytest.mark.parametrize(
    "glossary",
    [Glossary.from_pairs([("cat", "cat")]), Glossary.from_pairs([], ["cat"]), Glossary.from_pairs([("cat", "")])],
)
def test_a_copy_is_what_stands_in_the_source_as_often_as_it_stands_there(
    translator: Translator, glossary: Glossary
) -> None:
    (found,) = translator.translate(["the CAT and the cat like the cat"], glossary=glossary, max_extra_tokens=30)
    assert [(one.text, one.expected) for one in found.terms] == [("CAT", 1), ("cat", 2)]
    assert all(one.satisfied and one.occurrences == found.text.count(one.text) for one in found.terms)
    (once,) = translator.translate(
        ["the cat and the cat"], glossary=Glossary.from_pairs([("cat", "고양이")]), max_extra_tokens=30
    )
    assert [(one.text, one.expected) for one in once.terms] == [("고양이", 1)], "a translation is wanted once"


def test_copies_within_longer_copies_are_counted_with_them() -> None:
    glossary = Glossary.from_pairs([], ["New York", "York"])
    assert [(one.text, one.times) for one in glossary.requirements("York, New York")] == [("York", 2), ("New York", 1)]
    translated = Glossary.from_pairs([("New York", "뉴욕")], ["York"])
    assert [(one.text, one.times) for one in translated.requirements("York, New York")] == [("York", 1), ("뉴욕", 1)]


def test_copies_that_do_not_all_fit_or_that_no_repeat_forbids_are_fewer_and_the_report_says_so(
    translator: Translator,
) -> None:
    text, glossary = "New York New York New York", Glossary.from_pairs([], ["New York"])
    (found,) = translator.translate([text], glossary=glossary, no_repeat_ngram=1)
    (outcome,) = found.terms
    assert outcome.expected == 3 and outcome.occurrences == 1 and "no_repeat 1 forbids more" in outcome.skipped_reason
    size = len(PIECES.encode(text))
    (found,) = translator.translate([text], prefixes=["개가"], glossary=glossary, max_extra_tokens=0)
    assert len(found.tokens) <= size + 1
    (outcome,) = found.terms
    assert 1 <= outcome.occurrences < 3 and re.search(
        rf"{outcome.occurrences} of 3: no more room", outcome.skipped_reason
    )


def test_a_term_that_no_repeat_forbids_is_told_as_that_and_not_as_a_broken_model(translator: Translator) -> None:
    glossary = Glossary.from_pairs([("cat", "뉴욕 뉴욕")])
    with pytest.raises(InputError, match="no_repeat 1"):
        translator.translate(["the cat sleeps"], glossary=glossary, no_repeat_ngram=1)
    (found,) = translator.translate(["the cat sleeps"], glossary=glossary, no_repeat_ngram=0)
    assert "뉴욕 뉴욕" in found.text


def test_a_glossary_is_read_with_its_comments_and_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("# 용어집\ncat\t고양이\n\nGitHub\nGitLab\t\n", "utf-8")
    assert Glossary.read(path).terms == (Term("cat", "고양이"), Term("GitHub", "GitHub"), Term("GitLab", "GitLab"))
    path.write_text("cat\t고양이\ndog\t개\t멍멍이\n", "utf-8")
    with pytest.raises(InputError, match=r"terms\.tsv:2"):
        Glossary.read(path)


@pytest.mark.parametrize(
    ("term", "text", "there"),
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
def test_a_term_is_found_as_a_word_of_its_script(term: str, text: str, there: bool) -> None:
    assert bool(Glossary.from_pairs([(term, "x")]).requirements(text)) == there


def test_a_glossary_makes_its_patterns_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made, pattern = list[str](), glossary_module._pattern

    def counted(term: str) -> re.Pattern[str]:
        made.append(term)
        return pattern(term)

    monkeypatch.setattr(glossary_module, "_pattern", counted)
    glossary = Glossary.from_pairs([("York", "요크"), ("New York", "뉴욕")])
    for _ in range(3):
        found = glossary.requirements("York, New York and YORK, new york")
        assert [one.term.source for one in found] == ["York", "New York"]
    assert made == ["New York", "York"]


def test_outputs_begin_as_asked(translator: Translator) -> None:
    found = translator.translate(["the cat sleeps", "a dog reads"], prefixes=["고양이는", ""], nbest=3)
    for one in (found[0], *found[0].alternatives):
        assert one.text.startswith("고양이는")
    assert found[1].text == translator("a dog reads").text
    with pytest.raises(InputError, match="1 prefixes for 2 texts"):
        translator.translate(["the cat", "a dog"], prefixes=["고양이"])


def test_a_beginning_that_is_too_long_is_told_as_that_and_not_as_a_broken_model(translator: Translator) -> None:
    with pytest.raises(InputError, match="prefix: longer than the translation"):
        translator.translate(["a dog reads"], prefixes=["고양이는 " * 30])


def test_alternatives_go_on_differently_after_the_same_beginning(translator: Translator) -> None:
    found = translator.alternatives("the cat sleeps", "고양이는", count=4)
    begun = len(PIECES.encode_all(["고양이는"])[0])
    nexts = [one.tokens[begun] for one in found]
    assert len(set(nexts)) == len(nexts) >= 3
    assert all(one.text.startswith("고양이는") for one in found)
    totals = [sum(one.token_log_probs[: begun + 1]) for one in found]
    assert totals == sorted(totals, reverse=True), "the likeliest next piece comes first"
    assert translator.alternatives("", "고양이는") == []


def test_the_end_is_a_way_to_go_on_where_it_is_among_the_likeliest(translator: Translator) -> None:
    text, begun, size = "the cat sleeps", "고양이는", len(PIECES.encode("고양이는"))
    found = translator.alternatives(text, begun, count=len(PIECES), beam=1)
    (end,) = (one for one in found if len(one.tokens) == size)
    (logs,) = translator.score([(text, begun)])
    assert end.text == begun and end.log_prob == pytest.approx(sum(logs), abs=1e-4)
    merits = [one.token_log_probs[size] for one in found]
    assert merits == sorted(merits, reverse=True), "the end has its place among the others"
    longer = translator.alternatives(text, begun, count=len(PIECES), beam=1, min_tokens=size + 1)
    assert end.text not in [one.text for one in longer if len(one.tokens) == size]


def test_where_there_is_no_room_the_end_is_the_only_way_to_go_on(translator: Translator) -> None:
    text, prefix = "the cat sleeps", "고양이는 잔다"
    beyond = len(PIECES.encode(prefix)) - len(PIECES.encode(text)) - 1
    (end,) = translator.alternatives(text, prefix, max_extra_tokens=beyond)
    assert end.text == prefix
    assert translator.alternatives(text, prefix + " 뉴욕", max_extra_tokens=beyond) == []
    assert all(one.tokens for one in translator.alternatives(text, "", count=len(PIECES)))


def test_draws_are_repeatable_and_differ(translator: Translator) -> None:
    def drawn(seed: int) -> list[str]:
        (found,) = translator.translate(["the cat sleeps"], nbest=6, sampling=SamplingConfig(seed=seed))
        return [found.text, *(one.text for one in found.alternatives)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert len(set(drawn(1))) > 1


def test_every_piece_has_its_probability(translator: Translator) -> None:
    (found,) = translator.translate(["the cat sleeps"], nbest=4)
    for one in (found, *found.alternatives):
        assert len(one.token_log_probs) == len(one.tokens) + 1
        (scored,) = translator.score([("the cat sleeps", one.text)])
        assert math.isclose(sum(one.token_log_probs), one.log_prob, abs_tol=1e-4)
        if len(scored) == len(one.token_log_probs):  # the text may be split into pieces otherwise than it was written
            np.testing.assert_allclose(one.token_log_probs, scored, atol=1e-4)


def test_links_join_words_to_the_words_they_looked_at(translator: Translator) -> None:
    found = translator("I like New York and the York of old")
    assert [target for _, target in sorted(found.word_alignment, key=lambda one: one[1])] == [
        *range(len(found.text.split()))
    ]
    assert {source for source, _ in found.word_alignment} <= {*range(9)}
    assert translator("").word_alignment == []


def test_words_are_linked_by_the_sums_over_their_pieces() -> None:
    source, target = ["▁the", "▁sleep", "ing", "▁cat"], ["▁자는", "▁고", "양이"]
    weights = np.array([[0.4, 0.3, 0.25, 0.05], [0.1, 0.1, 0.1, 0.7], [0.45, 0.1, 0.1, 0.35]])
    # 자는 looks most at "the", but more at the two pieces of "sleeping" together; 고양이 at "cat" in the mean
    assert word_alignment(weights, target, source) == [(1, 0), (2, 1)]


def test_settings_that_are_none_are_refused_with_their_name(translator: Translator) -> None:
    with pytest.raises(InputError, match="bream"):
        translator.translate(["the cat"], bream=3)
    with pytest.raises(InputError, match="groups 3"):
        translator.translate(["the cat"], beam_groups=3)
    with pytest.raises(InputError, match="between 1 and the beam"):
        translator.translate(["the cat"], nbest=5)


def test_coverage_without_attention_is_a_sentence() -> None:
    config = RNNConfig(width=16, embedding=8)
    model = config.build(len(PIECES), len(PIECES)).eval()
    made = Translator(model, PIECES, PIECES, DecodingConfig(beam=2, max_extra_tokens=3))
    with pytest.raises(InputError, match="no attention"):
        made.translate(["the cat"], coverage_penalty=0.2)


def test_one_text_where_a_list_is_wanted_is_not_taken_for_its_letters(translator: Translator) -> None:
    with pytest.raises(InputError, match=r"write \['a dog reads'\]"):
        translator.translate("a dog reads")
    with pytest.raises(InputError, match="a list of texts is wanted"):
        translator.translate(["a", "b"], prefixes="고양")
    with pytest.raises(InputError, match=r"pair 1: 'ab' is not \(source, target\)"):
        translator.score(("ab", "cd"))  # type: ignore[arg-type]
    writer = TextGenerator(translator.model, PIECES, PIECES)
    with pytest.raises(InputError, match="a list of texts is wanted"):
        writer.score_texts("a dog reads")
    with pytest.raises(InputError, match="a list of texts is wanted"):
        TextClassifier(translator.model, PIECES, PIECES).classify("a dog reads")
