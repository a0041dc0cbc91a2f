"""Owners of folders: another user's repository, board or agents' folder is refused, as Git refuses it."""
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile

import pytest

from conftest import BUILD, Project, Repo, Result, environment, git
from hints import command_of

NOBODY = 65534
OTHER = 65533

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


def give(*paths, uid=NOBODY):
    for path in paths:
        os.chown(path, uid, uid, follow_symlinks=False)


def give_all(path, uid=NOBODY):
    give(path, uid=uid)
    for inner in path.rglob("*"):
        give(inner, uid=uid)


def is_refused(error, path, safe):
    """The error names the path, its owner, and the command that would allow it."""
    assert error["code"].upper() == "DUBIOUS_OWNERSHIP", error
    assert f"'{path}'" in error["message"] and str(NOBODY) in error["message"]
    step = error["hint"] if "hint" in error else error["details"]["next_step"]
    assert step.endswith(f"git config --global --add safe.directory {shlex.quote(str(safe))}")
    assert not error.get("retryable")


def accepts(repo, **env):
    """Do commands use the repository, for reading and for writing?"""
    codes = {repo.bd(*words, env=env).code for words in (["list"], ["create", "x"], ["info"])}
    assert codes in ({0}, {1})
    return codes == {0}


def git_accepts(repo, **env):
    """Does Git itself use the repository?"""
    done = subprocess.run(["git", "rev-parse", "--git-dir"], cwd=repo.path, capture_output=True, env=environment(**env))
    return done.returncode == 0


# --- repositories ---


@pytest.mark.parametrize("part", [".", ".git"])
def test_a_repository_of_another_user_is_refused(repo, part):
    give(repo.path / part)
    below = repo.path / "a" / "b"
    below.mkdir(parents=True)
    assert not git_accepts(repo)
    for cwd in (repo.path, below):
        for words in (["list"], ["create", "x"], ["init"], ["sync"], ["history", "bd-x"], ["validate"]):
            is_refused(repo.bd("--json", *words, cwd=cwd).error, (repo.path / part).resolve(), repo.path)
    is_refused(repo.bd("--json", "-C", str(repo.path), "list", cwd="/").error, (repo.path / part).resolve(), repo.path)


def test_an_owner_without_a_name_is_given_by_number(repo):
    give(repo.path, uid=1234567)
    assert repo.bd("--json", "list").error["message"] == f"'{repo.path}' belongs to another user (uid 1234567)"


def test_a_subfolder_may_belong_to_any_user(repo):
    (repo.path / "docs").mkdir()
    give(repo.path / "docs", repo.path / ".git" / "HEAD", repo.path / ".git" / "objects")
    assert git_accepts(repo) and accepts(repo)


def test_discovery_stops_at_another_users_repository(repo):
    """The user's own repository further up is not used instead."""
    inner = repo.path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    give_all(inner)
    is_refused(repo.bd("--json", "list", cwd=inner).error, inner / ".git", inner)


def test_a_git_folder_that_is_not_a_repository_is_skipped_as_git_does(repo):
    inner = repo.path / "inner"
    (inner / ".git").mkdir(parents=True)
    give_all(inner)
    bead = repo.create("x", cwd=inner)
    assert repo.ids("list") == [bead]
    project = Project(inner)
    assert project.json("init")["project_dir"] == str(repo.path)


def test_a_linked_worktree(repo, tmp_path):
    """The file .git, the folder it is in, and the Git directory of the worktree are checked."""
    git(repo.path, "commit", "-q", "--allow-empty", "-m", "first")
    tree = tmp_path / "tree"
    git(repo.path, "worktree", "add", "-q", str(tree), "-b", "topic")
    linked = Repo(tree)
    assert accepts(linked)
    for part in (tree, tree / ".git", repo.path / ".git" / "worktrees" / "tree"):
        give(part)
        assert not git_accepts(linked)
        is_refused(linked.bd("--json", "list").error, part, tree)
        give(part, uid=0)
    assert accepts(linked)


def test_a_bare_repository_of_another_user(tmp_path):
    hub = tmp_path / "hub.git"
    hub.mkdir()
    git(hub, "init", "-q", "--bare")
    repo = Repo(hub)
    repo.bd("init", "--prefix", "bd").ok()
    give(hub)
    assert not git_accepts(repo)
    is_refused(repo.bd("--json", "list").error, hub, hub)
    assert accepts(repo, GIT_DIR=hub)


