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
from tongsa.decoding import terminology
from tongsa.decoding.classifier import Classifier
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.search import Hypothesis, SearchConfig
from tongsa.decoding.terminology import Glossary, Term
from tongsa.decoding.translator import Translator
from tongsa.decoding.writer import Writer
from tongsa.errors import InputError
from tongsa.models.parts.decoder import Decoder, DecoderState
from tongsa.models.recurrent import RecurrentConfig
from tongsa.models.transformer import TransformerConfig
from tongsa.text import EOS, PiecesConfig, learn
from tongsa.text.words import links

TEXTS = ["the cat sleeps", "I like New York and the York of old", "나는 고양이를 좋아한다", "", "a dog reads"]
WORDS = ["고양이는 잔다", "뉴욕이 좋다", "개가 책을 읽는다", "the cat sleeps", "I like New York", "GitHub"]
PIECES = learn([*TEXTS, *WORDS], PiecesConfig(kind="bpe", size=330))


@pytest.fixture(scope="module")
def translator() -> Translator:
    torch.manual_seed(2)
    config = TransformerConfig(width=16, inner=32, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0)
    model = config.build(len(PIECES), len(PIECES)).eval()
    decoding = SearchConfig(beam=4, beyond=6)
    return Translator(model, PIECES, PIECES, decoding)


