"""No command gets dearer unnoticed: instructions, counted by callgrind, beside those in the tree."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

BENCH = pathlib.Path(__file__).parents[1] / "bench"
BUILD = os.environ.get("ABACUS_BUILD", "build")
ALLOWED = 1.05


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_no_command_costs_more_than_the_baseline_allows(tmp_path):
    baseline, made = json.loads((BENCH / "baseline.json").read_text()), tmp_path / "made.json"
    subprocess.run([sys.executable, BENCH / "instructions.py", BUILD, "--dir", tmp_path, "--baseline", made], check=True)
    counted = json.loads(made.read_text())
    if counted["toolchain"] != baseline["toolchain"]:
        pytest.skip(f"the baseline was counted with another toolchain: {baseline['toolchain']}")
    before = baseline["instructions"]
    dearer = {command: f"{now} instructions, {now / before[command]:.2f} times the baseline"
              for command, now in counted["instructions"].items() if now > ALLOWED * before[command]}
    assert not dearer, "make it cheaper, or run 'make bench-baseline' and say why in the commit"