@pytest.fixture
def hub(tmp_path):
    """A bare repository of the user, in a folder in which another user made a repository."""
    path = tmp_path / "shared" / "hub.git"
    path.mkdir(parents=True)
    git(path, "init", "-q", "--bare")
    git(path.parent, "init", "-q")
    give_all(path.parent / ".git")
    return Repo(path)


def test_another_users_repository_around_ones_own_bare_one_does_not_count(hub, tmp_path):
    """Git uses the bare one, too."""
    assert git_accepts(hub)
    hub.bd("init", "--prefix", "bd").ok()
    assert accepts(hub) and hub.json("where")["store"] == str(hub.path / "abacus")
    assert hub.bd("list", cwd=hub.path / "refs").code == 0
    for words in (["bb", "log"], ["bb", "agent", "list"], ["abacus", "status"], ["abacus", "doctor"], ["vybe", "status"]):
        done = Project(hub.path).run(*words[1:], program=words[0])
        assert "another user" not in done.out + done.err, (words, done.out, done.err)
    (tmp_path / "gitconfig").write_text("[safe]\n\tbareRepository = explicit\n")
    env = {"GIT_CONFIG_GLOBAL": tmp_path / "gitconfig"}
    assert "safe.bareRepository" in hub.bd("--json", "list", env=env).error["message"]


def test_a_bare_repository_in_another_users_worktree_may_come_from_a_checkout(hub, tmp_path):
    """It does if it is not the user's own, if the user's own checkout is in that folder, or is around that folder."""
    shared = hub.path.parent
    give(hub.path)
    is_refused(hub.bd("--json", "list").error, shared / ".git", shared)
    give(hub.path, uid=0)
    give(shared)
    give_all(shared / ".git", uid=0)
    is_refused(hub.bd("--json", "list").error, shared, shared)
    give_all(shared / ".git")
    git(tmp_path, "init", "-q")
    hub.bd("init", "--prefix", "bd").ok()
    assert hub.json("where")["store"] == str(tmp_path / ".git" / "abacus") and not (hub.path / "abacus").exists()


def test_git_dir_names_it_explicitly(repo):
    give_all(repo.path)
    env = {"GIT_DIR": repo.path / ".git"}
    assert git_accepts(repo, **env) and accepts(repo, **env)


def test_settings_of_another_users_repository_are_not_read(repo):
    git(repo.path, "config", "user.name", "mallory")
    repo.env.clear()
    give_all(repo.path)
    done = repo.bd("--json", "create", "x")
    assert done.error["code"] == "dubious_ownership" and "mallory" not in done.out + done.err


# --- safe.directory ---


LISTS = [
    ("{path}", True), ("*", True), ("{parent}/*", True), ("/*", True), ("{path}/", True), ("{link}", True), (".", True),
    ("~/proj", True), ("{parent}", False), ("{path}/*", False), ("proj", False), ("./proj", False), ("{path}x", False),
    ("", False), ("{parent}/p*", False),
]


@pytest.mark.parametrize("value,safe", LISTS, ids=[value or "empty" for value, _ in LISTS])
def test_safe_directory_lists_folders(repo, tmp_path, value, safe):
    give_all(repo.path)
    (tmp_path / "link").symlink_to(repo.path)
    value = value.format(path=repo.path, parent=repo.path.parent, link=tmp_path / "link")
    (tmp_path / "gitconfig").write_text(f'[safe]\n\tdirectory = "{value}"\n')
    assert accepts(repo, GIT_CONFIG_GLOBAL=tmp_path / "gitconfig", HOME=tmp_path) == safe


@pytest.mark.parametrize("values,safe", [(["*", ""], False), (["*", "", "{path}"], True), (["{path}", "/x"], True),
                                         (["", "*"], True), (["*", None], False)])
def test_an_empty_value_resets_the_list(repo, tmp_path, values, safe):
    give_all(repo.path)
    lines = ["\tdirectory" if v is None else f'\tdirectory = {v.format(path=repo.path)}' for v in values]
    (tmp_path / "gitconfig").write_text("\n".join(["[safe]", *lines, ""]))
    env = {"GIT_CONFIG_GLOBAL": tmp_path / "gitconfig"}
    assert accepts(repo, **env) == git_accepts(repo, **env) == safe


