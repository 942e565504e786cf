"""Mask before the softmax (−∞) or after it (zero, then divide by the sum): the same numbers, and where they are not.

Vaswani et al. 2017, section 3.2.3: illegal connections are set to −∞ in the input of the softmax.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from studies.figures import line_styles, new_figure
from studies.study import Claim, Language, MeasureOptions, Study, Table, Text, Values

LENGTH, KEY_WIDTH = 32, 64
GAPS = (0, 10, 20, 30, 40, 50, 60, 70, 80, 85, 90, 95, 100, 105, 110, 120)
TOLERANCE = {"float32": 1e-4, "float64": 1e-12}
"""Largest relative difference that counts as equal: rounding of some hundred operations."""
LARGE_NEGATIVE = -1e9


def mask_before(scores: Tensor, mask: Tensor) -> Tensor:
    """Return softmax weights with −∞ in place of the illegal scores, as in the paper."""
    return scores.masked_fill(~mask, -torch.inf).softmax(-1)


def mask_after(scores: Tensor, mask: Tensor) -> Tensor:
    """Return softmax weights over everything, zero at illegal positions, divided by their sum."""
    weights = scores.softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True)


def mask_with_large_negative(scores: Tensor, mask: Tensor) -> Tensor:
    """Return softmax weights with −10⁹ in place of −∞, as in many tutorials."""
    return scores.masked_fill(~mask, LARGE_NEGATIVE).softmax(-1)


METHODS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "before": mask_before,
    "after": mask_after,
    "large-negative": mask_with_large_negative,
}


def random_masks(generator: torch.Generator) -> dict[str, Tensor]:
    """Return a causal mask, a padding mask, and a random one in which every query may read itself."""
    causal = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
    padding = (torch.arange(LENGTH) < LENGTH * 2 // 3).expand(LENGTH, LENGTH)
    scattered = (torch.rand(LENGTH, LENGTH, generator=generator) < 0.3) | torch.eye(LENGTH, dtype=torch.bool)
    return {"causal": causal, "padding": padding, "random": scattered}


def attention_with_gradients(method: str, qkv: Sequence[Tensor], mask: Tensor, upstream: Tensor) -> list[Tensor]:
    """Return weights, context, and the gradients of query, keys and values."""
    query, keys, values = (tensor.clone().requires_grad_() for tensor in qkv)
    weights = METHODS[method](query @ keys.T / KEY_WIDTH**0.5, mask)
    context = weights @ values
    (context * upstream).sum().backward()  # type: ignore[no-untyped-call]
    gradients = [tensor.grad for tensor in (query, keys, values) if tensor.grad is not None]
    return [weights.detach(), context.detach(), *gradients]


def relative_difference(value: Tensor, reference: Tensor) -> float:
    """Return the largest difference relative to the largest reference."""
    return float((value - reference).abs().max() / reference.abs().max())


def measure_ordinary_scores(seed: int) -> dict[str, dict[str, float]]:
    """Return the largest relative difference from masking before, over three masks, by data type and tensor."""
    differences: dict[str, dict[str, float]] = {}
    for dtype in (torch.float32, torch.float64):
        generator = torch.Generator().manual_seed(seed)
        shape = (LENGTH, KEY_WIDTH)
        *qkv, upstream = (torch.randn(shape, generator=generator, dtype=dtype) for _ in range(4))
        for mask in random_masks(generator).values():
            reference = attention_with_gradients("before", qkv, mask, upstream)
            for method in ("after", "large-negative"):
                results = attention_with_gradients(method, qkv, mask, upstream)
                names = ("weights", "context", "query gradient", "key gradient", "value gradient")
                for name, result, expected in zip(names, results, reference, strict=True):
                    group = differences.setdefault(f"{method} {str(dtype).removeprefix('torch.')}", {})
                    group[name] = max(group.get(name, 0.0), relative_difference(result, expected))
    return differences


def measure_gaps(seed: int) -> dict[str, list[float | None]]:
    """Return the error against float64 if illegal scores are larger by a gap; null where the result is 0/0."""
    errors: dict[str, list[float | None]] = {}
    for dtype in (torch.float32, torch.float64):
        generator = torch.Generator().manual_seed(seed)
        scores = torch.randn(LENGTH, LENGTH, generator=generator, dtype=dtype)
        mask = random_masks(generator)["causal"]
        for gap in GAPS:
            shifted = torch.where(mask, scores, scores + gap)
            reference = mask_before(shifted.double(), mask)
            for method in ("before", "after"):
                weights = METHODS[method](shifted, mask)
                error = relative_difference(weights, reference) if bool(weights.isfinite().all()) else None
                errors.setdefault(f"{method} {str(dtype).removeprefix('torch.')}", []).append(error)
    return errors


def measure_empty_row() -> dict[str, str]:
    """Return the weights of a query that may read nothing: `nan`, `zero` or `uniform`."""
    scores, mask = torch.tensor([[1.0, 2.0, 3.0]]), torch.zeros(1, 3, dtype=torch.bool)
    kinds = {name: describe_weights(method(scores, mask)) for name, method in METHODS.items()}
    values = torch.eye(3).unsqueeze(0)
    fused = torch.nn.functional.scaled_dot_product_attention(torch.ones(1, 1, 3), values, values, attn_mask=mask)
    return kinds | {"fused": describe_weights(fused[0])}


def describe_weights(weights: Tensor) -> str:
    if bool(weights.isnan().any()):
        return "nan"
    return "zero" if not bool(weights.any()) else "uniform" if bool((weights == weights[0, 0]).all()) else "other"


def measure(options: MeasureOptions) -> dict[str, Any]:
    ordinary = [measure_ordinary_scores(seed) for seed in options.seeds]
    return {
        "gaps": list(GAPS),
        "ordinary": {
            group: {name: [seed[group][name] for seed in ordinary] for name in ordinary[0][group]}
            for group in ordinary[0]
        },
        "by_gap": [measure_gaps(seed) for seed in options.seeds],
        "empty_row": measure_empty_row(),
    }


def worst_ordinary(values: Values, method: str, dtype: str) -> float:
    return float(max(max(seeds) for seeds in values["ordinary"][f"{method} {dtype}"].values()))


def first_broken_gap(values: Values) -> int | None:
    """Return the smallest gap at which masking after gives 0/0 in float32 with some seed."""
    broken = [
        gap
        for i, gap in enumerate(values["gaps"])
        if any(seed["after float32"][i] is None for seed in values["by_gap"])
    ]
    return min(broken, default=None)


def worst_before(values: Values) -> float:
    """Return the largest error of masking before, over all gaps, in float32."""
    return float(max(max(seed["before float32"]) for seed in values["by_gap"]))


def claims(values: Values) -> list[Claim]:
    worst = {dtype: worst_ordinary(values, "after", dtype) for dtype in TOLERANCE}
    equal = all(worst[dtype] <= tolerance for dtype, tolerance in TOLERANCE.items())
    gap = first_broken_gap(values)
    exact = f"{worst_before(values):.0e}"
    source = Text(
        "Vaswani et al. 2017, section 3.2.3, and notes on it", "Vaswani et al. 2017, 3.2.3절과 그에 대한 노트"
    )
    shown = {dtype: f"{value:.0e}" for dtype, value in worst.items()}
    return [
        Claim(
            source=source,
            says=Text(
                "Masking with −∞ before the softmax and zeroing with renormalization after it give the same numbers.",
                "소프트맥스 전에 −∞로 가린 값과, 소프트맥스 후에 0으로 만들고 다시 정규화한 값은 같다.",
            ),
            ran=Text(
                "Causal, padding and random masks on normal queries, keys and values; weights, contexts, gradients.",
                "정규분포 쿼리·키·값에 인과·패딩·무작위 마스크; 가중치, 문맥 벡터, 그래디언트를 비교.",
            ),
            seen=Text(
                f"Largest relative difference {shown['float32']} in float32, {shown['float64']} in float64.",
                f"최대 상대 차이: float32에서 {shown['float32']}, float64에서 {shown['float64']}.",
            ),
            verdict="holds" if equal else "fails",
        ),
        Claim(
            source=source,
            says=Text("The same, for any finite scores.", "위와 같은 주장을 모든 유한한 점수로 넓힌 경우."),
            ran=Text(
                "Illegal scores larger than legal ones by a growing gap; a query that may read nothing.",
                "금지된 위치의 점수를 허용된 위치보다 점점 크게 함; 아무것도 읽을 수 없는 쿼리.",
            ),
            seen=Text(
                f"Masking after gives 0/0 from a gap of {gap} in float32; masking before has an error of {exact}."
                if gap is not None
                else "No 0/0 up to the largest gap.",
                f"float32에서 차이 {gap}부터 소프트맥스 후 마스킹은 0/0이 됨; 전에 마스킹하면 오차가 {exact} 이하."
                if gap is not None
                else "가장 큰 차이에서도 0/0이 없음.",
            ),
            verdict="fails" if gap is not None else "holds",
        ),
    ]


def difference_table(values: Values, language: Language) -> Table:
    methods = {
        "after": Text("zero and renormalize after", "후에 0으로 만들고 정규화"),
        "large-negative": Text("−10⁹ before", "전에 −10⁹"),
    }
    names = {
        "weights": Text("weights", "가중치"),
        "context": Text("context", "문맥"),
        "query gradient": Text("∂ query", "∂ 쿼리"),
        "key gradient": Text("∂ key", "∂ 키"),
        "value gradient": Text("∂ value", "∂ 값"),
    }
    rows = []
    for group, tensors in values["ordinary"].items():
        method, dtype = group.split(" ")
        rows.append(
            [
                f"{methods[method][language]}, {dtype}",
                *(f"{worst:.1e}" if (worst := max(tensors[name])) else "0" for name in names),
            ]
        )
    return Table([Text("method", "방법")[language], *(name[language] for name in names.values())], rows)


def empty_row_table(values: Values, language: Language) -> Table:
    methods = {
        "before": Text("−∞ before", "전에 −∞"),
        "after": Text("zero and renormalize after", "후에 0으로 만들고 정규화"),
        "large-negative": Text("−10⁹ before", "전에 −10⁹"),
        "fused": Text("torch's fused kernel", "torch의 통합 커널"),
    }
    kinds = {
        "nan": Text("NaN", "NaN"),
        "zero": Text("all zero", "모두 0"),
        "uniform": Text("uniform over forbidden positions", "금지된 위치에 균등"),
        "other": Text("other", "그 외"),
    }
    header = [Text("method", "방법")[language], Text("weights", "가중치")[language]]
    rows = [[name[language], kinds[values["empty_row"][key]][language]] for key, name in methods.items()]
    return Table(header, rows)


def figure(values: Values) -> Figure:
    drawing, (axes,) = new_figure(width=6.6)
    styles = line_styles()
    for group, label in {
        "after float32": "after, float32",
        "after float64": "after, float64",
        "before float32": "before (−∞), float32",
    }.items():
        points = [
            (gap, max(errors))
            for i, gap in enumerate(values["gaps"])
            if None not in (errors := [seed[group][i] for seed in values["by_gap"]])
        ]
        axes.plot(*zip(*points, strict=True), label=label, **next(styles)._asdict())
    gap = first_broken_gap(values)
    if gap is not None:
        axes.axvspan(gap, max(values["gaps"]), color="#D55E00", alpha=0.12, linewidth=0)
        axes.text(gap + 1, 1e-10, "after,\nfloat32:\n0/0", fontsize=10)
    axes.set_yscale("log")
    axes.set_xlabel("illegal scores minus legal scores")
    axes.set_ylabel("largest relative error of the weights")
    axes.set_title("Mask after the softmax or before it")
    axes.legend()
    return drawing


STUDY = Study(
    name="mask",
    title=Text("Mask before or after the softmax", "마스크: softmax 전과 후"),
    measure=measure,
    claims=claims,
    figure=figure,
    tables={"differences": difference_table, "empty-row": empty_row_table},
)
