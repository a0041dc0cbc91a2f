"""Every command in README.md, the guides and the reference runs as it is printed."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import BIN, ROOT, environment, git

PAGES = ["README.md", "doc/concepts.md", "doc/cookbook.md", "doc/faq.md", "doc/machines.md", "doc/moving.md", "doc/troubleshooting.md", "doc/upgrade.md",
         "doc/upstream.md"]


def blocks(page):
    return re.findall(r"^```sh\n(.*?)^```", (ROOT / page).read_text(), re.S | re.M)


@pytest.fixture
def shell(tmp_path):
    """Runs a script in a repository with a commit and a remote, as a user with a home of their own."""
    path, remote, home = tmp_path / "project", tmp_path / "remote.git", tmp_path / "home"
    for folder in (path, home):
        folder.mkdir()
    git(tmp_path, "init", "-q", "--bare", str(remote))
    git(path, "init", "-q", "-b", "main")
    git(path, "remote", "add", "origin", str(remote))
    (path / "src").mkdir()
    (path / "src" / "parse.c").write_text("int parse(void);\n")
    git(path, "add", ".")
    git(path, "commit", "-q", "-m", "begin")

    def run(script):
        return subprocess.run(["bash", "-e", "-c", script], cwd=path, capture_output=True, text=True, timeout=120,
                              env=environment(HOME=home, PATH=f"{BIN}:{os.environ['PATH']}", GIT_AUTHOR_NAME="me",
                                              GIT_AUTHOR_EMAIL="me@example.org", GIT_COMMITTER_NAME="me",
                                              GIT_COMMITTER_EMAIL="me@example.org"))

    run.path = path
    return run


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)])
def test_every_block_of_a_page_runs_in_order(shell, page):
    done = shell("\n".join(["abacus init >/dev/null", *blocks(page)]))
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text()):
        assert ((ROOT / page).parent / target).exists(), target


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_no_page_shows_commands_that_no_test_runs():
    """An indented block is output, or one of these, which a test cannot run."""
    free = {"./quickstart", "git pull && ./quickstart --no-tour"}
    for page in PAGES:
        text = re.sub(r"^```sh\n.*?^```", "", (ROOT / page).read_text(), flags=re.S | re.M)
        for line in re.findall(r"^    (\S.*)$", text, re.M):
            assert line in free, f"{page}: {line}"


def test_every_guide_is_linked_from_the_readme():
    text = (ROOT / "README.md").read_text()
    for page in sorted(pathlib.Path(ROOT / "doc").glob("*.md")):
        assert f"doc/{page.name}" in text, page.name


# --- the examples of doc/commands.md ---

STUBS = {"claude": "exit 0", "gh": "echo '[]'", "dot": "exec cat", "man": "exec cat"}  # programs of others

TEMPLATE = r"""
git config user.name me && git config user.email me@example.org
mkdir -p src/lib src/parser doc backlog .beads build.d
printf 'all:\n\t@true\n' > Makefile
for script in train announce.sh; do printf '#!/bin/sh\n' > $script; chmod +x $script; done
touch src/lib/parser.ts doc/api.md
printf '# Plan\n## First\n## Second\nneeds: First\n' > plan.md
git add . && git commit -q -m files
abacus init > /dev/null && bd init --prefix bd > /dev/null
bd config set json.dialect specification > /dev/null
for id in bd-a1b2 bd-c3d4 bd-e5f6; do bd create "Bead $id of the mandate" --id $id > /dev/null; done
for name in amber-otter cobalt-harbor; do bb agent register --name $name --role ui > /dev/null; done
bb agent send amber-otter "Take over" --as cobalt-harbor --bead bd-a1b2 --category HANDOFF -m "The tests pass." > /dev/null
for n in $(seq 42); do bb --as claude-01 post "Post $n" > /dev/null; done
bb --as claude-01 status set "OAuth2 login" > /dev/null
abacus slots set build 2 > /dev/null && abacus slots set gpu 1 > /dev/null
line='{"id":"app-a1","title":"Parser","status":"open","priority":1,"issue_type":"bug","created_at":"2026-01-02T10:00:00Z","updated_at":"2026-01-02T10:00:00Z"}'
printf '%s\n' "$line" | tee .beads/issues.jsonl > backlog/issues.jsonl
bd sync > /dev/null
"""

BEFORE = {  # what has to happen before an example
    "abacus on --remove 1": "abacus on bead.closed -- ./announce.sh",
    "abacus work done --reason \"fixed in 3f2a\"": "abacus work bd-a1b2",
    "abacus work stop": "abacus work bd-a1b2",
    "bb artifact show doc/api.md": "bb artifact add doc/api.md 'the HTTP API'",
    "bb agent release --scope 'src/parser/*' --as amber-otter": "bb agent reserve --scope 'src/parser/*' --bead bd-a1b2 --as amber-otter",
    "bb agent register --name amber-otter --role backend": "rm -r .beadboard",
    "bb-init --register amber-otter --role ui": "rm -r .beadboard",
    "bd diff ~1": "bd create another && bd sync",
    "git diff --stat | bd comment bd-a1b2 -": "echo all: >> Makefile",
    "bd label remove bd-a1b2 urgent": "bd label add bd-a1b2 urgent",
    "bd renew bd-a1b2": "bd claim bd-a1b2",
    "bd reopen bd-a1b2": "bd close bd-a1b2",
    "bd undelete bd-a1b2": "bd delete bd-a1b2 --yes",
    "bd undo": "bd update bd-a1b2 -p 0",
    "bd undo --dry-run": "bd update bd-a1b2 -p 0",
    "abacus machines rename laptop": "abacus share on",
    "abacus completion bash bb > ~/.local/share/bash-completion/completions/bb": "mkdir -p ~/.local/share/bash-completion/completions",
    "abacus move-store git": "abacus move-store workspace",
}

ELSEWHERE = {  # examples that need a terminal, run for ever, or need another machine: other tests run them
    "abacus log -f", "abacus machines rename 4f3a office", "abacus on --run", "abacus open", "abacus serve", "abacus serve --port 0",
    "bb-init --adopt amber-otter", "bd edit bd-a1b2", 'bd update bd-a1b2 --title "Better" --if-hash 4f1c…',
    "curl --unix-socket .git/abacus/serve/socket http://localhost/api/bead/ready",
}


def examples():
    found = []
    for section in re.findall(r"^Examples:\n\n((?:    .*\n)+)", (ROOT / "doc" / "commands.md").read_text(), re.M):
        found += [line.strip() for line in section.splitlines()]
    return sorted(set(found))


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A folder with a project, its remote, a home, and stubs of other programs; examples run in copies of it."""
    top = tmp_path_factory.mktemp("examples")
    for folder in ("project", "home", "stubs"):
        (top / folder).mkdir()
    for name, text in STUBS.items():
        (top / "stubs" / name).write_text(f"#!/bin/sh\n{text}\n")
        (top / "stubs" / name).chmod(0o755)
    git(top, "init", "-q", "--bare", "remote.git")
    git(top / "project", "init", "-q", "-b", "main")
    git(top / "project", "remote", "add", "origin", "../remote.git")
    done = run_in(top, TEMPLATE)
    assert done.returncode == 0, done.stderr
    return top