def places(tmp_path):
    text = "[safe]\n\tdirectory = *\n"
    for name in ("home/.gitconfig", "xdg/git/config", "conf/.config/git/config", "own"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "home" / "part").write_text("[include]\n\tpath = ../own\n")
    (tmp_path / "including").write_text("[include]\n\tpath = ~/part\n")
    (tmp_path / "loop").write_text("[include]\n\tpath = loop\n\tpath = loop\n[safe]\n\tdirectory = *\n")
    (tmp_path / "conditional").write_text(f"[includeIf \"gitdir:/\"]\n\tpath = {tmp_path / 'own'}\n")
    variable = {"GIT_CONFIG_COUNT": 1, "GIT_CONFIG_KEY_0": "Safe.Directory", "GIT_CONFIG_VALUE_0": "*"}
    return [
        ({"HOME": tmp_path / "home"}, True), ({"XDG_CONFIG_HOME": tmp_path / "xdg"}, True),
        ({"HOME": tmp_path / "conf"}, True), ({"GIT_CONFIG_GLOBAL": tmp_path / "own"}, True),
        ({"GIT_CONFIG_SYSTEM": tmp_path / "own"}, True),
        ({"GIT_CONFIG_SYSTEM": tmp_path / "own", "GIT_CONFIG_NOSYSTEM": 1}, False),
        ({"GIT_CONFIG_SYSTEM": tmp_path / "own", "GIT_CONFIG_NOSYSTEM": 0}, True),
        ({"HOME": tmp_path / "home", "GIT_CONFIG_GLOBAL": "/dev/null"}, False), (variable, True),
        ({"HOME": tmp_path / "home", "GIT_CONFIG_GLOBAL": tmp_path / "including"}, True),
        ({"GIT_CONFIG_GLOBAL": tmp_path / "conditional"}, False), ({**variable, "GIT_CONFIG_COUNT": 0}, False),
    ]


def test_safe_directory_is_read_only_from_protected_configuration(repo, tmp_path):
    give_all(repo.path)
    for env, safe in places(tmp_path):
        assert accepts(repo, **env) == git_accepts(repo, **env) == safe, env


@pytest.mark.parametrize("part", [".", "refs", "objects"])
def test_a_git_directory_that_every_user_may_write_to_is_refused(repo, part):
    folder = repo.path / ".git" / part
    folder.chmod(0o777)
    for words in (["list"], ["create", "x"], ["sync"], ["doctor"]):
        done = repo.run(*words, "--json")
        assert done.code and done.error["code"] == "unsafe_path" and "every user may write" in done.error["message"], done.out
    subprocess.run(["sh", "-c", done.error["hint"].split(": ", 1)[1]], check=True)
    repo.run("list").ok()


def test_a_store_that_another_user_put_into_a_shared_git_directory_is_refused(repo):
    """Members of a group may write to .git, and can create the folder first."""
    git_dir = repo.path / ".git"
    git_dir.chmod(0o2775)
    give_all(git_dir / "abacus")
    for words, program in ((["list"], "bd"), (["create", "x"], "bd"), (["sync"], "bd"), (["doctor"], "bd"),
                           (["memory", "list"], "vybe"),
                           (["--agent", "a", "--request-id", "r", "memory", "set", "-k", "k", "-v", "v"], "vybe")):
        done = repo.run(*(["--json"] if program == "bd" else []), *words, program=program)
        assert done.code and f"'{git_dir / 'abacus'}' belongs to another user, nobody" in done.out + done.err
    step = repo.bd("--json", "list").error["hint"]
    command = step.split(": ", 1)[1]
    subprocess.run(["sh", "-c", command], check=True, cwd="/")
    assert not (git_dir / "abacus").exists() and list(git_dir.glob("abacus.theirs*"))
    repo.bd("init").ok()
    repo.create("mine")


@pytest.mark.parametrize("name", ["agent", "agent/messages", "agent/reservations"])
def test_a_folder_of_another_user_inside_of_ones_own_is_refused(full, name):
    give(full.path / ".beadboard" / name)
    reply = full.run("--json", "agent", "list").json
    assert "belongs to another user" in reply["error"]["message"]


def test_a_git_directory_that_a_group_shares_is_used(repo):
    for part in (".", "refs", "objects"):
        (repo.path / ".git" / part).chmod(0o775)
    repo.run("list").ok()


def test_no_repository_lists_itself(repo):
    git(repo.path, "config", "safe.directory", "*")
    give_all(repo.path)
    assert not git_accepts(repo) and not accepts(repo)


