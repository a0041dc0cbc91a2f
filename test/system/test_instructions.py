"""No command gets dearer unnoticed: instructions, counted by callgrind, beside those of the last release."""
import json
import os
import pathlib
import shutil
import sys

import pytest

BENCH = pathlib.Path(__file__).parents[1] / "bench"
sys.path.insert(0, str(BENCH))
import instructions  # noqa: E402

BUILD = pathlib.Path(os.environ.get("ABACUS_BUILD", "build")).resolve()
ALLOWED = 1.05


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_no_command_costs_more_than_the_baseline_allows(tmp_path):
    baseline = json.loads((BENCH / "baseline.json").read_text())
    if instructions.toolchain(BUILD) != baseline["toolchain"]:
        pytest.skip(f"the baseline was counted with another toolchain: {baseline['toolchain']}")
    counted = instructions.fixed(BUILD, tmp_path)
    dearer = {command: f"{now} instructions, {now / baseline['instructions'][command]:.2f} times the baseline"
              for command, now in counted.items() if now > ALLOWED * baseline["instructions"][command]}
    assert not dearer, "make it cheaper, or run 'make bench-baseline' and say why in the commit"
