"""Heavy libraries load on first use: every process starts faster for it."""

import subprocess
import sys

from tests.processes import ROOT

CODE = """
import sys
import django
django.setup()
import config.urls
print(" ".join(sorted({name.partition(".")[0] for name in sys.modules})))
"""
HEAVY = {"bs4", "mcp", "onnxruntime", "openai", "pypdf", "semantic_text_splitter", "sentence_transformers", "torch"}


def test_a_start_loads_no_heavy_library() -> None:
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert HEAVY & set(done.stdout.split()) == set()
