"""Records what a command and its children do to a folder, from outside, with strace.

A recording is a list of events on inodes, in the order in which the kernel did them:

    ("data", inode, offset, bytes)      a write
    ("size", inode, bytes)              a truncation
    ("entry", folder, name, inode)      a name was given to an inode: create, link, mkdir
    ("gone", folder, name, inode)       a name was removed: unlink, rmdir
    ("move", folder, name, folder, name, inode)
    ("sync", inode, upto)               everything before event `upto` on that inode is durable
    ("begin", n), ("reply", n), ("end", n)   command n started, wrote its first output, exited

Names are resolved here, once, so that a model of the disk can apply any subset of the events.
"""
import os
import re
import subprocess

CALLS = ("open openat creat read lseek write pwrite64 writev pwritev pwritev2 truncate ftruncate fallocate rename renameat "
         "renameat2 link linkat symlink symlinkat unlink unlinkat mkdir mkdirat rmdir fsync fdatasync sync syncfs msync "
         "sync_file_range mmap copy_file_range sendfile splice dup2 fchmod").split()
UNKNOWN = {"pwritev", "pwritev2", "truncate", "sync", "syncfs", "copy_file_range", "sendfile", "splice",
           "symlink", "symlinkat", "open", "creat"}
LINE = re.compile(r"^(\d+) +(?:<\.\.\. )?([a-z_0-9]+)(?:\((.*)| resumed>(.*))$")
HEX = re.compile(r"\\x([0-9a-f]{2})")


class File:
    """An inode: a regular file with bytes, or a folder with names. Its mode counts as durable with it."""

    def __init__(self, data=None, mode=0o600):
        self.data, self.names, self.mode = data, None if data is not None else {}, mode


def text(hexed):
    return bytes.fromhex(hexed.replace("\\x", ""))


def string(argument):
    """The bytes of a quoted argument."""
    assert argument[0] == '"' and argument[-1] == '"', f"strace cut a payload short: {argument[-40:]}"
    return text(argument[1:-1])


def path_of(argument):
    """The path that strace shows with a descriptor; None if the file has no name any more."""
    fd, _, rest = argument.partition("<")
    if not rest or rest.endswith("(deleted)"):
        return None
    name = rest[:rest.rindex(">")]
    return text(name).decode() if name.startswith("\\x") else None


