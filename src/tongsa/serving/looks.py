"""Questions about one sentence that are not batched: other ways on, scores, attention, the search itself.

Each is a function from the model's reader to an answer for JSON, called in the model's worker thread.
"""

from collections.abc import Callable
from typing import Any

from tongsa.errors import InputError
from tongsa.serving.requests import AlternativesRequest, AttentionRequest, ScoreRequest, TreeRequest
from tongsa.text.normalise import normalise

Look = Callable[[Any], Any]


def check_prefix(reader: Any, text: str, prefix: str) -> None:
    """A beginning must leave room for an end."""
    room = min(len(reader.source.split(text)) + 1 + reader.config.beyond, reader.longest - 1)
    if prefix and len(reader.target.split_all([normalise(prefix)])[0]) >= room:
        raise InputError("prefix: longer than the translation of this text may be; shorten it")


def alternatives(asked: AlternativesRequest) -> Look:
    def look(reader: Any) -> Any:
        check_prefix(reader, asked.text, asked.prefix)
        found = reader.alternatives(asked.text, asked.prefix, count=asked.count)
        begun = normalise(asked.prefix)
        return {"alternatives": [{"text": one.text, "score": one.score, "ends": one.text == begun} for one in found]}

    return look


def score(asked: ScoreRequest) -> Look:
    def look(reader: Any) -> Any:
        source, target = normalise(asked.source), normalise(asked.target)
        (logs,) = reader.score([("" if reader.task == "text" else source, target)])
        names = [*reader.target.names(reader.target.split_all([target])[0]), "</s>"]
        pieces = [{"piece": name, "log": log} for name, log in zip(names, logs, strict=False)]
        return {"total": sum(logs), "pieces": pieces}

    return look


def attention(asked: AttentionRequest, title: str) -> Look:
    """What `tongsa view` draws; along a given translation, if there is one."""

    def look(reader: Any) -> Any:
        from tongsa.view.attention import page_data
        from tongsa.view.readings import judgement, reading, writing

        if reader.task == "labels":
            found = judgement(reader(asked.text), asked.text)
        elif reader.task == "text":
            found = writing(reader, asked.text)
        elif asked.target is None:
            found = reading(reader(asked.text), asked.text)
        else:
            found = _along(reader, asked.text, asked.target)
        if not any(map(len, found.weights.values())):
            raise InputError("this kind of model has no attention to look at")
        return page_data(title, [found])

    return look


def _along(reader: Any, text: str, target: str) -> Any:
    from tongsa.view.attention import Reading

    examples = reader.examples([(normalise(text), normalise(target))])
    source, pieces = examples.source[0].tolist(), examples.target[0].tolist()
    (logs,) = reader.score([(normalise(text), normalise(target))])
    return Reading(
        source=[*reader.source.names(source), "</s>"],
        target=[*reader.target.names(pieces), "</s>"],
        weights=reader.attention(source, pieces),
        text=text,
        translation=normalise(target),
        score=sum(logs) / reader.config.penalty(len(logs)),
    )


def tree(asked: TreeRequest, title: str) -> Look:
    """What `tongsa search-tree` draws."""

    def look(reader: Any) -> Any:
        from tongsa.view.search_tree import page_data, searched

        return page_data(title, searched(reader, asked.text, beam=asked.beam))

    return look
