"""The command in an error's hint acts on the folder that it names, whatever the name of the folder is."""
import os
import stat
import subprocess

import pytest
from conftest import Project, environment, git
from hints import SHELLS, command_of, commands_in
from machines import machine
from remotes import bare
from test_agent_identity import agent, register

NAMES = {
    "space": b"two  words",
    "quote": b"it's",
    "double quote": b'a"b',
    "only quotes": b"'''",
    "dollar": b"$(touch PWN)$HOME",
    "backtick": b"`touch PWN`",
    "semicolon": b";touch PWN;",
    "history": b"!!",
    "tilde": b"~",
    "dash": b"-rf",
    "hash": b"#x",
    "equals": b"=ls",
    "backslash": b"a\\nb\\",
    "percent": b"100%s%n",
    "pattern": b"*?[a]{b,c}",
    "magic": b":(top)x",
    "exclusion": b":!x",
    "newline": b"a\nb",
    "last newline": b"a\n",
    "tab": b"a\tb",
    "escape": b"w\x1b[2J",
    "escape in quotes": b"-w'%\\!$\x1b`\"",
    "digits after a byte": b"w\x01234",
    "delete": b"w\x7f",
    "C1": "w\u009b2J".encode(),
    "bidi": "w\u202etxt".encode(),
    "zero width": "w\u200bx".encode(),
    "joiner": "w\u200dx".encode(),
    "byte order mark": "\ufeffw".encode(),
    "line separator": "w\u2028x".encode(),
    "not UTF-8": b"w\xff",
    "half a character": b"w\xe2\x80",
    "umlaut": "wä".encode(),
    "replacement": "w\ufffd".encode(),
}
names = pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
shells = pytest.mark.parametrize("shell", SHELLS)


def as_shown(name):
    """The name that a terminal would show for it: a trap beside the folder."""
    text = "".join("\ufffd" if not ch.isprintable() or "\udc80" <= ch <= "\udcff" else ch for ch in os.fsdecode(name))
    return text.encode()


def tree(root):
    """All paths below a folder, with their modes."""
    found = {}
    for folder, folders, files in os.walk(os.fsencode(root)):
        if b".git" in folders:
            folders.remove(b".git")
        for entry in folders + files:
            path = os.path.join(folder, entry)
            found[os.path.relpath(path, os.fsencode(root))] = stat.S_IMODE(os.lstat(path).st_mode)
    return found


def below(parent, name):
    """A folder of that name, and folders whose names are nearly the same."""
    for near in {name, as_shown(name), name.rstrip(b"\n"), name.strip(b"'"), b"a", b"w"} - {b""}:
        path = os.path.join(os.fsencode(parent), near, b".bb")
        os.makedirs(path, mode=0o700)
        with open(os.path.join(path, b"kept"), "wb"):
            pass
    return Project(os.fsdecode(os.path.join(os.fsencode(parent), name)))


def commit(path):
    git(path, "add", "-f", "-A")
    git(path, "commit", "-q", "-m", "x")


def hint(project, shell):
    """The hint of 'bb log': as JSON for one shell, as text for the other."""
    if shell == "sh":
        return project.fails("--dir", ".", "log")["details"]["next_step"]
    done = project.bb("--dir", ".", "log")
    assert done.code != 0
    return done.err.splitlines()[1]


def paste(cwd, text, verb, shell):
    command = command_of(text, verb)
    assert command.replace("\u200d", "").isprintable(), command
    done = subprocess.run([shell, "-c", command], cwd=cwd, capture_output=True, env=environment(), check=False)
    assert done.returncode == 0, (command, done.stderr)


@pytest.fixture
def repo(tmp_path):
    path = tmp_path / "repo"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    return path


