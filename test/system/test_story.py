"""doc/agents.md: its output is the real output, line by line."""
import os
import re
import subprocess

from conftest import BIN, ROOT, environment

DOC = ROOT / "doc" / "agents.md"
MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def steps():
    """Each command, and its output on the page."""
    found = []
    for line in DOC.read_text().split("# The rules behind it")[0].splitlines():
        if line.startswith("    $ "):
            found.append((line[6:], []))
        elif found and line.startswith("    "):
            found[-1][1].append(line[4:])
        elif found and line == "" and found[-1][1] and found[-1][1][-1].startswith("  msg_"):
            found[-1][1].append("")
    return found


def plain(text, home):
    """Without the parts that differ from run to run."""
    text = text.replace(str(home), "/home/me")
    text = re.sub(MOMENT, "MOMENT", text)
    text = re.sub(r"\[\d+,\d+\]", "EPOCH", text)
    text = re.sub(r"(in_progress +)(now|\d+m) +", r"\1AGE ", text)
    text = re.sub(r"msg_[0-9a-f_]+", "MESSAGE", text)
    text = re.sub(r"project-[0-9a-z]{4}\b", "BEAD", text)
    return [line.rstrip() for line in text.splitlines()]


def test_the_page_shows_the_real_output(tmp_path):
    home = tmp_path / "me"
    (home / "project" / "src").mkdir(parents=True)
    (home / "project" / "src" / "login.c").write_text("int main(void) { return 0; }\n")
    env = environment(HOME=home, PATH=f"{BIN}:{os.environ['PATH']}")
    subprocess.run("git config --global user.name me; git config --global user.email me@example.org;"
                   "git init -q -b main; git add -A; git commit -qm begin", shell=True, cwd=home / "project", env=env,
                   check=True)
    names = {}
    setup = ""
    for command, said in steps():
        for old, new in names.items():
            command = command.replace(old, new)
        done = subprocess.run(["sh", "-c", f"{setup}\n{command}"], cwd=home / "project", env=env, text=True, timeout=30,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        got = done.stdout + done.stderr
        if command.startswith(("cd ", "export ")):
            setup += command + "\n"
        assert plain(got, home) == plain("\n".join(said), "/home/me"), f"$ {command}\n{got}"
        for pattern in (r"project-[0-9a-z]{4}\b", r"msg_[0-9a-f_]+"):
            shown, real = re.search(pattern, "\n".join(said)), re.search(pattern, got)
            if shown and shown.group() not in names:
                names[shown.group()] = real.group()
    assert len(names) == 2
