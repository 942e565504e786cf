"""Questions about one sentence that are not batched: other ways on, scores, attention, the search itself.

Each is a function from the model's reader to an answer for JSON, called in the model's worker thread.
"""

from collections.abc import Callable
from typing import Any

from tongsa.data.normalize import normalize
from tongsa.errors import InputError
from tongsa.server.api.requests import AlternativesRequest, AttentionRequest, ScoreRequest, SearchTreeRequest

ModelFunction = Callable[[Any], Any]


def check_prefix_fits(text_model: Any, text: str, prefix: str) -> None:
    """A beginning must leave room for an end."""
    room = min(len(text_model.source.split(text)) + 1 + text_model.config.beyond, text_model.longest - 1)
    if prefix and len(text_model.target.split_all([normalize(prefix)])[0]) >= room:
        raise InputError("prefix: longer than the translation of this text may be; shorten it")


def alternatives_function(request: AlternativesRequest) -> ModelFunction:
    def look(reader: Any) -> Any:
        check_prefix_fits(reader, request.text, request.prefix)
        found = reader.alternatives(request.text, request.prefix, count=request.count)
        begun = normalize(request.prefix)
        return {"alternatives": [{"text": one.text, "score": one.score, "ends": one.text == begun} for one in found]}

    return look


def score_function(request: ScoreRequest) -> ModelFunction:
    def look(reader: Any) -> Any:
        source, target = normalize(request.source), normalize(request.target)
        (logs,) = reader.score([("" if reader.task == "language_model" else source, target)])
        names = [*reader.target.names(reader.target.split_all([target])[0]), "</s>"]
        pieces = [{"piece": name, "log": log} for name, log in zip(names, logs, strict=False)]
        return {"total": sum(logs), "pieces": pieces}

    return look


def attention_function(request: AttentionRequest, title: str) -> ModelFunction:
    """What `tongsa view` draws; along a given translation, if there is one."""

    def look(reader: Any) -> Any:
        from tongsa.visualize.attention import page_data
        from tongsa.visualize.examples import classification_example, language_model_example, translation_example

        if reader.task == "classification":
            found = classification_example(reader(request.text), request.text)
        elif reader.task == "language_model":
            found = language_model_example(reader, request.text)
        elif request.target is None:
            found = translation_example(reader(request.text), request.text)
        else:
            found = _attention_along_target(reader, request.text, request.target)
        if not any(map(len, found.weights.values())):
            raise InputError("this kind of model has no attention to look at")
        return page_data(title, [found])

    return look


def _attention_along_target(text_model: Any, text: str, target: str) -> Any:
    from tongsa.visualize.attention import AttentionExample

    examples = text_model.examples([(normalize(text), normalize(target))])
    source, pieces = examples.source[0].tolist(), examples.target[0].tolist()
    (logs,) = text_model.score([(normalize(text), normalize(target))])
    return AttentionExample(
        source_tokens=[*text_model.source.names(source), "</s>"],
        target_tokens=[*text_model.target.names(pieces), "</s>"],
        weights=text_model.attention(source, pieces),
        text=text,
        translation=normalize(target),
        score=sum(logs) / text_model.config.penalty(len(logs)),
    )


def search_tree_function(request: SearchTreeRequest, title: str) -> ModelFunction:
    """What `tongsa search-tree` draws."""

    def look(reader: Any) -> Any:
        from tongsa.visualize.search_tree import build_search_tree, page_data

        return page_data(title, build_search_tree(reader, request.text, beam=request.beam))

    return look
