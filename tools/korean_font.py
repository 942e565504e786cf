"""Font of the Korean figures: the Hangul that studies/figure_words.py uses, out of Noto Sans CJK KR (OFL 1.1).

Usage: python tools/korean_font.py /usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc

So the figures have the same bytes on machines without a Korean font. Run it when the table of words has new letters;
then python -m studies --pages.
"""

import sys
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTCollection

ROOT = Path(__file__).parent.parent
FONT_FILE = ROOT / "studies/fonts/korean.otf"
FAMILY = "Noto Sans CJK KR"


def hangul() -> str:
    """Return the Hangul of the table, each letter once."""
    text = (ROOT / "studies/figure_words.py").read_text("utf-8")
    return "".join(sorted({letter for letter in text if "가" <= letter <= "힣"}))


def main(source: str) -> None:
    font = next(font for font in TTCollection(source).fonts if font["name"].getDebugName(4) == FAMILY)
    options = Options(layout_features=[], hinting=False, name_IDs=[0, 1, 2, 3, 4, 5, 6, 13, 14], notdef_outline=True)
    subsetter = Subsetter(options)
    subsetter.populate(text=hangul())
    subsetter.subset(font)
    font.recalcTimestamp = False
    font.flavor = None
    font.save(FONT_FILE)


if __name__ == "__main__":
    main(sys.argv[1])
