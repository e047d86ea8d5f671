"""From data to artefact with a tiny model, through the command that trains the real one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.training.tiny import HIDDEN, write_world

if TYPE_CHECKING:  # not at run time: every worker reads this file, and torch takes seconds to import
    from training.pipeline import Paths

NEEDED = ("torch", "onnx", "safetensors")
pytestmark = pytest.mark.skipif(not all(map(find_spec, NEEDED)), reason=f"needs {', '.join(NEEDED)}")
QUICK = [
    "epochs=1",
    "batch=32",
    "learning_rate=0.002",
    "seeds=[1,2]",
    "rounding_steps=3",
    "rounding_batch=16",
]
QUICK += [
    "anchor_batch=4",
    "hard_from_epoch=0",
    "block_size=4",
    "prose=12",
    "extra=false",
    "prose_pairs=4",
    "anchor_weight=1.0",
]


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Paths]:
    from training import anchors
    from training.cli import main
    from training.pipeline import Paths

    monkeypatch = pytest.MonkeyPatch()
    # Parsing all of torch for its docstrings takes longer than the rest of this file.
    monkeypatch.setattr(anchors, "PACKAGES", ("email",))
    import torch

    torch.set_num_threads(1)  # tensors this small only wait for a second thread
    folder = tmp_path_factory.mktemp("training")
    world = write_world(folder)
    paths = Paths(world["data"], world["bench"], world["catalog"], world["base"], folder / "none", folder / "out")
    assert main(_arguments("all", paths)) == 0
    yield paths
    monkeypatch.undo()
    anchors.sections.cache_clear()


def _arguments(command: str, paths: Paths) -> list[str]:
    folders = {"data": paths.data, "bench": paths.bench, "catalog": paths.catalog, "base": paths.base}
    options = [part for name, folder in folders.items() for part in (f"--{name}", str(folder))]
    documents = ["--documents", str(Path(json.__file__).parent.parent / "wsgiref")]
    changes = [part for change in QUICK for part in ("--set", change)]
    return [
        command,
        *options,
        "--first",
        str(paths.first),
        "--out",
        str(paths.out),
        "--device",
        "cpu",
        "--rounds",
        "5",
        *changes,
        *documents,
    ]


def test_the_command_leaves_an_artefact_figures_and_a_card(paths: Paths) -> None:
    from training.pipeline import SHIPPED
    from training.sets import HELD_OUT

    shipped = paths.onnx(SHIPPED)
    assert sorted(path.name for path in shipped.iterdir()) == [
        "model.onnx",
        "model_card.md",
        "tokenizer.json",
    ]
    results = json.loads((paths.out / "results.json").read_text())
    assert {"metatool", HELD_OUT, "documents"} <= set(results["sets"])
    assert "Apache-2.0" in (shipped / "model_card.md").read_text()


def test_training_moves_the_weights_and_mixing_keeps_part_of_the_base(paths: Paths) -> None:
    from training.encoder import load_weights, read_base
    from training.pipeline import SHIPPED

    base, _ = read_base(paths.base)
    trained = load_weights(paths.weights(SHIPPED))
    name = "encoder.layer.0.attention.self.query.weight"
    assert 0 < float((trained[name] - base[name]).abs().max()) < 1


def test_the_float_graph_gives_the_vectors_of_torch(paths: Paths) -> None:
    from training.encoder import load_weights
    from training.evaluate import open_session
    from training.pipeline import SHIPPED, open_bench

    bench = open_bench(paths, "cpu")
    ids, mask = bench.tokens.batch(["create my invoice", "list the photo of a server please"], "cpu")
    expected = bench.encoder(load_weights(paths.weights(SHIPPED)))(ids, mask).numpy()
    session = open_session(paths.onnx("fp32") / "model.onnx", threads=1)
    found = session.run(["embedding"], {"input_ids": ids.numpy(), "attention_mask": mask.numpy()})[0]
    assert found.shape == (2, HIDDEN)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


def test_the_int8_graph_gives_the_vectors_that_training_imitated(paths: Paths) -> None:
    from training.encoder import load_weights
    from training.evaluate import onnx_embed
    from training.pipeline import SHIPPED, open_bench

    settled = load_weights(paths.weights(SHIPPED, settled=True))
    texts = ["create my invoice", "list the photo of a server please"]
    imitated = open_bench(paths, "cpu").embed_with(settled, fake_quant=True)(texts)
    found = onnx_embed(paths.onnx(SHIPPED))(texts)
    np.testing.assert_allclose(np.sum(found * imitated, axis=1), 1, atol=2e-3)


def test_int8_stays_close_to_float(paths: Paths) -> None:
    from training.encoder import load_weights
    from training.evaluate import onnx_embed
    from training.pipeline import SHIPPED, open_bench

    texts = ["create my invoice", "please delete a song", "search the sensor"]
    exact = open_bench(paths, "cpu").embed_with(load_weights(paths.weights(SHIPPED)))(texts)
    assert np.sum(onnx_embed(paths.onnx(SHIPPED))(texts) * exact, axis=1).min() > 0.98


def test_the_same_seed_gives_the_same_weights(paths: Paths, tmp_path: Path) -> None:
    from training.cli import main
    from training.encoder import load_weights
    from training.pipeline import SHIPPED, Paths

    again = Paths(paths.data, paths.bench, paths.catalog, paths.base, paths.first, tmp_path)
    assert main(_arguments("build-pairs", again)) == 0
    assert main([*_arguments("train", again), "--no-twins"]) == 0
    first, second = load_weights(paths.weights(SHIPPED)), load_weights(again.weights(SHIPPED))
    assert all(bool((first[name] == second[name]).all()) for name in first)


def test_sweep_reports_the_validation_sets_only(paths: Paths, tmp_path: Path) -> None:
    from training.cli import main

    grid = tmp_path / "grid.json"
    grid.write_text(
        json.dumps(
            {
                "short": {
                    "epochs": 1,
                    "batch": 64,
                    "seeds": [1],
                    "rounding_steps": 2,
                    "prose": 40,
                    "prose_pairs": 0,
                    "hard_negatives": 1,
                    "extra": False,
                }
            }
        )
    )
    assert main([*_arguments("sweep", paths), "--grid", str(grid)]) == 0
    lines = [json.loads(line) for line in (paths.out / "sweep.jsonl").read_text().splitlines()]
    assert {"requests", "fictional", "metatool", "joined", "documents", "tools", "run"} == set(lines[0])
    assert any(line["run"] == "short int8 settled" for line in lines)


def test_a_wrong_setting_or_folder_is_refused_before_any_work(paths: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    from training.cli import main

    assert main([*_arguments("train", paths), "--set", "epoch=3"]) == 2
    assert "no such setting: epoch" in capsys.readouterr().err
    assert main(["train", "--base", str(paths.out / "nowhere"), "--data", str(paths.data)]) == 2
    assert "no such folder" in capsys.readouterr().err
