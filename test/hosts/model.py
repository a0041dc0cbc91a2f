"""A stand-in for the model of a host. It speaks the protocols of Anthropic, Gemini and OpenAI (chat completions and
responses) on loopback, records every request, and follows a script."""
import http.server
import json
import re
import threading

FEW = 10  # tokens
SUMMARY = re.compile(r"summary of the conversation|handoff summary|TEXT ONLY|<state_snapshot>")


class Script:
    """What the model does: one step for each request of the conversation, then "done" for ever. A step is a text, or a
    pair of a tool's name and its arguments."""

    def __init__(self, steps=(), before=None, tokens=FEW):
        self.steps = list(steps)
        self.before = before or (lambda number: None)  # called before a step is answered
        self.tokens = tokens  # how full the context is, as the first reply says
        self.number = 0

    def next(self, tools):
        """The text to say, or the name of a tool and its arguments."""
        self.before(self.number)
        self.number += 1
        step = self.steps.pop(0) if self.steps else "done"
        if isinstance(step, str):
            return step
        name, arguments = step
        found = [t for t in tools if t == name] or [t for t in tools if t.endswith(name)]
        assert found, f"no tool '{name}' among {sorted(tools)}"
        return found[0], arguments


class Request:
    """A request of the host to its model, whatever its protocol."""

    def __init__(self, path, body):
        self.path = path
        self.body = body
        self.tools = dict(self.each_tool())

    def each_tool(self):
        for tool in self.body.get("tools") or []:
            if "functionDeclarations" in tool:
                yield from ((f["name"], ("", f["name"])) for f in tool["functionDeclarations"])
            elif tool.get("type") == "namespace":
                yield from ((tool["name"] + t["name"], (tool["name"], t["name"])) for t in tool.get("tools", []))
            else:
                name = tool.get("name") or (tool.get("function") or {}).get("name") or ""
                yield name, ("", name)

    @property
    def text(self):
        """All text of the request that the model reads, in the order in which it is sent. The descriptions of tools do not
        count."""
        found = []

        def collect(value):
            if isinstance(value, str):
                found.append(value)
            elif isinstance(value, dict):
                for key, part in value.items():
                    if key not in ("tools", "metadata"):
                        collect(part)
            elif isinstance(value, list):
                for part in value:
                    collect(part)

        collect(self.body)
        return "\n".join(found)

    @property
    def is_summary(self):
        """Whether the host asks for a summary, with which it replaces the conversation."""
        messages = next((self.body[k] for k in ("messages", "contents", "input") if self.body.get(k)), [])
        return bool(SUMMARY.search(json.dumps(messages[-1:])))

    @property
    def is_turn(self):
        """Does it belong to the conversation? A request for a title offers none of our tools."""
        return any("bd_ready" in name for name in self.tools) and not self.is_summary


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, body, kind="application/json", status=200):
        body = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, events):
        """Events are objects, with a name of their own where the protocol wants it (their "type")."""
        text = "".join((f"event: {e['type']}\n" if "type" in e else "") + f"data: {json.dumps(e)}\n\n" for e in events)
        self.reply(text, "text/event-stream")

    def do_GET(self):
        models = [{"id": "stand-in", "object": "model", "display_name": "stand-in", "context_length": 200000}]
        self.reply({"object": "list", "data": models, "models": []} if "models" in self.path else {})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        path = self.path.split("?")[0].lower()
        for end, answer in (("generatecontent", self.gemini), ("messages", self.anthropic), ("completions", self.open_chat),
                            ("responses", self.open_responses)):
            if path.endswith(end):
                request = Request(self.path, body)
                with self.server.lock:
                    self.server.requests.append(request)
                    step = self.server.script.next(request.tools) if request.is_turn else self.server.aside
                answer(request, step)
                return
        self.reply({"input_tokens": 1, "totalTokens": 1})

    @property
    def tokens(self):
        """After the first reply the context is nearly empty, so that it is compacted once."""
        return self.server.script.tokens if self.server.script.number < 2 else FEW

    def anthropic(self, request, step):
        text = isinstance(step, str)
        block = {"type": "text", "text": step} if text else {"type": "tool_use", "id": f"toolu_{len(self.server.requests)}",
                                                             "name": step[0], "input": step[1]}
        usage = {"input_tokens": self.tokens, "output_tokens": 1}
        message = {"id": f"msg_{len(self.server.requests)}", "type": "message", "role": "assistant",
                   "model": request.body.get("model", "m"), "content": [block], "stop_sequence": None,
                   "stop_reason": "end_turn" if text else "tool_use", "usage": usage}
        if not request.body.get("stream"):
            self.reply(message)
            return
        empty = {"type": "text", "text": ""} if text else {**block, "input": {}}
        delta = ({"type": "text_delta", "text": step} if text else
                 {"type": "input_json_delta", "partial_json": json.dumps(step[1])})
        self.stream([{"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
                     {"type": "content_block_start", "index": 0, "content_block": empty},
                     {"type": "content_block_delta", "index": 0, "delta": delta}, {"type": "content_block_stop", "index": 0},
                     {"type": "message_delta", "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
                      "usage": usage},
                     {"type": "message_stop"}])

    def gemini(self, request, step):
        part = {"text": step} if isinstance(step, str) else {"functionCall": {"name": step[0], "args": step[1]}}
        answer = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
                  "usageMetadata": {"promptTokenCount": self.tokens, "candidatesTokenCount": 1,
                                    "totalTokenCount": self.tokens + 1}}
        if "stream" in request.path:
            self.stream([answer])
        else:
            self.reply(answer)

    def open_chat(self, request, step):
        text = isinstance(step, str)
        call = None if text else {"index": 0, "id": f"call_{len(self.server.requests)}", "type": "function",
                                  "function": {"name": step[0], "arguments": json.dumps(step[1])}}
        message = {"role": "assistant", "content": step} if text else {"role": "assistant", "content": None, "tool_calls": [call]}
        why = "stop" if text else "tool_calls"
        usage = {"prompt_tokens": self.tokens, "completion_tokens": 1, "total_tokens": self.tokens + 1}
        head = {"id": f"chat_{len(self.server.requests)}", "object": "chat.completion.chunk", "created": 0,
                "model": request.body.get("model", "m")}
        if not request.body.get("stream"):
            self.reply({**head, "object": "chat.completion", "usage": usage,
                        "choices": [{"index": 0, "message": message, "finish_reason": why}]})
            return
        chunks = [{**head, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
                  {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": why}]},
                  {**head, "choices": [], "usage": usage}]
        self.reply("".join(f"data: {json.dumps(c)}\n\n" for c in chunks) + "data: [DONE]\n\n", "text/event-stream")

    def open_responses(self, request, step):
        number = len(self.server.requests)
        if isinstance(step, str):
            item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": step, "annotations": []}]}
        else:
            space, name = request.tools[step[0]]
            item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": name,
                    "arguments": json.dumps(step[1]), "status": "completed", **({"namespace": space} if space else {})}
        usage = {"input_tokens": self.tokens, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": self.tokens + 1}
        whole = {"id": f"resp_{number}", "object": "response", "created_at": 0, "model": request.body.get("model", "m"),
                 "status": "completed", "output": [item], "usage": usage}
        if not request.body.get("stream"):
            self.reply(whole)
            return
        begun = {**whole, "status": "in_progress", "output": []}
        events = [{"type": "response.created", "response": begun},
                  {"type": "response.output_item.added", "output_index": 0, "item": item}]
        if isinstance(step, str):
            events += [{"type": "response.output_text.delta", "item_id": item["id"], "output_index": 0, "content_index": 0,
                        "delta": step}]
        events += [{"type": "response.output_item.done", "output_index": 0, "item": item},
                   {"type": "response.completed", "response": whole}]
        self.stream([{**e, "sequence_number": i} for i, e in enumerate(events)])


class Model:
    """The server. `with Model() as model:` starts it and stops it."""

    def __enter__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.requests, self.server.script, self.server.aside = [], Script(), "a title"
        self.server.lock = threading.Lock()
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *unused):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    @property
    def requests(self):
        return self.server.requests

    @property
    def turns(self):
        """The requests that belong to the conversation."""
        return [r for r in self.server.requests if r.is_turn]

    def play(self, *steps, **more):
        """Begins a script; forgets the requests before it."""
        self.server.requests.clear()
        self.server.script = Script(steps, **more)