def test_configuration_files_that_include_themselves_are_read_once(repo, tmp_path):
    give_all(repo.path)
    places(tmp_path)
    repo.bd("list", env={"GIT_CONFIG_GLOBAL": tmp_path / "loop"}, timeout=20)


def test_the_command_of_the_hint_works_when_pasted(tmp_path):
    path = tmp_path / "it's \"mine\""
    path.mkdir()
    git(path, "init", "-q")
    repo = Repo(path)
    repo.bd("init", "--prefix", "bd").ok()
    give_all(path)
    hint = repo.bd("--json", "list").error["hint"]
    env = environment(GIT_CONFIG_GLOBAL=tmp_path / "gitconfig", PATH=os.environ["PATH"])
    subprocess.run(hint[hint.index("git config"):], shell=True, check=True, env=env)
    assert accepts(repo, GIT_CONFIG_GLOBAL=tmp_path / "gitconfig")


# --- path remotes ---


@pytest.fixture
def published(repo, tmp_path):
    """A path remote that another user owns, and the result of a sync with a given safe.directory."""
    def make(kind):
        path = tmp_path / "remote"
        path.mkdir()
        git(path, "init", "-q", *(["--bare"] if kind == "bare" else []))
        gitdir = path if kind == "bare" else path / ".git"
        git(repo.path, "remote", "add", "origin", str(path))
        give_all(path)
        repo.create("a bead")

        def sync(*safe):
            config = tmp_path / "gitconfig"
            config.write_text("[safe]\n" + "".join(f'\tdirectory = "{value}"\n' for value in safe))
            return repo.bd("--json", "sync", env={"GIT_CONFIG_GLOBAL": config, "PATH": os.environ["PATH"]})

        return gitdir, sync

    return make


@pytest.mark.parametrize("kind", ["bare", "worktree"])
def test_a_path_remote_of_another_user_is_refused(published, kind):
    gitdir, sync = published(kind)
    is_refused(sync().error, gitdir, gitdir)
    hint = sync().error["hint"]
    assert sync(shlex.split(command_of(hint, "git config "))[-1]).ok().json["durability"] == "remote", "the command of the hint works"


@pytest.mark.parametrize("value,safe", [("*", True), ("{parent}/*", True), ("{gitdir}/", True), ("{parent}", False)])
def test_safe_directory_allows_a_path_remote_as_git_does(published, repo, tmp_path, value, safe):
    gitdir, sync = published("bare")
    done = sync(value.format(gitdir=gitdir, parent=gitdir.parent))
    assert done.code == (0 if safe else 1), done.out
    if not value.endswith(("/*", "/")):  # Git 2.39 does not know these yet
        fetched = subprocess.run(["git", "fetch", "origin"], cwd=repo.path, capture_output=True,
                                env=environment(GIT_CONFIG_GLOBAL=tmp_path / "gitconfig"))
        assert (fetched.returncode == 0) == safe, fetched.stderr


def test_a_git_file_of_ones_own_does_not_lead_to_another_users_remote(published, repo, tmp_path):
    gitdir, sync = published("bare")
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / ".git").write_text(f"gitdir: {gitdir}\n")
    git(repo.path, "remote", "set-url", "origin", str(tmp_path / "link"))
    is_refused(sync().error, gitdir, gitdir)


# --- sudo ---


@pytest.mark.parametrize("sudo,safe", [(NOBODY, True), (OTHER, False), ("", False), ("x", False), (f"{NOBODY}x", False),
                                       (-1, False), (NOBODY + 2**32, False)])
def test_root_counts_as_the_user_who_ran_sudo(repo, sudo, safe):
    give_all(repo.path)
    assert accepts(repo, SUDO_UID=sudo) == safe


def test_root_stays_root_too(repo):
    assert accepts(repo, SUDO_UID=NOBODY)


@pytest.fixture
def shared():
    """A folder that all may enter, with the programs in it."""
    base = pathlib.Path(tempfile.mkdtemp(prefix="owners-"))
    try:
        base.chmod(0o777 | 0o1000)
        for name in ("bin", "libexec"):
            shutil.copytree(BUILD / name, base / "programs" / name, symlinks=True)
        yield base
    finally:
        shutil.rmtree(base)


