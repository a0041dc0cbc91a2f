#!/usr/bin/env python3
"""power: loses power at every point of every command that writes, and looks at what is left.

    test/power/power.py [--states N] [--seed N] [--build DIR] [--jobs N] [SCENE...]

The programs have to be built with FAULTS=1 (make FAULTS=1 OUT=build/faults). Every scene is a chain of
commands (crash_scenes.py). It is recorded once with strace (recording.py); then states of the disk that a power
loss could leave are built (crash_disk.py) and opened with the programs (crash_oracle.py), as after a reboot:

  - every command that had replied is there, and repeating its request id gives the same reply;
  - the command in progress is there or not there, in each store, and can be given again;
  - nothing has to be repaired; of some states: new writes and a sync work.
"""
import argparse
import multiprocessing
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parent.parent / "helpers")]
import crash_disk  # noqa: E402
import crash_oracle  # noqa: E402
import crash_scenes  # noqa: E402
import recording  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Chain:
    """A recorded scene: the commands, what each replied, and what the stores showed after each."""

    def __init__(self, name, folder, build):
        self.name, self.world = name, crash_scenes.World(folder / "world", build)
        self.world.path.mkdir(parents=True)
        self.steps = [s for s in crash_scenes.SCENES[name](self.world) if s]
        self.recording = recording.Recording(self.world.path)
        self.oracle = crash_oracle.Oracle(self.world, folder / "scratch")
        self.before, self.after, self.replies = [], [], []  # looks before and after each command, at its time
        for n, step in enumerate(self.steps):
            self.before.append(self.snapshot(self.minute(n)))
            self.replies.append(self.recording.run(
                step.argv(build), self.world.path / step.cwd, self.world.env(self.minute(n)), folder / f"out.{n}", step.code, step.said))
            self.after.append(self.snapshot(self.minute(n)))
        wrong = [p for p in self.recording.differences() if not p.endswith("-shm")]
        assert not wrong, f"{name}: the recording does not have what the folder has: {wrong}"
        odd = [p for p in self.recording.mapped if not p.endswith("-shm")]
        assert not odd, f"{name}: written through a mapping, which cannot be recorded: {odd}"
        self.disk = crash_disk.Disk(self.recording)

    def minute(self, n):
        given = self.steps[n].minute if self.steps else None
        return 10 + n if given is None else given

    def snapshot(self, minute):
        """On a copy, because looking may write."""
        copy = f"{self.world.path}.copy"
        shutil.copytree(self.world.path, copy)
        found = self.oracle.look(copy, minute)
        shutil.rmtree(copy)
        return found

    def states(self, count, seed):
        """At most that many different states, spread over all points; simple ones first."""
        chance, seen = random.Random(f"{seed} {self.name}"), set()
        sources = []
        for upto in self.disk.points():
            sources += [[upto, "strict", self.disk.strict(upto, chance), 0], [upto, "ext4", self.disk.ext4(upto, chance), 0]]
        while sources and count:
            for source in list(sources):
                upto, model, choices, stale = source
                some, torn = next(choices, (None, None))
                told = self.disk.told(upto)
                if some is not None:
                    state = self.disk.build(upto, some, torn)
                    key = crash_disk.digest(state), told
                if some is None or key in seen:
                    source[3] += 1
                    if some is None or source[3] > 40:
                        sources.remove(source)
                    continue
                source[3] = 0
                seen.add(key)
                yield upto, model, some, torn, state, told
                count -= 1
                if not count:
                    break

    def explain(self, upto, some):
        """The events that were lost, and where the power was lost."""
        lost = [i for i in self.disk.pending(upto)[0] if i not in some]
        names = {}
        for e in self.recording.events:
            if e[0] == "entry":
                names[e[3]] = e[2]
            if e[0] == "move":
                names[e[5]] = e[4]
        for file in self.recording.base.values():
            for name, child in (file.names or {}).items():
                names.setdefault(child, name)

        def say(i):
            e = self.recording.events[i]
            if e[0] == "data":
                return f"write {names.get(e[1], e[1])}, {len(e[3])} bytes at {e[2]}"
            if e[0] == "size":
                return f"cut {names.get(e[1], e[1])} to {e[2]}"
            return {"entry": "create {2}", "gone": "remove {2}", "move": "rename {2} to {4}"}[e[0]].format(*e)
        at = self.recording.events[upto] if upto < len(self.recording.events) else ("the end",)
        point = f"sync {names.get(at[1], at[1])}" if at[0] == "sync" else " ".join(map(str, at))
        return "\n".join([f"    lost: {say(i)}" for i in lost if self.recording.events[i][1] not in self.disk.cached][:24] +
                         [f"    before event {upto}: {point}"])


def try_scene(job):
    """Returns the scene's name, the number of states, and descriptions of those that are wrong."""
    name, build, count, seed, most, deep_every = job
    began, wrong, tried = time.time(), [], 0
    shm = pathlib.Path("/dev/shm")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="abacus-power-", dir=shm if os.access(shm, os.W_OK) else None))
    try:
        chain = Chain(name, folder, build)
        for upto, model, some, torn, state, told in chain.states(count, seed):
            tried += 1
            fault = chain.oracle.judge(state, chain, told, deep=deep_every and tried % deep_every == 0)
            if fault:
                running = chain.steps[told[1] - 1] if told[1] else "nothing"
                wrong.append(f"{name}, seed {seed}, state {tried} ({model}; {len(torn)} torn writes), during '{running}' "
                             f"({told[0]} replied):\n{chain.explain(upto, some)}\n  {fault}")
                if len(wrong) >= most:
                    break
    except Exception as error:  # a scene that cannot be recorded is a failure, too
        wrong.append(f"{name}: {type(error).__name__}: {error}")
        if os.environ.get("POWER_DEBUG"):
            raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return name, tried, wrong, time.time() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("scenes", nargs="*", help="names of scenes; all of them by default")
    parser.add_argument("--build", default=os.environ.get("ABACUS_FAULTS", ROOT / "build/faults"), help="programs built with FAULTS=1")
    parser.add_argument("--states", type=int, default=20000, help="number of states over all scenes")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--most", type=int, default=3, help="stop a scene after so many losses")
    parser.add_argument("--deep", type=int, default=8, help="write and sync in each n-th state")
    parser.add_argument("--list", action="store_true", help="list the scenes")
    args = parser.parse_args()
    names = args.scenes or list(crash_scenes.SCENES)
    if args.list:
        print("\n".join(names))
        return 0
    each = args.states / sum(crash_scenes.SHARE[name] for name in names)
    build = pathlib.Path(args.build).resolve()
    jobs = [(name, build, round(each * crash_scenes.SHARE[name]) or 1, args.seed, args.most, args.deep) for name in names]
    total, bad = 0, []
    with multiprocessing.Pool(args.jobs) as pool:
        for name, tried, wrong, seconds in pool.imap_unordered(try_scene, jobs):
            total += tried
            bad += wrong
            print(f"{name:28} {tried:6} states  {len(wrong)} losses  {seconds:6.1f} s", flush=True)
            for text in wrong:
                print(text, flush=True)
    print(f"{total} states, {len(bad)} losses")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