@names
@shells
def test_the_command_of_a_hint_moves_the_folder_that_it_names(repo, tmp_path, name, shell):
    project = below(repo, name)
    commit(repo)
    before = tree(repo)
    paste(tmp_path, hint(project, shell), "mv ", shell)
    after = tree(repo)
    aside, = {path for path in after.keys() - before.keys() if b"kept" not in path}
    assert os.path.dirname(aside) == name and os.path.basename(aside).startswith(b".bb.theirs-")
    assert before.keys() - after.keys() == {name + b"/.bb", name + b"/.bb/kept"}
    assert after.keys() - before.keys() == {aside, aside + b"/kept"}
    assert not list(tmp_path.rglob("PWN"))


@names
@shells
def test_the_command_of_a_hint_changes_the_mode_of_the_folder_that_it_names(tmp_path, name, shell):
    project = below(tmp_path, name)
    for path in tree(tmp_path):
        if path.endswith(b".bb"):
            os.chmod(os.path.join(os.fsencode(tmp_path), path), 0o770)
    before = tree(tmp_path)
    paste("/", hint(project, shell), "chmod 700 ", shell)
    assert tree(tmp_path) == {**before, name + b"/.bb": 0o700}


@names
@shells
def test_the_command_of_a_hint_removes_the_tracked_files_that_it_names(repo, tmp_path, name, shell):
    """In a folder with other files, it is 'git rm' with the path as a pathspec."""
    project = below(repo, name)
    commit(repo)
    own = os.path.join(os.fsencode(project.path), b".bb", b"own")
    with open(own, "wb"):
        pass
    before = tree(repo)
    paste(tmp_path, hint(project, shell), "git -C ", shell)
    assert before.keys() - tree(repo).keys() == {name + b"/.bb/kept"} and os.path.exists(own)
    assert not list(tmp_path.rglob("PWN"))


@names
@shells
def test_the_command_of_a_hint_asks_the_repository_that_it_names(tmp_path, name, shell):
    """The repository itself has that name, which is the last part of the path in the command."""
    project = below(tmp_path, name)
    git(project.path, "init", "-q")
    git(project.path, "commit", "-q", "--allow-empty", "-m", "x")
    os.remove(project.path / ".git" / "index")
    text = hint(project, shell).removesuffix(" status") + " rev-parse --git-dir"
    done = subprocess.run([shell, "-c", command_of(text, "git -C ") + " --show-toplevel"], cwd="/",
                          capture_output=True, env=environment(), check=True)
    assert os.fsencode(project.path) + b"\n" in done.stdout


@shells
def test_the_command_of_a_hint_marks_the_folder_of_another_user_as_safe(tmp_path, shell):
    if os.geteuid():
        pytest.skip("only root can make files of other users")
    project = below(tmp_path, "it's\x1b".encode())
    os.chown(project.path / ".bb", 12345, 12345)
    os.chown(project.path, 12345, 12345)
    config = tmp_path / "config"
    text = hint(project, shell)
    subprocess.run([shell, "-c", command_of(text, "git config ")], check=True,
                   env=environment(GIT_CONFIG_GLOBAL=config))
    read = subprocess.run(["git", "config", "-z", "-f", config, "safe.directory"], check=True, capture_output=True)
    assert read.stdout == os.fsencode(project.path) + b"\0"


# --- long commands ---


@pytest.mark.parametrize("pad", range(4))
def test_a_long_command_of_a_hint_is_not_cut_inside_of_its_quotes(tmp_path, pad):
    path = tmp_path / ("r" + pad * "d")
    folder = path / (120 * "'") / (190 * "k" + ";touch PWN; #")
    folder.mkdir(parents=True)
    git(path, "init", "-q")
    (folder / ".bb").mkdir()
    (folder / ".bb" / "kept").touch()
    commit(path)
    for shell in SHELLS:
        paste(tmp_path, hint(Project(folder), shell), "mv ", shell)
        assert not (folder / ".bb").exists() and not list(tmp_path.rglob("PWN"))
        [moved] = folder.glob(".bb.theirs-*")
        moved.rename(folder / ".bb")


