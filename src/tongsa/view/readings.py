"""What a translation looked at, ready to be drawn."""

from tongsa.decoding.translator import Translation
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
