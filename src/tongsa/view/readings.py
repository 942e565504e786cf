"""What a translation or a classification looked at, ready to be drawn."""

from tongsa.decoding.classifier import Classification
from tongsa.decoding.translation import Translation
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
