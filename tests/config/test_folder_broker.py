"""The folder of messages itself, with several processes at it."""

import multiprocessing
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kombu import Connection

import config  # noqa: F401 - it names the transport

PUT_BY_EACH = 100


@contextmanager
def channel_in(folder: Path) -> Iterator[Any]:
    options = dict.fromkeys(("data_folder_in", "data_folder_out", "control_folder"), str(folder))
    with Connection("folder://localhost", transport_options=options) as broker, broker.channel() as channel:
        yield channel


def put_many(folder: Path, who: int) -> None:
    with channel_in(folder) as channel:
        for number in range(PUT_BY_EACH):
            channel._put("work", {"number": who * PUT_BY_EACH + number, "long": "x" * 500_000})


def test_messages_that_are_taken_while_others_are_put_come_whole_and_once(tmp_path: Path) -> None:
    """Kombu's own transport fails here: it takes what is still being written."""
    writers = [multiprocessing.get_context("spawn").Process(target=put_many, args=(tmp_path, who)) for who in range(2)]
    for writer in writers:
        writer.start()
    taken: list[int] = []

    def take() -> None:
        with channel_in(tmp_path) as channel:
            while len(taken) < 2 * PUT_BY_EACH and time.monotonic() < deadline:
                with suppress(queue.Empty):
                    taken.append(channel._get("work")["number"])

    deadline = time.monotonic() + 60
    readers = [threading.Thread(target=take) for _ in range(2)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    for writer in writers:
        writer.join()
    assert sorted(taken) == list(range(2 * PUT_BY_EACH))


def test_a_message_or_table_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "00_torn.work.msg").write_text("")
    (tmp_path / "pidbox.exchange").write_text("[[")
    with channel_in(tmp_path) as channel:
        channel._put("work", {"number": 1})
        assert channel._get("work") == {"number": 1}
        assert channel._size("work") == 0
        assert channel.get_table("pidbox") == []
        channel._queue_bind("pidbox", "", "", "one")
        channel._queue_bind("pidbox", "", "", "two")
        channel._queue_bind("pidbox", "", "", "two")
        channel._put_fanout("pidbox", {"number": 2}, "")
        assert [channel._get(name) for name in ("one", "two")] == [{"number": 2}] * 2
        channel._delete("one", "pidbox", "", "")
        assert [row.queue for row in channel.get_table("pidbox")] == ["two"]