def as_nobody(base, program, *args, cwd, **env):
    return Result(subprocess.run([str(base / "programs" / "bin" / program), *args], stdin=subprocess.DEVNULL,
                                 capture_output=True, timeout=60, cwd=cwd, user=NOBODY, group=NOBODY, extra_groups=[],
                                 env=environment(**env)))


def test_sudo_uid_is_ignored_for_other_users(shared):
    """A user who is not root gains nothing by setting the variable."""
    repo = Repo(shared / "repo")
    repo.path.mkdir()
    git(repo.path, "init", "-q")
    repo.bd("init", "--prefix", "bd").ok()
    error = as_nobody(shared, "bd", "--json", "list", cwd=repo.path, SUDO_UID=0).error
    assert error["code"] == "dubious_ownership" and "root (uid 0)" in error["message"]


def test_stores_of_another_user_in_a_shared_folder_are_not_used(shared):
    """As in /tmp: a planted .git, .bb and .beadboard above the current folder."""
    git(shared, "init", "-q")
    Project(shared).run("init", program="abacus").ok()
    mine = shared / "mine"
    mine.mkdir()
    give(mine)
    for program, words in (("bd", ["list"]), ("bb", ["log"]), ("bb", ["init"]), ("bb", ["agent", "list"])):
        done = as_nobody(shared, program, "--json", *words, cwd=mine)
        assert done.code == 1 and "belongs to another user, root (uid 0)" in done.out, done.out
    made = as_nobody(shared, "bb", "--json", "--dir", ".", "init", cwd=mine).ok().json
    assert made["project_dir"] == str(mine)
    as_nobody(shared, "bb", "post", "x", cwd=mine).ok()
    (mine / "repo").mkdir()
    give(mine / "repo")
    subprocess.run(["git", "init", "-q"], cwd=mine / "repo", check=True, user=NOBODY, group=NOBODY, extra_groups=[],
                   env=environment())
    as_nobody(shared, "bd", "init", "--prefix", "bd", cwd=mine / "repo").ok()


def test_files_that_root_made_in_a_user_store_get_a_chown_hint(shared):
    """After 'sudo vybe …' the file contains the user's memory, so it must not be moved away."""
    path = shared / "mine"
    path.mkdir()
    give(path)
    subprocess.run(["git", "init", "-q"], cwd=path, check=True, user=NOBODY, group=NOBODY, extra_groups=[], env=environment())
    words = ["memory", "set", "--agent", "amber", "--key", "k", "--value", "v", "--request-id"]
    as_nobody(shared, "bd", "init", "--prefix", "bd", cwd=path).ok()
    as_nobody(shared, "vybe", *words, "1", cwd=path).ok()
    database = path / ".git/abacus/vybe.db"
    give(database, uid=0)
    done = as_nobody(shared, "vybe", *words, "2", cwd=path)
    assert done.code == 1 and "belongs to another user, root (uid 0)" in done.out
    hint = done.json["suggested_action"]
    assert hint.endswith(f"give the file back to yourself: sudo chown -h {NOBODY} {database}"), hint
    subprocess.run(["sh", "-c", hint.rsplit(": sudo ", 1)[1]], check=True)
    as_nobody(shared, "vybe", *words, "2", cwd=path).ok()


# --- boards and agents' folders ---


@pytest.fixture
def full(repo):
    """A project with all stores."""
    project = Project(repo.path)
    project.run("init", program="abacus").ok()
    return project


USES = [(".bb", ["log"]), (".bb", ["post", "x"]), (".bb", ["init"]), (".bb", ["destroy", "--confirm"]),
        (".beadboard", ["agent", "list"]), (".beadboard", ["agent", "register", "--name", "ann", "--role", "x"])]


@pytest.mark.parametrize("name,words", USES, ids=[" ".join(words) for _, words in USES])
def test_a_folder_of_another_user_is_refused(full, name, words):
    give(full.path / name)
    below = full.path / "a"
    below.mkdir()
    for cwd, more in ((full.path, []), (below, []), ("/", ["--dir", str(full.path)])):
        done = full.run("--json", *more, *words, cwd=cwd)
        assert done.code == 1
        assert f"'{full.path / name}' belongs to another user, nobody (uid {NOBODY})" in done.error["message"]
        if name == ".bb":
            is_refused(done.error, full.path / name, full.path)
    trust = {"GIT_CONFIG_COUNT": 1, "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": full.path}
    for env in ({"SUDO_UID": NOBODY}, trust):
        full.bb(*(["log"] if name == ".bb" else ["agent", "list"]), env=env).ok()
    full.bb(*words, env=trust).ok()


