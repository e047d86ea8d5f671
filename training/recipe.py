"""Every number that shapes the weights, in one frozen place. The defaults are what the shipped model uses."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace


@dataclass(frozen=True)
class Recipe:
    epochs: int = 3
    batch: int = 256
    learning_rate: float = 2e-4
    warmup: float = 0.1
    weight_decay: float = 0.01
    scale: float = 30.0  # inverse temperature of the contrastive loss
    reverse_weight: float = 0.3  # tool → request, beside request → tool
    short_share: float = 0.4  # how often a tool is shown by a shorter text
    block_share: float = 0.5  # share of a batch that is filled by blocks of one server
    block_size: int = 8
    hard_negatives: int = 3  # mined tools per request, re-mined before every epoch
    hard_from_epoch: int = 1
    hard_ceiling: float = 0.95  # a mined tool scoring above this share of the right one may be right itself
    twin_similarity: float = 0.95  # tools this alike are never negatives of each other
    joined_share: float = 0.15  # how often a request is joined with others of the batch into one of several needs
    freeze_words: bool = True  # keep the base's word embeddings, so that words never trained on stay where they are
    layer_decay: float = 1.0  # the learning rate of each layer is this share of the one above it
    anchor_weight: float = 0.0  # pull towards the base model's vectors on general prose
    anchor_batch: int = 256
    prose: int = 4000  # texts of general prose, for the anchor and for settling into int8
    prose_pairs: int = 2000  # sections of general prose that are trained on, asked for by their headings
    mix: float = 0.75  # share of the trained weights; the rest is the base's
    seeds: tuple[int, ...] = (11, 12, 13, 14)  # trained apart, then averaged
    extra: bool = True  # use training/data/requests_extra.jsonl
    dropout: float = 0.0
    rounding_steps: int = 300  # quantisation-aware steps after mixing
    rounding_rate: float = 5e-5
    rounding_batch: int = 256

    def changed(self, **changes: object) -> Recipe:
        unknown = set(changes) - set(asdict(self))
        if unknown:
            raise ValueError(f"no such setting: {', '.join(sorted(unknown))}")
        return replace(self, **changes)  # type: ignore[arg-type]


# How the first weights were made, to measure that recipe on servers it is not shown.
FIRST_RECIPE = Recipe(
    batch=1024,
    learning_rate=2e-4,
    block_share=0.0,
    hard_negatives=0,
    joined_share=0.0,
    freeze_words=False,
    prose_pairs=0,
    mix=0.65,
    seeds=(11,),
    extra=False,
    twin_similarity=2.0,
    rounding_steps=0,
)