@shells
def test_source_and_target_of_a_long_command_of_a_hint_stay_two_words(repo, shell):
    folder = repo / (250 * "k") / (250 * "l") / (250 * "m")
    (folder / ".bb").mkdir(parents=True)
    (folder / ".bb" / "kept").touch()
    commit(repo)
    text = hint(Project(folder), shell)
    assert len(command_of(text, "mv ").split()) == 3
    paste(repo, text, "mv ", shell)
    assert list(folder.glob(".bb.theirs-*/kept"))


@shells
def test_a_hint_that_would_be_too_long_has_no_command(repo, shell):
    folder = repo
    while len(str(folder)) < 3400:
        folder = folder / (240 * "'")
    (folder / ".bb").mkdir(parents=True)
    (folder / ".bb" / "kept").touch()
    commit(repo)
    text = hint(Project(folder), shell)
    assert "mv " not in text and "…" not in text and "move it away" in text


# --- scopes ---


@pytest.mark.parametrize("scope", ["two  words", "it's", "$(touch PWN)", "-rf", "~", "!!", "w\u202ex", "w\u200bx", "#x"])
@shells
def test_the_scope_in_the_command_of_a_hint_is_the_reserved_one(tmp_path, scope, shell):
    project = Project(tmp_path)
    for name in ("amber-otter", "cobalt-harbor"):
        register(project, name)
    assert agent(project, "reserve", "--agent", "amber-otter", f"--scope={scope}", "--bead", "b-1")["ok"]
    error = project.bb("agent", "guard", "--agent", "cobalt-harbor", "--json", "--", scope).error
    command = command_of(error["hint"], "bb agent wait ")
    words = subprocess.run([shell, "-c", "printf '%s\\0' " + command], cwd=tmp_path, capture_output=True, check=True)
    assert scope.encode() in words.stdout.split(b"\0")
    assert not list(tmp_path.rglob("PWN"))


# --- files that came with the repository ---


def test_no_hint_runs_what_a_damaged_database_of_the_repository_says(plain_repo):
    """'sqlite3 FILE .recover' prints the schema of the file, which can be commands for the sqlite3 that reads it."""
    path = plain_repo.path / ".beads/beads.db"
    path.parent.mkdir()
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    plain_repo.bd("init").ok()
    hint = plain_repo.fails("import")["hint"]
    assert "sqlite3" not in hint and commands_in(hint) == [], hint


# --- remotes ---


@pytest.mark.parametrize("line, remote", [("x$(touch${IFS}PWN)", "origin"), ("x`touch${IFS}PWN`", "origin"),
                                          ("x;touch${IFS}PWN", "origin"), ("x'|touch${IFS}PWN'", "origin"),
                                          ("=ls", "=ls"), ("w\u202ex", "w\u202ex"), ("hub", "hub")])
def test_the_command_of_a_hint_adds_the_remote_that_the_setting_names(tmp_path, line, remote):
    """A program in a sandbox that may write to the store can write any setting."""
    one = machine(tmp_path / "one", bare(tmp_path / "hub.git"), "one", beads=True)
    one.create("x", "--id", "bd-1")
    one.agent("register", "--name", "one", "--role", "ui")
    git(one.path, "remote", "remove", "origin")
    with open(one.home / "config", "a") as config:
        config.write(f"sync.remote = {line}\n")
    for program, *args in (["abacus", "machines", "forget", "one"], ["bd", "claim", "bd-1", "--exclusive"],
                           ["bb", "agent", "reserve", "--exclusive", "--agent", "one", "--scope", "x", "--bead", "bd-1"]):
        command = command_of(one.run(*args, program=program).err, "git remote add ")
        words = subprocess.run(["sh", "-c", "printf '%s\\0' " + command], cwd=one.path, capture_output=True, check=True)
        assert words.stdout == "\0".join(["git", "remote", "add", remote, "URL", ""]).encode(), command
    assert not list(tmp_path.rglob("PWN"))
