"""Minimum Bayes risk decoding (Kumar and Byrne 2004, section 2): the output that agrees best with the others.

Samples from the model approximate its distribution (Eikema and Aziz 2022, section 3). The sample with the highest mean
utility against all of them is chosen; the likeliest output may disagree with most of the distribution.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from sacrebleu.metrics.chrf import CHRF

from tongsa.data.sentence_splitter import Span
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.documents import Document
from tongsa.decoding.request import DecodeRequest
from tongsa.decoding.results import Translation, join_translations
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.translator import Translator

Utility = Callable[[str, str], float]
"""Quality of a candidate (first argument) given a reference (second argument)."""
DEFAULT_NUM_SAMPLES = 32


@cache
def _chrf_metric() -> CHRF:
    return CHRF()


def chrf(candidate: str, reference: str) -> float:
    """Return the F-score of character n-grams, from 0 to 1 (Popović 2015)."""
    return float(_chrf_metric().sentence_score(candidate, [reference]).score) / 100


def expected_utilities(
    candidates: Sequence[str], pseudo_references: Sequence[str], utility: Utility = chrf
) -> list[float]:
    """Return the mean utility of each candidate against all pseudo-references; equal texts are compared once."""
    counts = Counter(pseudo_references)
    utilities = {
        candidate: sum(count * utility(candidate, text) for text, count in counts.items()) / len(pseudo_references)
        for candidate in set(candidates)
    }
    return [utilities[candidate] for candidate in candidates]


def mbr_decode(
    translator: Translator,
    texts: Sequence[str],
    *,
    num_samples: int = DEFAULT_NUM_SAMPLES,
    sampling: SamplingConfig | None = None,
    config: DecodingConfig | None = None,
    utility: Utility = chrf,
) -> list[Translation]:
    """Return for each text the sample with the highest mean utility against all samples; its score is that mean.

    The sentences of a text are chosen one by one. `config` replaces the model's decoding settings.
    """
    request = DecodeRequest(
        config=config or translator.config, nbest=num_samples, sampling=sampling or SamplingConfig()
    )
    translations = []
    for translation in translator.decode(texts, request):
        document = Document(translation.source, [Span(part.start, part.end) for part in translation.sentences])
        chosen = [_most_useful_sample(sentence, utility) for sentence in translation.sentences]
        translations.append(join_translations(document, chosen))
    return translations


def _most_useful_sample(translation: Translation, utility: Utility) -> Translation:
    """Return the sample of one sentence with the highest mean utility."""
    samples = translation.nbest
    sample_texts = [sample.text for sample in samples]
    utilities = expected_utilities(sample_texts, sample_texts, utility)
    best = max(range(len(samples)), key=utilities.__getitem__)
    return replace(samples[best], score=utilities[best], alternatives=())
