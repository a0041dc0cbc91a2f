"""Our JSON against Python's: both accept the same texts and write the same canonical text. Python's parser is made
strict first, and RFC 8785 is implemented here again, so that a bug would have to be made twice to go unnoticed."""

import decimal
import json
import os
import pathlib
import random
import subprocess

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / os.environ.get("ABACUS_BUILD", "build") / "model" / "json_cat"
DEPTH = 100

quick = settings(
    max_examples=150,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


def ours(data):
    """The canonical text, or None if it was refused, with a reason."""
    done = subprocess.run([TOOL], input=data, capture_output=True, check=False)
    if done.returncode == 0:
        assert done.stderr == b""
        return done.stdout
    assert done.returncode == 1, done
    assert done.stdout == b"" and done.stderr.startswith(b"at ")
    return None


class Number(str):
    """A number as it was written."""


def no_twins(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key stands twice")
    return members


def no_constants(word):
    raise ValueError(word)


def check(value, depth=0):
    """Raises if Python accepts more than RFC 8259 or our limits allow."""
    if isinstance(value, str):
        value.encode()  # fails on a lone surrogate
    elif isinstance(value, (list, dict)):
        if depth == DEPTH:
            raise ValueError("nested too deep")
        for item in value:
            check(item, depth + 1)
        for item in value.values() if isinstance(value, dict) else ():
            check(item, depth + 1)


def reference(data):
    value = json.loads(
        data.decode(),
        object_pairs_hook=no_twins,
        parse_constant=no_constants,
        parse_int=Number,
        parse_float=Number,
    )
    check(value)
    return value


def ecmascript(number):
    """Number::toString of ECMAScript for a finite double."""
    if number == 0:
        return "0"
    minus = "-" if number < 0 else ""
    parts = decimal.Decimal(repr(abs(number))).normalize().as_tuple()
    digits = "".join(map(str, parts.digits))
    k, n = len(digits), len(digits) + parts.exponent
    if k <= n <= 21:
        return minus + digits + "0" * (n - k)
    if 0 < n <= 21:
        return minus + digits[:n] + "." + digits[n:]
    if -6 < n <= 0:
        return minus + "0." + "0" * -n + digits
    point = "." + digits[1:] if k > 1 else ""
    return f"{minus}{digits[0]}{point}e{n - 1:+d}"


def number_text(text):
    if not set(".eE") & set(text):
        return "0" if text == "-0" else text
    value = float(text)
    return text if value in (float("inf"), float("-inf")) else ecmascript(value)


def canonical(value):
    if isinstance(value, Number):
        return number_text(value)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        members = (canonical(key) + ":" + canonical(value[key]) for key in keys)
        return "{" + ",".join(members) + "}"
    return json.dumps(value, ensure_ascii=False)


def expected(data):
    try:
        return canonical(reference(data)).encode()
    except (ValueError, RecursionError):
        return None


text = st.text(st.characters(blacklist_categories=("Cs",)), max_size=40)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**60), 10**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(text, inner, max_size=6),
    max_leaves=25,
)


@quick
@given(values, st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_every_value_is_accepted_and_written_as_rfc_8785_says(value, ascii_only, indent):
    data = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    want = expected(data)
    assert want is not None
    assert ours(data) == want
    assert ours(want) == want
    assert json.loads(want, parse_int=float) == json.loads(data, parse_int=float)


@quick
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=20, max_size=60))
def test_every_double_is_written_as_ecmascript_writes_it(numbers):
    data = json.dumps(numbers).encode()
    assert ours(data) == expected(data)
    assert json.loads(ours(data), parse_int=float) == numbers


@quick
@given(st.binary(max_size=30))
def test_any_bytes_are_accepted_or_refused_by_both(data):
    assert ours(data) == expected(data)


@quick
@given(st.text('{}[]",:\\/ue01+-.EtrunalsfNI\t\n \x00\u00e9\ud83d\ude00', max_size=12))
def test_any_punctuation_is_accepted_or_refused_by_both(marks):
    data = marks.encode("utf-8", "surrogatepass")
    assert ours(data) == expected(data)


DOCUMENTS = [
    b'{"id":123,"tags":["a","b"],"n":null,"t":true,"f":false,"x":-1.5e-3,"y":0,"z":1E5}',
    b'{"k":"\\u0041\\ud83d\\ude00\\n\\"\\\\\\/","\\u006b2":"eight plain bytes and more"}',
    '["é€😀","日本語 → naïve",{"ключ":[[[{}]]]}]'.encode(),
    b"[0,-0,0.0,1e400,123456789012345678901234567890,5e-324,1.7976931348623157e308]",
    b' [ 1 , 2 ,\t{ "a" : [ ] , "b" : { } } ] \r',
    b'{"a":1,"b":2,"c":3,"aa":4,"ab":5,"ba":6,"":7}',
    b"[" * 99 + b'"deep"' + b"]" * 99,
    b'{"":' * 100 + b"1" + b"}" * 100,
]

PIECES = [
    b'"', b"\\", b"\\u", b"\\ud83d", b"\\ude00", b"\\u0061", b"[", b"]", b"{", b"}", b",",
    b":", b"0", b"-", b".", b"e", b"E+", b"1", b" ", b"\t", b"\0", b"\x1f", b"\x7f", b"\x80",
    b"\xc3", b"\xa9", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xf4\x90\x80\x80", b"\xff", b"null",
    b"NaN", b"Infinity", b"true", b'"a":', b"[]", b"{}", b"/**/",
]  # fmt: skip


def mutate(rng, data):
    for _ in range(rng.randint(1, 3)):
        at = rng.randint(0, len(data))
        to = at + rng.choice((0, 0, 1, 1, 2, 5))
        piece = rng.choice(PIECES) if rng.random() < 0.8 else data[at : at + 8]
        data = data[:at] + (piece if rng.random() < 0.8 else b"") + data[to:]
    return data


def test_changed_documents_are_accepted_or_refused_by_both():
    rng = random.Random(8259)
    texts = [mutate(rng, rng.choice(DOCUMENTS)) for _ in range(20000)]
    lines = b"".join(text + b"\n" for text in texts)
    done = subprocess.run([TOOL, "-l"], input=lines, capture_output=True, check=True)
    results = done.stdout.split(b"\n")[:-1]
    assert len(results) == len(texts)
    taken = 0
    for data, result in zip(texts, results):
        want = expected(data)
        got = result[1:] if result[:1] == b"+" else None
        assert got == want, (data, result)
        taken += want is not None
    assert 2000 < taken < 18000  # both kinds were met


def test_the_depth_limit_is_the_same_for_arrays_and_objects():
    for begin, end in ((b"[", b"]"), (b'{"a":', b"}")):
        for depth in (DEPTH - 1, DEPTH, DEPTH + 1, 500):
            data = begin * (depth - 1) + b"[]" + end * (depth - 1)
            assert ours(data) == (data if depth <= DEPTH else None)