def run_in(top, script):
    env = environment(HOME=top / "home", PATH=f"{top / 'stubs'}:{BIN}:{os.environ['PATH']}", ABACUS_AUTOSYNC="0")
    return subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], cwd=top / "project", capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, env=env)


@pytest.mark.parametrize("example", [e for e in examples() if e not in ELSEWHERE])
def test_every_example_of_the_reference_runs(template, tmp_path, example):
    top = tmp_path / "copy"
    shutil.copytree(template, top, symlinks=True)
    if example in BEFORE:
        done = run_in(top, BEFORE[example])
        assert done.returncode == 0, done.stderr
    done = run_in(top, example)
    run_in(top, "abacus serve --stop")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def test_no_example_is_left_out_without_a_reason():
    assert (ELSEWHERE | set(BEFORE)) <= set(examples())


# --- commands in sentences ---

INVENTED = {"architecture.md", "commands.md"}  # the first has examples of commands that do not exist; the second is generated
GUIDES = ["README.md", *sorted(f"doc/{path.name}" for path in (ROOT / "doc").glob("*.md") if path.name not in INVENTED)]
ALIASES = {"--actor", "--agent", "--flush-only"}  # accepted, but not in the help
OTHERS = {"bd backup", "abacus ask", "abacus answer"}  # a command of upstream's bd, and lines that the page signs


def reference():
    """The names of all commands, those for users of upstream's bd included."""
    out = subprocess.run([BIN / "abacus", "docs"], capture_output=True, text=True, check=True).stdout
    commands = set(re.findall(r"^### `([^`]+)`", out, re.M))
    more = subprocess.run([BIN / "bd", "help", "--all"], capture_output=True, text=True, check=True).stdout
    return commands | {f"bd {words}" for words in re.findall(r"^  ([a-z][a-z -]*?)  ", more, re.M)}


def command_of(commands, span):
    """The longest command that the text begins with."""
    words = [word for word in span.split() if not word.startswith("-")]
    for count in range(min(len(words), 4), 1, -1):
        if " ".join(words[:count]) in commands:
            return " ".join(words[:count])
    return None


@pytest.mark.parametrize("page", GUIDES)
def test_every_command_in_a_sentence_exists_with_its_options(page):
    commands = reference()
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(), flags=re.S | re.M)
    for span in re.findall(r"`((?:bd|bb|vybe|abacus) [^`]+)`", text):
        span = re.sub(r" --(as|actor) \S+", "", " ".join(span.split()).split(" | ")[0])
        if "…" in span or span in OTHERS or re.fullmatch(r"(bd|bb|vybe|abacus) [A-Z].*", span):
            continue
        name = command_of(commands, span) or re.sub(r" -.*", "", span)
        shown = subprocess.run([BIN / span.split()[0], *name.split()[1:], "--help"], capture_output=True, text=True)
        assert shown.returncode == 0, f"{page}: {span}"
        for option in re.findall(r"(?<=\s)--[a-z][a-z-]*", span.split(" -- ")[0]):
            assert option in ALIASES or option in shown.stdout, f"{page}: {span}: {option}"