class Recording:
    """The events of several commands in one folder. `disk` is the folder as it is now, by inode."""

    def __init__(self, root):
        self.root, self.events, self.disk, self.mapped = str(root), [], {}, set()
        self.offsets = {}  # (process, descriptor) -> position, or None to append
        self.load()
        self.base = {n: File(bytes(f.data), f.mode) if f.names is None else File() for n, f in self.disk.items()}
        for n, f in self.disk.items():
            if f.names is not None:
                self.base[n].names = dict(f.names)

    def load(self):
        """Reads the folder before the first command; all of it counts as durable."""
        seen, self.disk[0] = {}, File()
        numbers = {self.root: 0}
        for folder, folders, files in os.walk(self.root):
            here = self.disk[numbers[folder]]
            for name in sorted(folders) + sorted(files):
                path = os.path.join(folder, name)
                key = os.lstat(path).st_ino
                if key not in seen:
                    seen[key] = len(self.disk)
                    if name in folders:
                        numbers[path] = len(self.disk)
                        self.disk[len(self.disk)] = File()
                    else:
                        with open(path, "rb") as file:
                            self.disk[len(self.disk)] = File(bytearray(file.read()), os.lstat(path).st_mode & 0o7777)
                here.names[name] = seen[key]

    # --- running ---

    def run(self, argv, cwd, env, out, code=0, said=""):
        """Runs and records one command; its output goes to the file `out`, outside of the folder."""
        number = sum(e[0] == "begin" for e in self.events)
        log = f"{out}.trace"
        with open(out, "wb") as reply:
            done = subprocess.run(["strace", "-f", "-qq", "-y", "-xx", "-s", "4000000", "--seccomp-bpf", "-o", log,
                                   "-e", "signal=none", "-e", "trace=" + ",".join(CALLS), *argv], cwd=cwd, env=env,
                                  input=said.encode(), stdout=reply, stderr=subprocess.PIPE, timeout=120)
        with open(out, "rb") as file:
            said = file.read().decode()
        assert done.returncode == code, f"{argv}: exit {done.returncode}\n{said}{done.stderr.decode()}"
        self.events.append(("begin", number))
        self.replied, self.out, self.number = False, str(out), number
        self.parse(log)
        if not self.replied:
            self.events.append(("reply", number))
        self.events.append(("end", number))
        os.unlink(log)
        return said

    def parse(self, log):
        started = {}
        with open(log, encoding="ascii") as lines:
            for line in lines:
                found = LINE.match(line.rstrip("\n"))
                if not found:
                    continue
                process, call, head, tail = found.groups()
                if head is not None and head.endswith("<unfinished ...>"):
                    started[process] = (call, head[:-len("<unfinished ...>")].rstrip(" ,"), len(self.events))
                    continue
                at = len(self.events)
                if tail is not None:
                    call, head, at = started.pop(process)
                    head += tail if tail.startswith((")", ",")) else ", " + tail.lstrip()
                arguments, _, result = head.rpartition(" = ")
                if result.startswith("-1") or result.startswith("?"):
                    continue
                arguments = arguments.rstrip()
                assert arguments.endswith(")"), line[:200]
                self.see(process, call, arguments[:-1].split(", "), result, at)

    # --- names ---

    def find(self, path):
        """The folder's inode and the name of a path in the recorded folder, else None."""
        path = os.path.normpath(path)
        if path != self.root and not path.startswith(self.root + "/"):
            return None
        parts = [p for p in path[len(self.root):].split("/") if p]
        if not parts:
            return None, ""
        here = 0
        for part in parts[:-1]:
            here = self.disk[here].names[part]
        return here, parts[-1]

    def inode(self, path):
        found = self.find(path)
        if found is None:
            return None
        return 0 if found[0] is None else self.disk[found[0]].names.get(found[1])

    def at(self, folder, name):
        """Joins the arguments of an *at() call."""
        name = string(name).decode()
        return name if name.startswith("/") else os.path.join(path_of(folder) or self.root, name)

    def absolute(self, name):
        name = string(name).decode()
        assert name.startswith("/"), f"strace does not show the folder of {name}"
        return name

    def add(self, *event):
        self.events.append(event)

    # --- calls ---

    def see(self, process, call, a, result, at):
        handler = getattr(self, "on_" + call, None)
        if handler:
            handler(process, a, result, at)
        elif call in UNKNOWN:
            raise AssertionError(f"{call}() is not modelled: {a}")

    def create(self, path, file):
        folder, name = self.find(path)
        number = len(self.disk)
        self.disk[number] = file
        self.disk[folder].names[name] = number
        self.add("entry", folder, name, number)
        self.base.setdefault(number, File(b"") if file.names is None else File())

    def on_openat(self, process, a, result, at):
        fd = result.split("<")[0].split()[0]
        path = self.at(a[0], a[1])
        flags = a[2].split("|")
        self.offsets[process, fd] = None if "O_APPEND" in flags else 0
        if self.find(path) is None:
            return
        assert "O_TMPFILE" not in flags, path
        number = self.inode(path)
        if number is None and "O_CREAT" in flags:
            self.create(path, File(bytearray()))
            self.base[len(self.disk) - 1].mode = int(a[3], 8) & 0o755 | 0o600
        elif number is not None and "O_TRUNC" in flags and self.disk[number].data:
            self.cut(number, 0)

    def on_fchmod(self, process, a, result, at):
        number = self.target(a[0])
        if number is not None:
            self.base[number].mode = int(a[1], 8)

    def cut(self, number, size):
        data = self.disk[number].data
        if len(data) > size:
            del data[size:]
        else:
            data.extend(bytes(size - len(data)))
        self.add("size", number, size)

    def put(self, number, offset, data):
        file = self.disk[number].data
        if len(file) < offset:
            file.extend(bytes(offset - len(file)))
        file[offset:offset + len(data)] = data
        self.add("data", number, offset, bytes(data))

    def on_read(self, process, a, result, at):
        key = process, a[0].split("<")[0]
        if self.offsets.get(key) is not None:
            self.offsets[key] += int(result.split()[0])

    def on_lseek(self, process, a, result, at):
        key = process, a[0].split("<")[0]
        if self.offsets.get(key) is not None:
            self.offsets[key] = int(result.split()[0])

    def on_dup2(self, process, a, result, at):
        """The position is copied, not shared: no program writes through both."""
        self.offsets[process, a[1].split("<")[0]] = self.offsets.get((process, a[0].split("<")[0]), 0)

    def target(self, argument):
        path = path_of(argument)
        return None if path is None else self.inode(path)

    def written(self, process, argument, data):
        path = path_of(argument)
        if path == self.out and not self.replied:
            self.replied = True
            self.add("reply", self.number)
        number = self.target(argument)
        if number is None:
            return
        key = process, argument.split("<")[0]
        assert key in self.offsets, f"{path} is written through a descriptor that another process opened"
        position = self.offsets[key]
        self.put(number, len(self.disk[number].data) if position is None else position, data)
        if position is not None:
            self.offsets[key] += len(data)

    def on_write(self, process, a, result, at):
        self.written(process, a[0], string(a[1])[:int(result)])

    def on_writev(self, process, a, result, at):
        data = b"".join(text(part) for part in re.findall(r'iov_base="([^"]*)"', ", ".join(a[1:])))
        self.written(process, a[0], data[:int(result)])

    def on_pwrite64(self, process, a, result, at):
        number = self.target(a[0])
        if number is not None:
            self.put(number, int(a[3]), string(a[1])[:int(result)])

    def on_ftruncate(self, process, a, result, at):
        number = self.target(a[0])
        if number is not None:
            self.cut(number, int(a[1]))

    def on_fallocate(self, process, a, result, at):
        number = self.target(a[0])
        if number is not None and a[1] == "0":
            self.cut(number, max(len(self.disk[number].data), int(a[2]) + int(a[3])))

    def moved(self, old, new):
        if self.find(old) is None:
            return
        (folder, name), (to, as_name) = self.find(old), self.find(new)
        number = self.disk[folder].names[name]
        if self.disk[to].names.get(as_name) == number:
            return  # two names of one file: rename() does nothing
        del self.disk[folder].names[name]
        self.disk[to].names[as_name] = number
        self.add("move", folder, name, to, as_name, number)

    def on_rename(self, process, a, result, at):
        self.moved(*(self.absolute(x) for x in a))

    def on_renameat(self, process, a, result, at):
        self.moved(self.at(a[0], a[1]), self.at(a[2], a[3]))

    def on_renameat2(self, process, a, result, at):
        assert a[4] in ("0", "RENAME_NOREPLACE"), a
        self.moved(self.at(a[0], a[1]), self.at(a[2], a[3]))

    def linked(self, old, new):
        if self.find(new) is None:
            return
        folder, name = self.find(new)
        number = self.inode(old)
        self.disk[folder].names[name] = number
        self.add("entry", folder, name, number)

    def on_link(self, process, a, result, at):
        self.linked(*(self.absolute(x) for x in a))

    def on_linkat(self, process, a, result, at):
        self.linked(self.at(a[0], a[1]), self.at(a[2], a[3]))

    def removed(self, path):
        if self.find(path) is None:
            return
        folder, name = self.find(path)
        number = self.disk[folder].names.pop(name)
        self.add("gone", folder, name, number)

    def on_unlink(self, process, a, result, at):
        self.removed(self.absolute(a[0]))

    def on_unlinkat(self, process, a, result, at):
        self.removed(self.at(a[0], a[1]))

    def on_rmdir(self, process, a, result, at):
        self.removed(self.absolute(a[0]))

    def on_mkdir(self, process, a, result, at):
        path = self.absolute(a[0])
        if self.find(path) is not None:
            self.create(path, File())

    def on_mkdirat(self, process, a, result, at):
        path = self.at(a[0], a[1])
        if self.find(path) is not None:
            self.create(path, File())

    def on_fsync(self, process, a, result, at):
        number = self.target(a[0])
        if number is not None:
            self.add("sync", number, at)

    on_fdatasync = on_fsync

    def on_mmap(self, process, a, result, at):
        """Writes through a mapping cannot be seen: only SQLite's index of its log may be written so."""
        if "PROT_WRITE" in a[2] and "MAP_SHARED" in a[3] and "<" in a[4]:
            path = path_of(a[4])
            if path and self.find(path):
                self.mapped.add(path[len(self.root) + 1:])

    def differences(self):
        """Paths whose recorded content differs from the folder: must be only mapped files."""
        wrong = []

        def walk(number, path):
            file = self.disk[number]
            if file.names is None:
                with open(path, "rb") as real:
                    if real.read() != file.data:
                        wrong.append(path[len(self.root) + 1:])
                return
            if sorted(os.listdir(path)) != sorted(file.names):
                wrong.append(path[len(self.root) + 1:] + "/")
                return
            for name, child in file.names.items():
                walk(child, os.path.join(path, name))

        walk(0, self.root)
        return wrong
