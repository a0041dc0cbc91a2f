"""The part of `make bench` about several machines: commands in a clone that shares, compared with one that does not."""
import os
import subprocess

COMMANDS = {
    "bb agent inbox": ["agent", "inbox", "--agent", "bold-fox"],
    "bb agent send": ["agent", "send", "--from", "amber-otter", "--to", "bold-fox", "--bead", "bd-1",
                      "--category", "INFO", "--subject", "a subject", "--body", "a body"],
    "bb log": ["log"],
    "bb post": ["--as", "amber-otter", "post", "a message of the usual length, more or less"],
}


def fill(build, folder, shares):
    """A clone with a board, two agents and a message."""
    def run(program, *args):
        subprocess.run([str(build / "bin" / program), *args], cwd=folder, check=True, stdout=subprocess.DEVNULL)

    hub = folder.parent / "hub.git"
    subprocess.run(["git", "init", "-q", "--bare", str(hub)], check=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), "remote", "add", "origin", str(hub)], check=True)
    run("bb", "init")
    for name in ("amber-otter", "bold-fox"):
        run("bb", "agent", "register", "--name", name, "--role", "bench")
    if shares:
        run("abacus", "share", "on")
    run("bb", *COMMANDS["bb agent send"])
    run("bb", *COMMANDS["bb post"])


def tables(measure, build, rounds, top):
    """The share process starts with the first write and runs during the measurement, as in normal use."""
    folders = [top / name for name in ("apart", "shared")]
    for folder in folders:
        fill(build, folder, folder.name == "shared")
    print("\nSharing on, beside sharing off; whole process, medians of one run\n")
    print(f"{'command':24} {'off':>9} {'on':>9} {'ratio':>7}  goal")
    os.environ["ABACUS_AUTOSYNC"] = "1"
    for name, args in COMMANDS.items():
        off, on = measure(build, rounds, "/", [[build / "bin" / "bb", "--dir", folder, *args] for folder in folders])
        print(f"{name:24} {off['median_us']:>6} µs {on['median_us']:>6} µs {on['median_us'] / off['median_us']:>6.2f}×"
              "  ≤ 1.1×")
    os.environ["ABACUS_AUTOSYNC"] = "0"
    subprocess.run([str(build / "bin" / "abacus"), "share", "off"], cwd=folders[1], check=True, stdout=subprocess.DEVNULL)
