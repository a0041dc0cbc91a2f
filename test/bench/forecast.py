#!/usr/bin/env python3
"""forecast: how well `bd conflicts` foretells which commits change the same file.

    test/bench/forecast.py [REPOSITORY]

The newest fifth of a repository's commits is held out. Abacus gets a clone without them, and a bead for each of them
that declares one of its files: the first one in the order of the alphabet, and again the one that its commit changed
most. For every two of those commits that are at most 20 commits apart (work that could have been done at once), the
question is: do they change a file in common? Printed are precision and recall of two answers: of the forecast, and of
the guess that two commits collide if the declared files are in one folder.
"""
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BD = str(pathlib.Path(os.environ.get("ABACUS_BUILD", ROOT / "build")).resolve() / "bin" / "bd")
NEAR, FILES_MOST = 20, 100


def git(path, *args):
    return subprocess.run(["git", *args], cwd=path, check=True, capture_output=True).stdout.decode()


def bd(path, *args):
    env = {**os.environ, "ABACUS_AUTOSYNC": "0", "BD_ACTOR": "forecast"}
    return json.loads(subprocess.run([BD, *args, "--json"], cwd=path, check=True, capture_output=True, env=env).stdout)


def commits(path):
    """Every commit but merges and large ones, oldest first: its name, and the lines that it changed in each file."""
    text = git(path, "log", "--reverse", "--no-merges", "--no-renames", "--numstat", "--format=%x00%H")
    for part in text.split("\0")[1:]:
        name, *rows = part.strip().split("\n")
        cells = [row.split("\t", 2) for row in rows if row]
        files = {file: sum(int(n) for n in (more, less) if n != "-") for more, less, file in cells}
        if 0 < len(files) <= FILES_MOST:
            yield name, files


def answers(path, base, held, declared, limit):
    """The pairs that the forecast says collide."""
    with tempfile.TemporaryDirectory() as folder:
        clone = os.path.join(folder, "clone")
        git(folder, "clone", "-q", "--no-local", path, "clone")
        git(clone, "checkout", "-q", "-B", "held-out", base)
        for branch in git(clone, "for-each-ref", "--format=%(refname:short)", "refs/heads").split():
            if branch != "held-out":
                git(clone, "branch", "-q", "-D", branch)
        bd(clone, "init", "--prefix", "f")
        number = {}
        for n, file in enumerate(declared):
            number[bd(clone, "create", f"commit {n}", "--touches", file.replace("*", "_"))["id"]] = n
        found = set()
        for start in range(0, len(declared), 400):  # 'bd conflicts' looks at the first 500 ready beads
            ids = [bead for bead, n in number.items() if start <= n < start + 400]
            for one in bd(clone, "conflicts", *ids, "-n", "0", "--min-score", str(limit)):
                found.add(tuple(sorted((number[one["a"]["id"]], number[one["b"]["id"]]))))
        return found


def score(name, said, true):
    right = len(said & true)
    precision, recall = right / len(said) if said else 0, right / len(true) if true else 0
    f1 = 2 * precision * recall / (precision + recall) if right else 0
    print(f"| {name} | {len(said)} | {precision:.0%} | {recall:.0%} | {f1:.2f} |")


def main():
    path = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ROOT)
    limit = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    log = list(commits(path))
    cut = len(log) * 4 // 5
    held = log[cut:]
    near = [(a, b) for a, b in itertools.combinations(range(len(held)), 2) if b - a <= NEAR]
    true = {(a, b) for a, b in near if held[a][1].keys() & held[b][1].keys()}
    print(f"{len(log)} commits, {len(held)} held out, {len(near)} pairs, of which {len(true)} share a file\n")
    for rule, pick in (("first file", min), ("most changed file", None)):
        declared = [pick(files) if pick else max(sorted(files), key=files.get) for _, files in held]
        print(f"declared: the {rule} of each commit\n\n| answer | pairs | precision | recall | F1 |\n"
              "| --- | --- | --- | --- | --- |")
        said = answers(path, log[cut - 1][0], held, declared, limit) & set(near)
        score("forecast", said, true)
        same = {(a, b) for a, b in near if os.path.dirname(declared[a]) == os.path.dirname(declared[b])}
        score("same folder", same, true)
        print()


if __name__ == "__main__":
    main()
