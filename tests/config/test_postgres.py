"""The embedded Postgres on a new data folder."""

import subprocess
import sys
from pathlib import Path

from config.postgres import EmbeddedPostgres
from tests.processes import ROOT

START = """
import sys; from pathlib import Path; from config.postgres import EmbeddedPostgres
print(EmbeddedPostgres(Path(sys.argv[1]), throwaway=True).start())
"""


def test_of_many_that_start_it_at_once_one_does_and_the_others_find_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", START, str(tmp_path)]
    pipe = subprocess.PIPE
    try:
        many = [subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True) for _ in range(3)]
        ended = [process.communicate(timeout=120) for process in many]
        assert [process.returncode for process in many] == [0, 0, 0], ended
        assert sorted(said.strip() for said, _ in ended) == ["False", "False", "True"]
    finally:
        EmbeddedPostgres(tmp_path).stop("immediate")
