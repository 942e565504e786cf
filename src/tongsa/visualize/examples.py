"""Attention examples made from the results of a translator, a classifier or a language model."""

from tongsa.data.normalize import normalize
from tongsa.data.sentence_splitter import split_sentences
from tongsa.decoding.beams import SearchObserver
from tongsa.decoding.generator import TextGenerator
from tongsa.decoding.request import DecodeRequest
from tongsa.decoding.results import Translation
from tongsa.decoding.text_classifier import Classification
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.visualize.attention import AttentionExample


def translate_sentence(
    translator: Translator, text: str, observer: SearchObserver | None = None, **settings: float | str | None
) -> Translation:
    """Translate one sentence as a whole, for a view of its attention or search; refuse a text of several."""
    if translator.config.split_sentences and len(split_sentences(text, translator.source_language)) > 1:
        raise InputError(f"a view shows one sentence, but this text has several: {text[:60]!r}. Give one.")
    config = translator.config_with(settings | {"split_sentences": False})
    return translator.decode([text], DecodeRequest(config=config, observer=observer))[0]


def translation_example(translation: Translation, text: str, reference: str = "") -> AttentionExample:
    """Return the attention of a translation: encoder, decoder and cross-attention, as far as the model has them."""
    return AttentionExample(
        source_tokens=[*translation.source_tokens, "</s>"],
        target_tokens=[*translation.tokens, "</s>"],
        weights=translation.attention,
        text=text,
        translation=translation.text,
        reference=reference,
        score=translation.score,
    )


def classification_example(classification: Classification, text: str, reference: str = "") -> AttentionExample:
    """Return the attention of a classifier over a text, with the predicted label."""
    return AttentionExample(
        source_tokens=[*classification.source_tokens, "</s>"],
        target_tokens=[classification.label],
        weights=classification.attention,
        text=text,
        translation=f"{classification.label} ({classification.probability:.1%})",
        reference=reference,
        is_label=True,
    )


def language_model_example(generator: TextGenerator, text: str) -> AttentionExample:
    """Return the causal self-attention of a language model over a text."""
    tokens = generator.target_tokenizer.encode_all([normalize(text)])[0][: generator.max_positions - 1]
    return AttentionExample(
        source_tokens=["</s>"],
        target_tokens=[*generator.target_tokenizer.token_strings(tokens), "</s>"],
        weights={role: layers for role, layers in generator.attention([], tokens).items() if role == "decoder"},
        text=text,
        translation="",
    )
