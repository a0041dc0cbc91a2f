"""Any text of others becomes a tree of known elements, and nothing else."""
import json
import random
import subprocess
import sys

import pytest

from conftest import BIN
from service import SANITIZED

NAMES = {"p", "blockquote", "ul", "ol", "li", "hr", "h", "pre", "table", "thead", "tbody", "tr", "th", "td", "em", "strong", "a", "code", "del"}


@pytest.fixture(scope="module")
def parse():
    process = subprocess.Popen([str(BIN.parent / "libexec/abacus-serve"), "markdown"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(*texts):
        process.stdin.write(json.dumps({"op": "markdown", "params": {"texts": texts}}).encode() + b"\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())["data"]
    yield ask
    process.stdin.close()
    assert process.wait(10) == 0


def nodes(tree, depth=1):
    for node in tree:
        if isinstance(node, list):
            yield node, depth
            yield from nodes(node[2:], depth + 1)


def text_of(tree):
    return "".join(n if isinstance(n, str) else text_of(n[2:]) for n in tree)


@pytest.mark.parametrize("text, tree", [
    ("*a* **b** `c` ~~d~~", [["p", {}, ["em", {}, "a"], " ", ["strong", {}, "b"], " ", ["code", {}, "c"], " ", ["del", {}, "d"]]]),
    ("## Title\n\ntext\nmore", [["h", {"level": 2}, "Title"], ["p", {}, "text\nmore"]]),
    ("- [x] done\n- [ ] todo", [["ul", {}, ["li", {"done": True}, "done"], ["li", {"done": False}, "todo"]]]),
    ("3. three", [["ol", {"start": 3}, ["li", {}, "three"]]]),
    ("```c\na < b\n```", [["pre", {}, "a < b\n"]]),
    ("|a|b|\n|---|---|\n|1|2|", [["table", {}, ["thead", {}, ["tr", {}, ["th", {}, "a"], ["th", {}, "b"]]],
                                  ["tbody", {}, ["tr", {}, ["td", {}, "1"], ["td", {}, "2"]]]]]),
    ("[x](https://a.b/?c=1&amp;d=2)", [["p", {}, ["a", {"href": "https://a.b/?c=1&d=2"}, "x"]]]),
    ("see https://a.b/c.", [["p", {}, "see ", ["a", {"href": "https://a.b/c"}, "https://a.b/c"], "."]]),
    ("![pixel](http://a.b/x.png)", [["p", {}, ["a", {"href": "http://a.b/x.png"}, "pixel"]]]),
    ("[x](javascript:alert(1))", [["p", {}, ["a", {}, "x"]]]),
    ("[x](java&#x73;cript:alert%281%29)", [["p", {}, ["a", {}, "x"]]]),
    ("[x](data:text/html,y) [z](//a.b) [w](#/now)", [["p", {}, ["a", {}, "x"], " ", ["a", {}, "z"], " ", ["a", {}, "w"]]]),
    ("<img src=x onerror=y> <b>b</b>", [["p", {}, "<img src=x onerror=y> <b>b</b>"]]),
    ("<script>\nalert(1)\n</script>", [["p", {}, "<script>\nalert(1)\n</script>"]]),
    ("&lt;i&gt; &#0; &#xD800; &#x1F600; &copy;", [["p", {}, "<i> \ufffd \ufffd \U0001f600 &copy;"]]),
    ("a\0b", [["p", {}, "a\ufffdb"]]),
    ("", []),
])
def test_a_text_becomes_a_tree(parse, text, tree):
    assert parse(text) == [tree]


def test_several_texts_are_answered_in_order(parse):
    assert parse("a", "b") == [[["p", {}, "a"]], [["p", {}, "b"]]]


@pytest.mark.parametrize("text", ["> " * 5000 + "x", "- " * 5000 + "x", "*" * 30000 + "x", "[" * 30000 + "x", "`a" * 20000, "![" * 20000, "a](" * 20000, "|" * 20000 + "\n" + "|-" * 20000,
                                  "<" * 30000, "_a*" * 15000, "&#" * 20000, "\\" * 30001, "[a]: x\n" * 8000 + "[a]" * 2000])
def test_hostile_texts_keep_their_words_and_do_not_nest_too_deep(parse, text):
    [tree] = parse(text)
    assert all(depth <= 40 for _, depth in nodes(tree))
    if "x" in text and "[a]" not in text:
        assert "x" in text_of(tree)


def test_random_texts_have_only_known_elements_and_safe_addresses(parse):
    dice = random.Random(22)
    parts = ["*", "_", "`", "~~", "[", "](", ")", "<", ">", "&", "#", "\n", "\n\n", "    ", "- ", "1. ", "|", "---", "```", "javascript:", "http://", "mailto:", "www.", "a@b.c",
             "<script>", "&#x6a;", "\\", "![", "é", "\u202e", "\0", "word", " "]
    for found in parse(*("".join(dice.choice(parts) for _ in range(dice.randrange(60))) for _ in range(3000))):
        for (name, attributes, *_), _ in nodes(found):
            assert name in NAMES
            assert set(attributes) <= {"level", "start", "done", "href"}
            assert attributes.get("href", "http://").lower().startswith(("http://", "https://", "mailto:"))


def test_a_long_address_that_is_used_often_costs_no_memory():
    """A reference repeats the address of its definition."""
    text = "[a]: https://x/" + "x" * 30000 + "\n\n" + "[a] " * 4000
    script = ("import resource, subprocess, sys\n"
              "subprocess.run(sys.argv[1:], check=True)\n"
              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)\n")
    done = subprocess.run([sys.executable, "-c", script, str(BIN.parent / "libexec/abacus-serve"), "markdown"], capture_output=True,
                          input=json.dumps({"op": "markdown", "params": {"texts": [text]}}).encode() + b"\n", timeout=60)
    (tree,) = json.loads(done.stdout)["data"]
    assert len(tree[0]) > 4000 and all(node[1] == {} for node, _ in nodes(tree))
    assert SANITIZED or int(done.stderr.split()[-1]) < 60 * 1024, done.stderr
