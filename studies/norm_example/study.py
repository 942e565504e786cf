"""Normalization by example: one node with outputs 3, 5, −2; vectors and their batch; a batch of one.

Ioffe and Szegedy 2015 (batch), Ba, Kiros, Hinton 2016 (layer), Wu and He 2018 (group).
"""

from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from studies.figures import COLORS, draw_seeds, line_styles, new_figure
from studies.intervals import combine_verdicts, mean_interval, verdict_above, verdict_below
from studies.study import Claim, Language, MeasureOptions, Study, Table, Text, Values, table_in
from tongsa.nn.norms import NormKind, build_norm

NODE_OUTPUTS = (3.0, 5.0, -2.0)
KINDS: tuple[NormKind, ...] = ("batch", "layer", "group")
NAMES = {"batch": Text("batch norm", "배치 정규화"), "layer": Text("layer norm", "층 정규화")}
NAMES["group"] = Text("group norm", "그룹 정규화")
WIDTH, GROUPS = 64, 8
BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
DRAWS = 200
ROUNDING = 1e-5


def normalize(norm: nn.Module, values: Tensor) -> Tensor:
    """Apply a norm to vectors (batch, width), as a batch of sentences of one token."""
    output: Tensor = norm(values.unsqueeze(1), torch.ones(len(values), 1, dtype=torch.bool))
    return output.squeeze(1).detach()


def worked_example() -> dict[str, list[float]]:
    """Return the node's outputs over a batch of three, by hand and by the layer; and layer norm of the same vector."""
    values = torch.tensor(NODE_OUTPUTS)
    mean, variance = values.mean(), values.var(correction=0)
    batch = normalize(build_norm("batch", 1, 1).train(), values.unsqueeze(1)).squeeze(1)
    layer = normalize(build_norm("layer", 3, 1), values.unsqueeze(0)).squeeze(0)
    return {
        "mean": [float(mean)],
        "variance": [float(variance)],
        "by_hand": ((values - mean) / (variance + 1e-5).sqrt()).tolist(),
        "batch_norm": batch.tolist(),
        "layer_norm": layer.tolist(),
    }


def batch_dependence(kind: NormKind, batch_size: int, seed: int) -> float:
    """Return how much a vector's normalized value varies with the other vectors of its batch.

    Root mean square of the deviation from the mean over many batches, in units of the normalized values' own size.
    """
    generator = torch.Generator().manual_seed(seed)
    vector = torch.randn(1, WIDTH, generator=generator)
    norm = build_norm(kind, WIDTH, GROUPS).train()
    outputs = []
    for _ in range(DRAWS):
        others = torch.randn(batch_size - 1, WIDTH, generator=generator)
        outputs.append(normalize(norm, torch.cat([vector, others]))[0])
    stacked = torch.stack(outputs)
    return float((stacked - stacked.mean(0)).square().mean().sqrt())


def batch_of_one(kind: NormKind, seed: int) -> float:
    """Return the largest output for a batch of one vector: 0 if nothing of it is left."""
    vector = torch.randn(1, WIDTH, generator=torch.Generator().manual_seed(seed))
    return float(normalize(build_norm(kind, WIDTH, GROUPS).train(), vector).abs().max())


def one_group_difference(seed: int) -> float:
    """Return the largest difference between a layer norm and a group norm with one group."""
    vectors = torch.randn(16, WIDTH, generator=torch.Generator().manual_seed(seed))
    return float(
        (normalize(build_norm("layer", WIDTH, 1), vectors) - normalize(build_norm("group", WIDTH, 1), vectors))
        .abs()
        .max()
    )


def measure(options: MeasureOptions) -> dict[str, Any]:
    sizes = BATCH_SIZES[::4] if options.quick else BATCH_SIZES
    return {
        "example": worked_example(),
        "batch_sizes": list(sizes),
        "dependence": {
            kind: [[batch_dependence(kind, size, seed) for seed in options.seeds] for size in sizes] for kind in KINDS
        },
        "batch_of_one": {kind: [batch_of_one(kind, seed) for seed in options.seeds] for kind in KINDS},
        "one_group_difference": [one_group_difference(seed) for seed in options.seeds],
    }


def example_error(values: Values) -> float:
    example = values["example"]
    return float(max(abs(a - b) for a, b in zip(example["by_hand"], example["batch_norm"], strict=True)))


def show_numbers(numbers: list[float]) -> str:
    return ", ".join(f"{number:.3f}".replace("-", "−") for number in numbers)


