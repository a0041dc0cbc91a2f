#!/usr/bin/env python3
"""forecast: how well `bd conflicts` foretells which commits change the same file.

    test/bench/forecast.py [REPOSITORY] [--fifth N]

The newest fifth of a repository's commits is held out (or an older one, of the commits up to it: rules are chosen on
fifths 2 to 4). Abacus gets a clone without them, and a bead for each of them that declares one of its files: the first
one in the order of the alphabet, and again the one that its commit changed most. For every two of those commits that
are at most 20 commits apart (work that could have been done at once), the question is: do they change a file in common?

Printed are precision and recall of three answers: of the forecast from the history before the fifth; of the forecast as
it is used, where the history goes on while the beads are worked on (20 commits at a time); and of the guess that two
commits collide if the declared files are in one folder. `likeliest` is the precision of as many pairs as the folder
names, those with the highest score: it compares the two without any limit.
"""
import argparse
import itertools
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BD = str(pathlib.Path(os.environ.get("ABACUS_BUILD", ROOT / "build")).resolve() / "bin" / "bd")
NEAR, FILES_MOST, LIMIT = 20, 100, 20
LOWEST = 5  # scores below it do not matter to the top


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


def make_clone(path, folder, base):
    """A clone whose only branch ends at `base`."""
    clone = os.path.join(folder, "clone")
    git(folder, "clone", "-q", "--no-local", path, "clone")
    git(clone, "checkout", "-q", "-B", "held-out", base)
    for branch in git(clone, "for-each-ref", "--format=%(refname:short)", "refs/heads").split():
        if branch != "held-out":
            git(clone, "branch", "-q", "-D", branch)
    return clone


def forecasts(path, log, cut, declared, near):
    """The scores of the pairs: from the history before the cut, and from the history before each part."""
    with tempfile.TemporaryDirectory() as folder:
        clone = make_clone(path, folder, log[cut - 1][0])
        bd(clone, "init", "--prefix", "f")
        ids = [bd(clone, "create", f"commit {n}", "--touches", file.replace("*", "_"))["id"]
               for n, file in enumerate(declared)]
        number = {bead: n for n, bead in enumerate(ids)}

        def ask(part):
            found = bd(clone, "conflicts", *part, "-n", "0", "--min-score", str(LOWEST))
            scores = {tuple(sorted((number[one["a"]["id"]], number[one["b"]["id"]]))): one["score"] for one in found}
            return {pair: scores.get(pair, 0) for pair in near if ids[pair[0]] in part}

        frozen, used = {}, {}
        for start in range(0, len(ids), NEAR):
            frozen.update(ask(ids[start:start + NEAR]))
        for start in range(0, len(ids), NEAR):
            git(clone, "reset", "-q", "--hard", log[cut + start - 1][0])
            used.update(ask(ids[start:start + NEAR]))
        return frozen, used


def likeliest(scores, true, count):
    """The precision of the pairs with the highest scores. Of equal ones at the end, it is that of all of them."""
    order = sorted(scores.values(), reverse=True)
    last = order[count - 1]
    above = [pair for pair, score in scores.items() if score > last]
    equal = [pair for pair, score in scores.items() if score == last]
    return (len(true & set(above)) + (count - len(above)) * len(true & set(equal)) / len(equal)) / count


def row(name, scores, true, limit, count):
    said = {pair for pair, score in scores.items() if score >= limit}
    right = len(said & true)
    precision, recall = right / len(said) if said else 0, right / len(true) if true else 0
    f1 = 2 * precision * recall / (precision + recall) if right else 0
    print(f"| {name} | {len(said)} | {precision:.0%} | {recall:.0%} | {f1:.3f} | {likeliest(scores, true, count):.0%} |",
          flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("repository", nargs="?", default=str(ROOT))
    parser.add_argument("--fifth", type=int, choices=(2, 3, 4, 5), default=5)
    args = parser.parse_args()
    path = os.path.abspath(args.repository)
    log = list(commits(path))
    cut, end = len(log) * (args.fifth - 1) // 5, len(log) * args.fifth // 5
    held = log[cut:end]
    near = [(a, b) for a, b in itertools.combinations(range(len(held)), 2) if b - a <= NEAR]
    true = {(a, b) for a, b in near if held[a][1].keys() & held[b][1].keys()}
    print(f"{len(log)} commits, {len(held)} held out, {len(near)} pairs, of which {len(true)} share a file\n")
    for rule, pick in (("first file", min), ("most changed file", None)):
        declared = [pick(files) if pick else max(sorted(files), key=files.get) for _, files in held]
        folder = {(a, b): os.path.dirname(declared[a]) == os.path.dirname(declared[b]) for a, b in near}
        count = sum(folder.values())
        print(f"declared: the {rule} of each commit\n\n| answer | pairs | precision | recall | F1 | likeliest {count} |\n"
              "| --- | --- | --- | --- | --- | --- |")
        frozen, used = forecasts(path, log, cut, declared, near)
        row("forecast", frozen, true, LIMIT, count)
        row("forecast, as used", used, true, LIMIT, count)
        row("same folder", folder, true, 1, count)
        print()


if __name__ == "__main__":
    main()
