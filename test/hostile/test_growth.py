"""The cost of a request with an id does not grow with their number: 'make bench-requests' measures a million."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

from conftest import BIN, ROOT, environment

sys.path.append(str(ROOT / "test" / "bench"))
from growth import Store  # noqa: E402

NOISE = 20  # ms: the system counts the CPU time of a process in ticks of 10 ms


@pytest.fixture
def quick_folder(tmp_path):
    """In memory if the system supports it, because 8,000 syncs of a disk take a minute."""
    memory = "/dev/shm"
    folder = tempfile.mkdtemp(prefix="abacus-growth-", dir=memory if os.access(memory, os.W_OK) else tmp_path)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the CPU time of a process from /proc")
def test_the_8000th_request_costs_what_the_first_ones_did(quick_folder):
    """Measured in CPU time, because the wall clock depends on the load. Every thousand requests include a cut of the
    journal."""
    store = Store(BIN, quick_folder)
    first, first_slowest = store.update(2000)
    before = store.measure()
    store.update(4000)
    last, last_slowest = store.update(2000)
    after = store.measure()
    store.close()
    assert last < 2 * first, (first, last)
    assert last_slowest < 3 * first_slowest + NOISE, (first_slowest, last_slowest)
    assert after["journal"] < 2 * before["journal"], (before, after)
    for command in ("list", "update", "rebuild"):
        assert after[command] < 2 * before[command] + NOISE, (command, before, after)
    assert after["sync"] < 4 * before["sync"] + NOISE, (before, after)  # each receipt is in another page of the index


@pytest.mark.skipif(sys.platform != "linux", reason="reads the CPU time of a process from /proc")
def test_the_4000th_message_costs_what_the_first_ones_did(quick_folder):
    """With a request id, which has to be recognised even if the sender died before storing the receipt."""
    store = Store(BIN, quick_folder)
    for name in ("amber-otter", "blue-fox"):
        store.call("agent register", name=name, role="x")
    store.call("bead create", title="the bead of the messages", id="bd-1")
    used = []
    for part in range(4):
        before = store.cpu()
        for i in range(1000):
            store.call("agent send", **{"from": "amber-otter"}, to="blue-fox", bead="bd-1", category="INFO",
                       subject="s", body="y" * 8000, request_id=f"{part}-{i}")
        used.append(store.cpu() - before)
    store.close()
    assert used[3] < 2 * used[0], used


def test_a_pipe_with_requests_in_its_queue_ends_on_sigterm(plain_repo, tmp_path):
    """It finishes the current request and starts no other. It cannot send all replies, because they are not read."""
    plain_repo.bd("init", "--prefix", "bd").ok()
    lines = tmp_path / "requests"
    lines.write_text("".join(json.dumps({"op": "bead create", "params": {"title": f"bead {i}", "request_id": f"r{i}"}})
                             + "\n" for i in range(5000)))
    with lines.open() as requests:
        pipe = subprocess.Popen([str(BIN / "abacus"), "pipe"], stdin=requests, stdout=subprocess.PIPE,
                                cwd=plain_repo.path, env=environment(**plain_repo.env))
    assert "data" in json.loads(pipe.stdout.readline())
    pipe.send_signal(signal.SIGTERM)
    assert pipe.wait(timeout=30) == 0
    assert 0 < len(plain_repo.json("list", "--limit", "0")) < 5000
    pipe.stdout.close()