def claims(values: Values) -> list[Claim]:
    example = values["example"]
    error, shown = example_error(values), show_numbers(example["batch_norm"])
    smallest = mean_interval(values["dependence"]["batch"][1])
    others = max(max(seeds) for kind in ("layer", "group") for seeds in values["dependence"][kind])
    alone = {kind: mean_interval(values["batch_of_one"][kind]) for kind in KINDS}
    group = max(values["one_group_difference"])
    size = values["batch_sizes"][1]
    return [
        Claim(
            source=Text("Ioffe and Szegedy 2015, algorithm 1; notes", "Ioffe와 Szegedy 2015, 알고리즘 1; 노트"),
            says=Text(
                "A node with outputs 3, 5, −2 over the batch is normalized by their mean and variance.",
                "배치에서 한 노드의 출력 3, 5, −2는 그 평균과 분산으로 정규화된다.",
            ),
            ran=Text("tongsa's batch norm of width 1 on three tokens.", "너비 1인 tongsa의 배치 정규화에 토큰 세 개."),
            seen=Text(
                f"Mean {example['mean'][0]:.0f}, variance {example['variance'][0]:.3f}: {shown}; by hand the same "
                f"(difference {error:.0e}).",
                f"평균 {example['mean'][0]:.0f}, 분산 {example['variance'][0]:.3f}: {shown}; 손으로 계산한 값과 같음"
                f"(차이 {error:.0e}).",
            ),
            verdict="holds" if error < ROUNDING else "fails",
        ),
        Claim(
            source=Text(
                "Ba et al. 2016, section 3; Wu and He 2018, section 3", "Ba et al. 2016, 3절; Wu와 He 2018, 3절"
            ),
            says=Text(
                "Layer and group norm do not depend on the other examples of the batch, batch norm does.",
                "층 정규화와 그룹 정규화는 배치의 다른 예에 좌우되지 않고, 배치 정규화는 좌우된다.",
            ),
            ran=Text(
                "The same vector in batches of random other vectors; deviation of its normalized value.",
                "같은 벡터를 무작위 벡터들과 함께 배치에 넣고 정규화된 값의 편차를 잼.",
            ),
            seen=Text(
                f"Batch of {size}: batch norm {smallest.show()}; layer and group norm at most {others:.0e}.",
                f"배치 {size}: 배치 정규화 {smallest.show()}; 층·그룹 정규화는 {others:.0e} 이하.",
            ),
            verdict=combine_verdicts([verdict_above(smallest), "holds" if others < ROUNDING else "fails"]),
        ),
        Claim(
            source=Text("Wu and He 2018, section 1; notes", "Wu와 He 2018, 1절; 노트"),
            says=Text(
                "With a batch of one, batch norm cannot work; layer and group norm are unchanged.",
                "배치 크기가 1이면 배치 정규화는 작동하지 않고, 층·그룹 정규화는 그대로이다.",
            ),
            ran=Text("One vector in training mode; largest output.", "학습 모드에서 벡터 하나; 가장 큰 출력."),
            seen=Text(
                f"Batch norm {alone['batch'].show()}, layer norm {alone['layer'].show()}, group norm "
                f"{alone['group'].show()}.",
                f"배치 정규화 {alone['batch'].show()}, 층 정규화 {alone['layer'].show()}, 그룹 정규화 "
                f"{alone['group'].show()}.",
            ),
            verdict=combine_verdicts(
                [verdict_below(alone["batch"], ROUNDING), *(verdict_above(alone[kind], 1.0) for kind in KINDS[1:])]
            ),
        ),
        Claim(
            source=Text("Wu and He 2018, section 3.1", "Wu와 He 2018, 3.1절"),
            says=Text("A group norm with one group is a layer norm.", "그룹이 하나인 그룹 정규화는 층 정규화이다."),
            ran=Text("Both on the same random vectors.", "같은 무작위 벡터에 둘을 적용."),
            seen=Text(f"Largest difference {group:.0e}.", f"최대 차이 {group:.0e}."),
            verdict="holds" if group < ROUNDING else "fails",
        ),
    ]


def example_table(values: Values, language: Language) -> Table:
    example = values["example"]
    header = [Text("output", "출력"), *(f"{output:g}".replace("-", "−") for output in NODE_OUTPUTS)]
    names = {
        "batch_norm": Text("batch norm: one node, three examples", "배치 정규화: 노드 하나, 예 세 개"),
        "layer_norm": Text("layer norm: one example, three nodes", "층 정규화: 예 하나, 노드 세 개"),
    }
    rows = [[text, *show_numbers(example[name]).split(", ")] for name, text in names.items()]
    return table_in(language, header, rows)


def dependence_table(values: Values, language: Language) -> Table:
    header = [Text("batch size", "배치 크기"), *(NAMES[kind] for kind in KINDS)]
    rows = [
        [str(size), *(mean_interval(values["dependence"][kind][i]).show(3) for kind in KINDS)]
        for i, size in enumerate(values["batch_sizes"])
    ]
    return table_in(language, header, rows)


def figure(values: Values) -> Figure:
    drawing, axes = new_figure(columns=2, width=4.8)
    positions = range(len(NODE_OUTPUTS))
    axes[0].bar([i - 0.2 for i in positions], NODE_OUTPUTS, 0.4, color=COLORS[0], label="output of the node")
    normalized = values["example"]["batch_norm"]
    axes[0].bar([i + 0.2 for i in positions], normalized, 0.4, color=COLORS[1], hatch="//", label="batch norm")
    axes[0].axhline(0, color="black", linewidth=0.8)
    axes[0].set_xticks(list(positions), [f"example {i + 1}" for i in positions])
    axes[0].set_title("One node, a batch of three")
    axes[0].legend()
    styles = line_styles()
    for kind in KINDS:
        draw_seeds(axes[1], values["batch_sizes"], values["dependence"][kind], NAMES[kind].en, next(styles))
    axes[1].set_xscale("log", base=2)
    axes[1].set_xticks(values["batch_sizes"], [str(size) for size in values["batch_sizes"]])
    axes[1].set_xlabel("batch size")
    axes[1].set_ylabel("deviation of the normalized vector")
    axes[1].set_title("The same vector in other batches")
    axes[1].legend()
    return drawing


STUDY = Study(
    name="norm_example",
    title=Text("Batch, layer and group norm by example", "예로 보는 배치·층·그룹 정규화"),
    measure=measure,
    claims=claims,
    figure=figure,
    tables={"example": example_table, "dependence": dependence_table},
)
