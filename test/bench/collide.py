"""make bench-collide: what the forecast and the guard cost, beside /bin/true and 'git log'.

10,000 commits of 2,000 files, 10,000 beads that each declare two of them; then 50,000 files and 1,000 reservations.
Ratios are of medians taken in one run, with the commands interleaved.

usage: collide.py BUILD [--rounds N] [--commits N] [--beads N] [--files N]"""
import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile

import agents
import beads
import bench

FOLDERS, EACH = 100, 20
GIT, SH = shutil.which("git"), shutil.which("sh")


def path_of(rng, folder):
    return f"src/part{folder}/file{rng.randrange(EACH)}.c"


def make_history(folder, count):
    """Commits of files of one folder, of which every third also changes a file that many change."""
    rng, out, mark = random.Random(count), [], 0
    for n in range(count):
        part = rng.randrange(FOLDERS)
        files = {path_of(rng, part) for _ in range(rng.randrange(1, 6))} | ({"doc/all.md"} if n % 3 == 0 else set())
        out.append(f"commit refs/heads/main\ncommitter n <n@example.org> {1_700_000_000 + n} +0000\ndata 1\nx\n")
        for file in sorted(files):
            mark += 1
            text = f"{n} {mark}\n"
            out.append(f"M 644 inline {file}\ndata {len(text)}\n{text}\n")
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input="".join(out).encode(), check=True)
    subprocess.run(["git", "symbolic-ref", "HEAD", "refs/heads/main"], cwd=folder, check=True)


def touches(number):
    rng = random.Random(number)
    part = rng.randrange(FOLDERS)
    return {"touches": sorted({path_of(rng, part), path_of(rng, part)})}


def show(name, row, base, goal, unit="×"):
    value = row["median_us"] / base
    print(f"{name:44} {row['median_us'] / 1000:>8.2f} ms {value:>7.2f}{unit:2} ≤ {goal}{unit}", flush=True)


def forecast(build, folder, args):
    folder.mkdir()
    bead = beads.fill(build / "bin" / "bd", folder, args.beads, touches)
    make_history(folder, args.commits)
    sync, home = build / "libexec" / "abacus-sync", folder / ".git" / "abacus"
    head = subprocess.run([GIT, "rev-parse", "main"], cwd=folder, check=True, capture_output=True).stdout.decode().strip()
    read = f"rm -f {home}/history.db; exec {sync} learn {folder}/.git --prefix bd --also {head}"
    log, learn = bench.measure(build, max(3, args.rounds // 10), folder, [
        [GIT, "log", "--no-merges", "--name-only", "main"], [SH, "-c", read]])
    print(f"{args.commits:,} commits, {args.beads:,} beads\n")
    show("git log --name-only", log, log["median_us"], 1)
    show("reading the history for the first time", learn, log["median_us"], 3)
    bd = build / "bin" / "bd"
    true, ready, parallel, conflicts = bench.measure(build, args.rounds, folder, [
        [bench.TRUE], [bd, "ready"], [bd, "ready", "--parallel", "8"], [bd, "conflicts", bead]])
    for name, row, goal in (("/bin/true", true, 1), ("bd ready", ready, 3), ("bd ready --parallel 8", parallel, 5),
                            (f"bd conflicts {bead}", conflicts, "–")):
        show(name, row, true["median_us"], goal)


def guard(build, folder, args):
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run([build / "bin" / "abacus", "init"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    agents.fill(build / "bin" / "bb", folder, 1000, 1000)
    for n in range(args.files):
        path = folder / f"src/part{n % 1000}/file{n}.c"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
    asked = folder / ".git" / "asked.json"
    print(f"\n{args.files:,} files, 1,000 reservations\n")
    rows = []
    for file, refused in (("src/part7/file7.c", True), ("doc/part/new.md", False)):
        asked = folder / ".git" / f"asked-{refused}.json"
        asked.write_text(json.dumps({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": str(folder),
                                     "tool_name": "Write", "tool_input": {"file_path": str(folder / file)}}))
        command = f"exec {build}/bin/vybe hook handle --host claude <{asked}"
        reply = subprocess.run([SH, "-c", command], cwd=folder, check=True, capture_output=True).stdout
        assert (b"deny" in reply) == refused, reply
        rows.append(("refused" if refused else "allowed", [SH, "-c", command]))
    for (name, _), row in zip(rows, bench.measure(build, args.rounds, folder, [command for _, command in rows])):
        show(f"the guard before a tool, {name}", row, 1000, 10, " ms")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--commits", type=int, default=10_000)
    parser.add_argument("--beads", type=int, default=10_000)
    parser.add_argument("--files", type=int, default=50_000)
    args = parser.parse_args()
    os.environ.update({"ABACUS_AUTOSYNC": "0", "BD_ACTOR": agents.AGENTS[1], "ABACUS_AGENT": agents.AGENTS[1]})
    with tempfile.TemporaryDirectory(prefix="abacus-collide-") as top:
        forecast(args.build.resolve(), pathlib.Path(top) / "forecast", args)
        guard(args.build.resolve(), pathlib.Path(top) / "guard", args)


if __name__ == "__main__":
    main()