@pytest.mark.parametrize("beam", [1, 4])
def test_places_that_become_free_are_taken_and_no_answer_changes(beam: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a model whose outputs of like sources end early or late."""
    torch.manual_seed(5)
    config = TransformerConfig(width=16, inner=32, heads=2, encoder_layers=1, decoder_layers=2, share="none")
    model = config.build(len(PIECES), len(PIECES)).eval()
    with torch.no_grad():
        model.decoder.output.weight[EOS] *= 15  # type: ignore[attr-defined]
    translator = Translator(model, PIECES, PIECES, SearchConfig(beam=beam, beyond=40), batch_tokens=400)
    rows: list[int] = []
    stepping = Decoder.step

    def counted(decoder: Decoder, piece: torch.Tensor, state: DecoderState) -> Any:
        rows.append(len(piece))
        return stepping(decoder, piece, state)

    monkeypatch.setattr(Decoder, "step", counted)
    generator = random.Random(1)
    texts = [" ".join(generator.choices(" ".join(TEXTS).split(), k=6)) for _ in range(200)]
    flowing = translator.translate(texts)
    steps, computed = len(rows), sum(rows)
    rows.clear()
    apart = translator.translate(texts, no_repeat=99)  # a rule, if one that never speaks: batch by batch
    assert steps < 0.8 * len(rows) and computed == sum(rows)
    assert [one.text for one in flowing] == [one.text for one in apart]
    assert [one.score for one in flowing] == pytest.approx([one.score for one in apart], abs=1e-4)


class Counting(Translator):
    """Keeps the lengths of the sources that each thread was given."""

    def __init__(self, *rest: Any, **others: Any) -> None:
        super().__init__(*rest, **others)
        self.given: list[list[int]] = []
        self.places: list[int] = []

    def _in_turn(self, sources: Sequence[Padded], *rest: Any) -> list[list[Hypothesis]]:
        self.given.append([length for source in sources for length in source.lengths.tolist()])
        self.places += [source.pieces.numel() for source in sources]
        return super()._in_turn(sources, *rest)


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
    longest = max((len(PIECES.split(text)) + 1 for text in texts), default=0)
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

        def supports(self, source: Padded, config: SearchConfig) -> bool:
            return config.beam > 0 and int(source.lengths.max()) <= longest

        def search(self, source: Padded, config: SearchConfig, nbest: int = 1) -> list[list[Hypothesis]]:
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
    glossary = Glossary.of([("cat", "고양이"), ("New York", "뉴욕"), ("York", "요크")], copied=["dog"])
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
        assert all(outcome.there == (outcome.term.target in one.text) for outcome in one.terms)


def test_a_term_that_does_not_fit_is_reported_as_missing_and_the_sentence_is_translated(translator: Translator) -> None:
    long = " ".join(["고양이는 책을 읽는다"] * 9)
    (found,) = translator.translate(["the cat sleeps"], glossary=Glossary.of([("cat", long)]))
    assert found.text == translator("the cat sleeps").text
    (outcome,) = found.terms
    assert not outcome.there and "raise beyond" in outcome.given_up


def test_one_term_that_does_not_fit_takes_no_other_with_it(translator: Translator) -> None:
    long = " ".join(["고양이는 책을 읽는다"] * 9)
    glossary = Glossary.of([("cat", long), ("sleeps", "잔다")])
    (found,) = translator.translate(["the cat sleeps"], glossary=glossary)
    assert [outcome.there for outcome in found.terms] == [False, True]
    assert [bool(outcome.given_up) for outcome in found.terms] == [True, False]


def test_a_ninth_term_is_given_up_and_says_why(translator: Translator) -> None:
    words = [f"{first}{second}" for first in "abc" for second in "xyz"]
    glossary = Glossary.of(zip(words, [*"고양이는책을읽잔", "뉴욕"], strict=True))
    (found,) = translator.translate([" ".join(words)], glossary=glossary, beyond=40)
    (given_up,) = [outcome for outcome in found.terms if outcome.given_up]
    assert len(found.terms) == 9 and all(outcome.there for outcome in found.terms if outcome is not given_up)
    assert "held to 8 terms" in given_up.given_up


def test_a_term_without_room_beside_the_prefix_says_so_and_the_rest_is_translated(translator: Translator) -> None:
    glossary, long = Glossary.of([("cat", "뉴욕이 좋다")]), "고양이는 " * 4
    (alone,) = translator.translate(["the cat"], prefixes=[long], beyond=10, glossary=glossary)
    assert alone.text.startswith(long.strip())
    (outcome,) = alone.terms
    assert "shorten the prefix, or raise beyond" in outcome.given_up
    (roomy,) = translator.translate(["the cat"], prefixes=[long], beyond=40, glossary=glossary)
    assert roomy.terms[0].there and not roomy.terms[0].given_up


def test_more_pieces_than_an_output_may_have_are_told_as_that_and_not_as_a_broken_model(translator: Translator) -> None:
    with pytest.raises(InputError, match=r"at_least 90: .* lower it, or raise beyond"):
        translator.translate(["the cat sleeps"], at_least=90)


def test_terms_do_not_make_alternatives_of_a_diverse_beam_alike(translator: Translator) -> None:
    glossary = Glossary.of([("cat", "고양이")])
    (found,) = translator.translate(["the cat sleeps"], nbest=4, groups=4, diversity=50.0, glossary=glossary)
    texts = {one.text for one in (found, *found.alternatives)}
    assert len(texts) > 1 and all("고양이" in text for text in texts)


def test_what_is_drawn_gives_its_terms_up_and_says_so(translator: Translator) -> None:
    glossary = Glossary.of([("cat", "고양이")])
    (found,) = translator.translate(["the cat sleeps"], glossary=glossary, sampling=SamplingConfig())
    assert "drawn" in found.terms[0].given_up


@pytest.mark.parametrize(
    "glossary", [Glossary.of([("cat", "cat")]), Glossary.of([], ["cat"]), Glossary.of([("cat", "")])]
)
def test_a_copy_is_what_stands_in_the_source_as_often_as_it_stands_there(
    translator: Translator, glossary: Glossary
) -> None:
    (found,) = translator.translate(["the CAT and the cat like the cat"], glossary=glossary, beyond=30)
    assert [(one.text, one.wanted) for one in found.terms] == [("CAT", 1), ("cat", 2)]
    assert all(one.there and one.found == found.text.count(one.text) for one in found.terms)
    (once,) = translator.translate(["the cat and the cat"], glossary=Glossary.of([("cat", "고양이")]), beyond=30)
    assert [(one.text, one.wanted) for one in once.terms] == [("고양이", 1)], "a translation is wanted once"


def test_copies_within_longer_copies_are_counted_with_them() -> None:
    glossary = Glossary.of([], ["New York", "York"])
    assert [(one.text, one.times) for one in glossary.wanted("York, New York")] == [("York", 2), ("New York", 1)]
    translated = Glossary.of([("New York", "뉴욕")], ["York"])
    assert [(one.text, one.times) for one in translated.wanted("York, New York")] == [("York", 1), ("뉴욕", 1)]


def test_copies_that_do_not_all_fit_or_that_no_repeat_forbids_are_fewer_and_the_report_says_so(
    translator: Translator,
) -> None:
    text, glossary = "New York New York New York", Glossary.of([], ["New York"])
    (found,) = translator.translate([text], glossary=glossary, no_repeat=1)
    (outcome,) = found.terms
    assert outcome.wanted == 3 and outcome.found == 1 and "no_repeat 1 forbids more" in outcome.given_up
    size = len(PIECES.split(text))
    (found,) = translator.translate([text], prefixes=["개가"], glossary=glossary, beyond=0)
    assert len(found.pieces) <= size + 1
    (outcome,) = found.terms
    assert 1 <= outcome.found < 3 and re.search(rf"{outcome.found} of 3: no more room", outcome.given_up)


def test_a_term_that_no_repeat_forbids_is_told_as_that_and_not_as_a_broken_model(translator: Translator) -> None:
    glossary = Glossary.of([("cat", "뉴욕 뉴욕")])
    with pytest.raises(InputError, match="no_repeat 1"):
        translator.translate(["the cat sleeps"], glossary=glossary, no_repeat=1)
    (found,) = translator.translate(["the cat sleeps"], glossary=glossary, no_repeat=0)
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
    assert bool(Glossary.of([(term, "x")]).wanted(text)) == there


def test_a_glossary_makes_its_patterns_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made, pattern = list[str](), terminology._pattern

    def counted(term: str) -> re.Pattern[str]:
        made.append(term)
        return pattern(term)

    monkeypatch.setattr(terminology, "_pattern", counted)
    glossary = Glossary.of([("York", "요크"), ("New York", "뉴욕")])
    for _ in range(3):
        found = glossary.wanted("York, New York and YORK, new york")
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
    begun = len(PIECES.split_all(["고양이는"])[0])
    nexts = [one.pieces[begun] for one in found]
    assert len(set(nexts)) == len(nexts) >= 3
    assert all(one.text.startswith("고양이는") for one in found)
    totals = [sum(one.logs[: begun + 1]) for one in found]
    assert totals == sorted(totals, reverse=True), "the likeliest next piece comes first"
    assert translator.alternatives("", "고양이는") == []


def test_the_end_is_a_way_to_go_on_where_it_is_among_the_likeliest(translator: Translator) -> None:
    text, begun, size = "the cat sleeps", "고양이는", len(PIECES.split("고양이는"))
    found = translator.alternatives(text, begun, count=len(PIECES), beam=1)
    (end,) = (one for one in found if len(one.pieces) == size)
    (logs,) = translator.score([(text, begun)])
    assert end.text == begun and end.total == pytest.approx(sum(logs), abs=1e-4)
    merits = [one.logs[size] for one in found]
    assert merits == sorted(merits, reverse=True), "the end has its place among the others"
    longer = translator.alternatives(text, begun, count=len(PIECES), beam=1, at_least=size + 1)
    assert end.text not in [one.text for one in longer if len(one.pieces) == size]


def test_where_there_is_no_room_the_end_is_the_only_way_to_go_on(translator: Translator) -> None:
    text, prefix = "the cat sleeps", "고양이는 잔다"
    beyond = len(PIECES.split(prefix)) - len(PIECES.split(text)) - 1
    (end,) = translator.alternatives(text, prefix, beyond=beyond)
    assert end.text == prefix
    assert translator.alternatives(text, prefix + " 뉴욕", beyond=beyond) == []
    assert all(one.pieces for one in translator.alternatives(text, "", count=len(PIECES)))


def test_draws_are_repeatable_and_differ(translator: Translator) -> None:
    def drawn(seed: int) -> list[str]:
        (found,) = translator.translate(["the cat sleeps"], nbest=6, sampling=SamplingConfig(seed=seed))
        return [found.text, *(one.text for one in found.alternatives)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert len(set(drawn(1))) > 1


def test_every_piece_has_its_probability(translator: Translator) -> None:
    (found,) = translator.translate(["the cat sleeps"], nbest=4)
    for one in (found, *found.alternatives):
        assert len(one.logs) == len(one.pieces) + 1
        (scored,) = translator.score([("the cat sleeps", one.text)])
        assert math.isclose(sum(one.logs), one.total, abs_tol=1e-4)
        if len(scored) == len(one.logs):  # the text may be split into pieces otherwise than it was written
            np.testing.assert_allclose(one.logs, scored, atol=1e-4)


def test_links_join_words_to_the_words_they_looked_at(translator: Translator) -> None:
    found = translator("I like New York and the York of old")
    assert [target for _, target in sorted(found.links, key=lambda one: one[1])] == [*range(len(found.text.split()))]
    assert {source for source, _ in found.links} <= {*range(9)}
    assert translator("").links == []


def test_words_are_linked_by_the_sums_over_their_pieces() -> None:
    source, target = ["▁the", "▁sleep", "ing", "▁cat"], ["▁자는", "▁고", "양이"]
    weights = np.array([[0.4, 0.3, 0.25, 0.05], [0.1, 0.1, 0.1, 0.7], [0.45, 0.1, 0.1, 0.35]])
    # 자는 looks most at "the", but more at the two pieces of "sleeping" together; 고양이 at "cat" in the mean
    assert links(weights, target, source) == [(1, 0), (2, 1)]


def test_settings_that_are_none_are_refused_with_their_name(translator: Translator) -> None:
    with pytest.raises(InputError, match="bream"):
        translator.translate(["the cat"], bream=3)
    with pytest.raises(InputError, match="groups 3"):
        translator.translate(["the cat"], groups=3)
    with pytest.raises(InputError, match="between 1 and the beam"):
        translator.translate(["the cat"], nbest=5)


def test_coverage_without_attention_is_a_sentence() -> None:
    config = RecurrentConfig(width=16, embedding=8)
    model = config.build(len(PIECES), len(PIECES)).eval()
    made = Translator(model, PIECES, PIECES, SearchConfig(beam=2, beyond=3))
    with pytest.raises(InputError, match="no attention"):
        made.translate(["the cat"], coverage=0.2)


def test_one_text_where_a_list_is_wanted_is_not_taken_for_its_letters(translator: Translator) -> None:
    with pytest.raises(InputError, match=r"write \['a dog reads'\]"):
        translator.translate("a dog reads")
    with pytest.raises(InputError, match="a list of texts is wanted"):
        translator.translate(["a", "b"], prefixes="고양")
    with pytest.raises(InputError, match=r"pair 1: 'ab' is not \(source, target\)"):
        translator.score(("ab", "cd"))  # type: ignore[arg-type]
    writer = Writer(translator.model, PIECES, PIECES)
    with pytest.raises(InputError, match="a list of texts is wanted"):
        writer.score_texts("a dog reads")
    with pytest.raises(InputError, match="a list of texts is wanted"):
        Classifier(translator.model, PIECES, PIECES).classify("a dog reads")
