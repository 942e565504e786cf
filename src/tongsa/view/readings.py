"""What a translation or a classification looked at, ready to be drawn."""

from tongsa.decoding.classifier import Classification
from tongsa.decoding.translation import Translation
from tongsa.decoding.writer import Writer
from tongsa.text import normalise
from tongsa.view.attention import Reading


def reading(translation: Translation, text: str, reference: str = "") -> Reading:
    return Reading(
        source=[*translation.source_pieces, "</s>"],
        target=[*translation.pieces, "</s>"],
        weights=translation.attention,
        text=text,
        translation=translation.text,
        reference=reference,
        score=translation.score,
    )


def judgement(answer: Classification, text: str, reference: str = "") -> Reading:
    """A text, its label, and what the hops or heads read of it."""
    return Reading(
        source=[*answer.source_pieces, "</s>"],
        target=[answer.label],
        weights=answer.attention,
        text=text,
        translation=f"{answer.label} ({answer.probability:.1%})",
        reference=reference,
        labelled=True,
    )


def writing(writer: Writer, text: str) -> Reading:
    """A text as a language model reads it: each piece looks at those before it."""
    pieces = writer.target.split_all([normalise(text)])[0][: writer.longest - 1]
    return Reading(
        source=["</s>"],
        target=[*writer.target.names(pieces), "</s>"],
        weights={role: layers for role, layers in writer.attention([], pieces).items() if role == "decoder"},
        text=text,
        translation="",
    )
