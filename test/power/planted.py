#!/usr/bin/env python3
"""planted: plants a bug in a copy of the source, and shows that power.py or crowd.py finds it.

    test/power/planted.py [NAME...]

Each bug is one edit. The copy is built with FAULTS=1 in a folder of its own, which is removed at the end.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
POWER, CROWD = ROOT / "test/power/power.py", ROOT / "test/crowd/crowd.py"

# name: (file, text, its replacement, the command that has to find it)
BUGS = {
    "a missing fsync": (
        "src/store/journal.c", 'return platform_sync(fd) ? file_fail(c, "sync the journal in", dir) : ERR_OK;',
        "(void)c, (void)dir, (void)fd;\n\treturn ERR_OK;",
        [POWER, "--states", "60", "bd-create"]),
    "a rename before its data is synced": (
        "src/base/system/file_at.c", "buf_write(content, fd) &&\n\t    (fault_point(), platform_sync(fd) == 0))",
        "buf_write(content, fd))",
        [POWER, "--states", "200", "bd-config"]),
    "a cache trusted too long": (
        "src/store/db/bead_cache.c", "if (!boot.n || !str_eq(boot, bead_cache_boot(c)))", "if (!boot.n)",
        [POWER, "--states", "400", "bd-create", "bd-close"]),
    "a lost wakeup": (
        "src/agents/waiting.c", 'at[0] = (struct watch_at){ path_join(&c->mem, f->home, STR("messages")),',
        'at[0] = (struct watch_at){ path_join(&c->mem, f->home, STR("reservations")),',
        [CROWD, "--seeds", "60", "--clones", "2", "--turns", "12", "--most", "1"]),
    "an epoch that repeats": (
        "src/agents/reservation.c", "*out = reservation_renewed(c, ask, key, b.epoch + 1,",
        "*out = reservation_renewed(c, ask, key, b.epoch ? b.epoch : 1,",
        [CROWD, "--seeds", "60", "--clones", "2", "--turns", "24", "--most", "1"]),
}


def plant(name, folder):
    """Builds a copy with the bug; the found violations, or None if it was not found."""
    file, old, new, command = BUGS[name]
    for part in ("src", "web", "tools", "Makefile", "VERSION", "doc", "skills"):
        source = ROOT / part
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / part)
    path = folder / file
    text = path.read_text()
    assert text.count(old) == 1, f"{file} has changed: {old!r} is in it {text.count(old)} times"
    path.write_text(text.replace(old, new))
    compiler = [f"CC={os.environ['CC']}"] if "CC" in os.environ else []
    subprocess.run(["make", "-s", f"-j{os.cpu_count()}", "FAULTS=1", "OUT=build", *compiler, "all"], cwd=folder, check=True)
    done = subprocess.run([sys.executable, *map(str, command), "--build", folder / "build"], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout if done.returncode else None


def main():
    missed = 0
    for name in sys.argv[1:] or BUGS:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="abacus-planted-"))
        try:
            found = plant(name, folder)
        finally:
            shutil.rmtree(folder)
        missed += not found
        print(f"{name}: {'found' if found else 'NOT FOUND'} by {BUGS[name][3][0].name} {' '.join(BUGS[name][3][1:])}")
        for line in (found or "").splitlines()[:6]:
            print("    " + line[:160])
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
