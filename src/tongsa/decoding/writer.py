"""Text from nothing: a language model drawn from, step after step."""

from collections.abc import Sequence

import torch

from tongsa.batch import pad
from tongsa.decoding.request import Request, answered
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.scorers import alone
from tongsa.decoding.search import SearchConfig
from tongsa.decoding.text_model import TextModel, listed
from tongsa.text import EOS

AT_ONCE = 64
"""Texts drawn side by side."""


class Writer(TextModel):
    task = "text"

    @torch.inference_mode()
    def sample(
        self, count: int = 1, sampling: SamplingConfig | None = None, *, longest: int = 100
    ) -> list[tuple[str, float]]:
        """So many texts, of at most `longest` pieces, each with its log-probability under the model."""
        request = Request(draw=(sampling or SamplingConfig()).build())
        found: list[tuple[str, float]] = []
        for start in range(0, count, AT_ONCE):
            rows = min(AT_ONCE, count - start)
            limits = torch.full((rows,), min(longest, self.longest - 1), device=self.device)
            state = self.model.decoder.start(self.model.encoder(pad([[EOS]] * rows).to(self.device)))
            answers = answered(alone(self.model.decoder), state, limits, SearchConfig(beam=1), 1, request)
            found += [(self.target.join(best.pieces), best.total) for (best,) in answers]
        return found

    def score_texts(self, texts: Sequence[str]) -> list[list[float]]:
        """Log p(x_t | x_<t) of each piece of each text, </s> last."""
        return self.score([("", text) for text in listed(texts)])