@pytest.mark.parametrize("name", [".bb", ".beadboard"])
def test_a_link_does_not_hide_the_owner(full, name, tmp_path):
    shutil.move(full.path / name, tmp_path / "theirs")
    (full.path / name).symlink_to(tmp_path / "theirs")
    give(tmp_path / "theirs")
    words = ["log"] if name == ".bb" else ["agent", "list"]
    assert full.run("--json", *words).code == 1


def test_discovery_stops_at_another_users_board(full):
    """The user's own board further up is not used instead."""
    inner = full.path / "inner" / "deep"
    inner.mkdir(parents=True)
    (inner.parent / ".bb").mkdir()
    give(inner.parent / ".bb")
    is_refused(full.fails("log", cwd=inner), inner.parent / ".bb", inner.parent)


ABOVE = {"folder": lambda path, own: path.mkdir(), "link": lambda path, own: path.symlink_to(own),
         "link to itself": lambda path, own: path.symlink_to(path.name)}


@pytest.mark.parametrize("kind", ABOVE)
@pytest.mark.parametrize("words", [["bb", "init"], ["abacus", "init"], ["bb-init"], ["bb", "agent", "guard", "a"],
                                   ["abacus", "install", "claude", "--write"], ["abacus", "doctor"]], ids=" ".join)
def test_what_another_user_has_above_ones_own_repository_stops_nothing(repo, tmp_path, kind, words):
    """Everybody may create it in a folder such as /tmp, in which many repositories are."""
    own = tmp_path / "own"
    own.mkdir()
    for name in (".bb", ".beadboard"):
        ABOVE[kind](repo.path.parent / name, own)
        give(repo.path.parent / name)
    project = Project(repo.path)
    project.run(*words[1:], program=words[0]).ok()
    project.run("init").ok()
    project.run("agent", "register", "--name", "ann", "--role", "x").ok()
    assert (repo.path / ".bb").is_dir() and (repo.path / ".beadboard").is_dir() and not list(own.iterdir())


def test_ones_own_board_in_another_users_repository_is_used(full):
    """The board needs nothing of the repository."""
    give(full.path / ".git")
    below = full.path / "a"
    below.mkdir()
    full.bb("post", "x", cwd=below).ok()
    assert len(full.json("log")) == 1
    (below / "f").write_text("x")
    full.bb("artifact", "add", "a/f", "d", cwd=below).ok()
    full.run("agent", "list").ok()


# --- explaining it ---


def test_where_explains_a_refusal_instead_of_failing(full):
    give(full.path / ".git", full.path / ".bb", full.path / ".beadboard")
    stores = {s["store"]: s for s in full.json("where", program="abacus")}
    for store, name in (("beads", ".git"), ("board", ".bb"), ("agents", ".beadboard")):
        assert f"'{full.path / name}' belongs to another user" in stores[store]["why"]
        assert f"git config --global --add safe.directory {shlex.quote(str(full.path))}" in stores[store]["why"]
    assert str(full.path / ".bb") in full.run("where", program="abacus").ok().out
    got = full.json("where", program="bd")
    assert (got["repository"], got["store"], got["exists"]) == (str(full.path), None, False)
    assert "belongs to another user" in got["why"]
    assert "safe.directory" in full.run("where", program="bd").ok().out


def test_each_face_has_its_code(full):
    give(full.path / ".git", full.path / ".bb", full.path / ".beadboard")
    assert full.fails("log")["code"] == "DUBIOUS_OWNERSHIP"
    assert full.fails("list", program="bd")["code"] == "dubious_ownership"
    assert full.fails("agent", "list")["code"] == "INVALID_ARGS"
    reply = full.run("task", "list", "--agent", "a", program="vybe")
    assert (reply.code, reply.json["error_code"]) == (1, "DUBIOUS_OWNERSHIP")


def test_nothing_is_kept_elsewhere_when_the_repository_is_refused(full, tmp_path):
    """Continuity would otherwise fall back to the user's own store."""
    give(full.path / ".git")
    full.run("task", "create", "--title", "x", "--agent", "a", "--request-id", "1", program="vybe",
             env={"XDG_DATA_HOME": tmp_path / "data"})
    assert not (tmp_path / "data").exists()
