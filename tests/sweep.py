#!/usr/bin/env python3
"""Hostile input through the whole program: mutants, every prefix, flipped bytes.

usage: sweep.py [--count N] [--seed N]   mutants of dumps and symbol files
       sweep.py --case SEED:INDEX        one of them again, alone; its file is kept
       sweep.py --prefixes | --flips     of every fixture, wherever it is cut or flipped
       sweep.py --images                 damaged images in the cache change no report
       sweep.py --check                  a part of all of it, under a minute (make check)

Environment: FRAMEWALK, TESTDATA, CORPUS (optional), BUILD (failing files are kept in
BUILD/sweep). Writes TAP. Of every run it asks: no death by a signal, exit status 0 or 1
as the reports say, valid JSON (or text without control bytes) for every input, one
well-formed line on standard error for every input that failed, 2 s, 256 MB.

Many files go through one process; when something is wrong each goes alone.
"""
import argparse
import concurrent.futures
import functools
import glob
import gzip
import itertools
import json
import os
import random
import re
import resource
import select
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FRAMEWALK = os.path.abspath(os.environ.get("FRAMEWALK", "build/framewalk"))
TESTDATA = os.path.abspath(os.environ.get("TESTDATA", os.path.join(HERE, "..", "testdata")))
CORPUS = os.environ.get("CORPUS", "")
KEEP = os.path.join(os.path.abspath(os.environ.get("BUILD", "build")), "sweep")

MAX_RSS = 256 << 20
MAX_ADDRESS_SPACE = 1 << 30
SMALL = 16 << 10        # files up to here: every prefix, every byte
CUTS = 1000             # seeded, of larger ones
MAX_BOUNDARIES = 6000   # of larger ones, then sampled
MAX_SEED_FILE = 2 << 20
MAX_FAILURES = 200      # then no more is tried

with open(FRAMEWALK, "rb") as program:
    SANITIZED = b"__asan_init" in program.read()
TIMEOUT = 20 if SANITIZED else 2


# --- running ---------------------------------------------------------------------------


class Result:
    def __init__(self, status, out, err, rss, late):
        self.status, self.out, self.err = status, out, err
        self.rss, self.late = rss, late


def run(args, check):
    """Run framewalk with standard input from /dev/null; what @check says of the Result."""
    environment = {k: v for k, v in os.environ.items() if k == "PATH" or k.endswith("SAN_OPTIONS")}
    with tempfile.TemporaryFile(dir=SCRATCH) as out, tempfile.TemporaryFile(dir=SCRATCH) as err:
        pid = os.posix_spawn(FRAMEWALK, [FRAMEWALK, *args], environment, file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, out.fileno(), 1), (os.POSIX_SPAWN_DUP2, err.fileno(), 2)])
        fd = os.pidfd_open(pid)
        late = not select.select([fd], [], [], TIMEOUT)[0]
        if late:
            signal.pidfd_send_signal(fd, signal.SIGKILL)
        os.close(fd)
        _, status, usage = os.wait4(pid, 0)
        out.seek(0)
        err.seek(0)
        r = Result(os.waitstatus_to_exitcode(status), out, err.read(), usage.ru_maxrss << 10, late)
        return r, check(r)


def check_run(r):
    """What any run must keep to."""
    problems = []
    if r.late:
        return ["no answer in %d s" % TIMEOUT]
    if r.status < 0:
        problems.append("killed by %s" % signal.Signals(-r.status).name)
    elif r.status not in (0, 1):
        problems.append("exit status %d" % r.status)
    if r.rss > MAX_RSS and not SANITIZED:
        problems.append("%d MB of memory" % (r.rss >> 20))
    if r.err:
        try:
            text = r.err.decode("utf-8")
        except ValueError:
            return problems + ["standard error is not UTF-8"]
        if not text.endswith("\n") or re.search(r"[\0-\x09\x0b-\x1f\x7f]", text):
            problems.append("control bytes or no newline on standard error")
        for line in text.splitlines():
            if not re.match(r"framewalk: [^:]+: .+", line):
                problems.append("standard error: %s" % line[:200])
    return problems


def reject_constant(name):
    raise ValueError("%s is no JSON" % name)


def pairs(items):
    names = [k for k, _ in items]
    if len(set(names)) != len(names):
        raise ValueError("a key stands twice in an object")
    return dict(items)


def parse(line):
    return json.loads(line.decode("utf-8"), parse_constant=reject_constant, object_pairs_hook=pairs)


def check_report(report):
    """What holds of every report, whatever the input was."""
    threads = report["threads"] + [t for t in [report["crashing_thread"]] if t]
    for t in threads:
        if t["frame_count"] != len(t["frames"]) or not t["stop_reason"]:
            return ["thread %s: frame_count or stop_reason" % t["thread_id"]]
        if [f["frame"] for f in t["frames"]] != list(range(len(t["frames"]))):
            return ["thread %s: frames are not in order" % t["thread_id"]]
    return []


def check_ndjson(r, files, summary=False):
    failed, problems, count = [], [], 0
    for count, line in enumerate(r.out, 1):
        if count > len(files):
            break
        path = files[count - 1]
        if not line.endswith(b"\n"):
            problems.append("the last line has no end")
        try:
            report = parse(line)
            if report["status"] == "ERROR":
                failed.append(path)
                if report["error"]["file"] != path or not report["error"]["message"]:
                    problems.append("error: %s" % report["error"])
                if report["error"]["code"] == "no_memory":
                    problems.append("asked for too much memory")
            elif report["status"] != "OK":
                problems.append("status %s" % report["status"])
            elif not summary:
                problems += check_report(report)
                if report["capture"]["file"] != path:
                    problems.append("another file's report")
        except (ValueError, KeyError, TypeError) as e:
            problems.append("%s: %s" % (type(e).__name__, e))
    if count != len(files):
        problems.append("%d objects or more for %d inputs" % (count, len(files)))
    if r.status != (1 if failed else 0):
        problems.append("exit status %d, %d inputs failed" % (r.status, len(failed)))
    told = [line.split(": ")[1] for line in r.err.decode("utf-8", "replace").splitlines()]
    if told != failed:
        problems.append("standard error tells of %d files, %d failed" % (len(told), len(failed)))
    return problems


CONTROLS = re.compile(rb"[\0-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")


def check_machine(r, files):
    """Breakpad's format: bytes from 0x80 are what they were in the dump."""
    for line in r.out:
        found = CONTROLS.search(line)
        if found:
            return ["control byte %s in text" % found[0]]
    return []


def check_text(r, files):
    for line in r.out:
        try:
            line.decode("utf-8")
        except ValueError as e:
            return ["text is not UTF-8: %s" % e]
    r.out.seek(0)
    return check_machine(r, files)


def check_json(r, files):
    text = r.out.read()
    try:
        return [] if r.status == 1 and not text else (parse(text), [])[1]
    except ValueError as e:
        return ["no JSON: %s" % e]


# How a batch of dumps is shown; the first is used most.
DUMP_MODES = [
    (("stack", "--format", "ndjson", "-j", "1"), check_ndjson),
    (("stack", "--format", "ndjson", "--registers", "--brief", "-j", "2"), check_ndjson),
    (("stack", "--format", "ndjson", "--summary"), functools.partial(check_ndjson, summary=True)),
    (("stack", "--no-fold", "--registers"), check_text),
    (("stack",), check_text),
]
# A stack of thousands of frames is thousands of times the same.
SHORT = ("--max-frames", "400")
SHORT_MODES = [(("stack", "--format", "ndjson", "-j", "1", *SHORT), check_ndjson)]
# These take one capture at a time.
SINGLE_MODES = [
    (("stack", "--format", "machine"), check_machine),
    (("stack", "--json", "--pretty"), check_json),
    (("inspect",), check_text),
    (("inspect", "--json"), check_json),
]


# --- fixtures --------------------------------------------------------------------------


class Fixture:
    """A dump, or a .sym with the dumps whose modules it describes."""

    def __init__(self, kind, path, dumps=()):
        self.kind, self.path, self.dumps = kind, path, list(dumps)
        self.name = os.path.relpath(path, os.path.dirname(TESTDATA))
        self.size = os.path.getsize(path)
        self.store = os.sep.join(path.split(os.sep)[-3:])   # name/ID/name.sym

    @functools.cached_property
    def data(self):
        with open(self.path, "rb") as f:
            return f.read()

    @functools.cached_property
    def boundaries(self):
        return dump_boundaries(self.data) if self.kind == "dump" else \
            [m.end() for m in re.finditer(rb"\n", self.data)]

    @functools.cached_property
    def structures(self):
        """Ranges of a dump that are no memory: fields to change."""
        return dump_structures(self.data) if self.kind == "dump" else []


def u32(data, at):
    return struct.unpack_from("<I", data, at)[0] if at + 4 <= len(data) else 0


def dump_streams(data):
    count, at = u32(data, 8), u32(data, 12)
    return [struct.unpack_from("<III", data, at + 12 * i) for i in range(min(count, 100))
            if at + 12 * i + 12 <= len(data)]


RECORDS = {3: (4, 48), 4: (4, 108), 5: (4, 16), 24: (4, 12), 9: (16, 16), 16: (16, 48)}


def dump_structures(data):
    ranges = [(0, 32), (u32(data, 12), 12 * min(u32(data, 8), 100))]
    ranges += [(at, size) for kind, size, at in dump_streams(data) if kind != 0x47670009]
    for kind, size, at in dump_streams(data):
        if kind == 3:       # thread contexts
            ranges += [(u32(data, p + 44), u32(data, p + 40)) for p in range(at + 4, at + size, 48)]
        if kind == 4:       # module names and CodeView records
            for p in range(at + 4, at + size, 108):
                ranges.append((u32(data, p + 20), 64))
                ranges.append((u32(data, p + 80), u32(data, p + 76)))
    return [(a, min(n, len(data) - a)) for a, n in ranges if a < len(data) and 0 < n < 1 << 20]


def dump_boundaries(data):
    edges = set()
    for a, n in dump_structures(data):
        edges |= {a, a + n}
    directory = u32(data, 12)
    edges |= set(range(directory, directory + 12 * min(u32(data, 8), 100), 12))
    for kind, size, at in dump_streams(data):
        if kind in RECORDS:
            first, step = RECORDS[kind]
            edges |= set(range(at + first, at + size + 1, step))
        if kind in (3, 5):
            for p in range(at + 4, at + size, 48 if kind == 3 else 16):
                q = p + (32 if kind == 3 else 8)
                edges |= {u32(data, q + 4), u32(data, q + 4) + u32(data, q)}
    return sorted(e for e in edges if 0 < e < len(data))


def fixtures():
    found = []
    for folder in sorted(glob.glob(TESTDATA + "/*/")):
        dumps = glob.glob(folder + "crash.dmp")
        found += [Fixture("dump", d) for d in dumps]
        found += [Fixture("sym", s, dumps) for s in sorted(glob.glob(folder + "symbols/*/*/*.sym"))]
    if CORPUS:
        for folder in sorted(glob.glob(os.path.abspath(CORPUS) + "/minidumps/*/")):
            dumps = sorted(glob.glob(folder + "*.dmp"))
            found += [Fixture("dump", d) for d in dumps]
            for store in sorted(glob.glob(folder + "symbols*")):
                found += [Fixture("sym", s, dumps) for s in sorted(glob.glob(store + "/*/*/*.sym"))]
        found += [Fixture("dump", d) for d in sorted(glob.glob(os.path.abspath(CORPUS) + "/cores/*/*.dmp"))]
    return [f for f in found if 0 < f.size <= MAX_SEED_FILE]


# --- mutators --------------------------------------------------------------------------

VALUES = [0, -1, 1 << 31, (1 << 32) - 1, (1 << 31) - 1, 1, (1 << 63), (1 << 64) - 1, 1 << 32, 0x10000, 4096]


def field_offset(rng, f, width):
    """Where a field of @width bytes may be: mostly in structures, aligned."""
    if f.structures and rng.random() < 0.85:
        start, size = rng.choice(f.structures)
        at = start + rng.randrange(max(1, size - width + 1)) // 4 * 4
    else:
        at = rng.randrange(max(1, f.size - width + 1)) // 4 * 4
    return max(0, min(at, f.size - width))


def truncate(rng, f, data, others):
    at = rng.choice(f.boundaries) if f.boundaries and rng.random() < 0.5 else rng.randrange(len(data) + 1)
    return data[:max(0, at + rng.choice((-1, 0, 0, 1)))]


def flip(rng, f, data, others):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        at = field_offset(rng, f, 1) + rng.randrange(4)
        if at < len(data):
            data[at] ^= 1 << rng.randrange(8)
    return bytes(data)


def overwrite(rng, f, data, others):
    at, n = rng.randrange(len(data)), rng.choice((1, 4, 16, 256))
    return data[:at] + rng.randbytes(min(n, len(data) - at)) + data[at + n:]


def splice(rng, f, data, others):
    other = rng.choice(others)
    a = rng.choice(f.boundaries) if f.boundaries and rng.random() < 0.7 else rng.randrange(len(data))
    b = rng.choice(other.boundaries) if other.boundaries and rng.random() < 0.7 else rng.randrange(other.size)
    return data[:a] + other.data[rng.choice((a, b)):]


def swap_fields(rng, f, data, others):
    data, width = bytearray(data), rng.choice((4, 4, 8))
    a, b = field_offset(rng, f, width), field_offset(rng, f, width)
    if len(data) >= width:
        data[a:a + width], data[b:b + width] = data[b:b + width], data[a:a + width]
    return bytes(data[:f.size])


def replace_field(rng, f, data, others):
    data, width = bytearray(data), rng.choice((2, 4, 4, 4, 8))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = field_offset(rng, f, width)
        value = rng.choice(VALUES + [f.size, f.size - at, rng.randrange(f.size + 1)])
        data[at:at + width] = (value & (1 << 8 * width) - 1).to_bytes(width, "little")
    return bytes(data[:f.size])


def pack(rng, f, data, others):
    packed = bytearray(gzip.compress(data, rng.choice((1, 6, 9)), mtime=0))
    for _ in range(rng.choice((0, 1, 1, 3))):
        packed[rng.randrange(len(packed))] ^= 1 << rng.randrange(8)
    return bytes(packed[:rng.choice((len(packed), len(packed), rng.randrange(len(packed))))])


def text_lines(data):
    return data.split(b"\n")


def swap_lines(rng, f, data, others):
    lines = text_lines(data)
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def repeat_line(rng, f, data, others):
    lines = text_lines(data)
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines) + 1)
    return b"\n".join(lines[:b] + [lines[a]] * rng.choice((1, 2, 300)) + lines[b:])


def drop_line(rng, f, data, others):
    lines = text_lines(data)
    a = rng.randrange(len(lines))
    return b"\n".join(lines[:a] + lines[a + rng.choice((1, 1, 5)):])


TOKENS = [b"0", b"-1", b"80000000", b"ffffffff", b"7fffffff", b"100000000", b"ffffffffffffffff", b"8000000000000000",
          b"10000000000000000", b"1" * 40, b"", b"-", b"^", b"+", b"@", b"/", b"%", b"=", b"$", b".cfa:", b".ra:", b"$rsp",
          b"-9223372036854775808", b"\0", b"\xff\xfe", b"4294967296", b"2147483648", b"x" * 70000, b"m", b"STACK CFI",
          b"$rip:", b".cfa 8 - ^", b"^ ^ ^ ^", b"0 0 /", b"INIT", b"1 " * 600, b"1 " * 200 + b"+ " * 199]


def replace_token(rng, f, data, others):
    lines = text_lines(data)
    for _ in range(rng.choice((1, 1, 3))):
        a = rng.randrange(len(lines))
        tokens = lines[a].split(b" ")
        tokens[rng.randrange(len(tokens))] = rng.choice(TOKENS)
        lines[a] = b" ".join(tokens)
    return b"\n".join(lines)


def swap_tokens(rng, f, data, others):
    lines = text_lines(data)
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    x, y = lines[a].split(b" "), lines[b].split(b" ")
    i, j = rng.randrange(len(x)), rng.randrange(len(y))
    x[i], y[j] = y[j], x[i]
    lines[a] = b" ".join(x)
    if a != b:
        lines[b] = b" ".join(y)
    return b"\n".join(lines)


def insert_bytes(rng, f, data, others):
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice((b"\0", b"\xff", b"\r", b"\n", b"\n\n\r\n", b" " * 300, rng.randbytes(16))) + data[at:]


MUTATORS = {
    "dump": [truncate, flip, flip, overwrite, splice, swap_fields, replace_field, replace_field, replace_field, pack],
    "sym": [truncate, flip, overwrite, splice, swap_lines, repeat_line, drop_line, replace_token, replace_token,
            replace_token, swap_tokens, insert_bytes],
}


class Mutant:
    """One file, made when it is needed: there may be a hundred thousand of them.

    @make: returns its bytes and a word on how they came about.
    """

    def __init__(self, label, fixture, make):
        self.label, self.fixture, self.make = label, fixture, make

    @property
    def data(self):
        return self.make()[0]

    @property
    def what(self):
        return self.make()[1]


def make_mutant(seed, index, everything):
    """Number @index of @seed: the same whatever was made before it."""
    rng = random.Random("%d:%d" % (seed, index))
    kind = "dump" if rng.random() < 0.55 else "sym"
    same = [f for f in everything if f.kind == kind]
    # Small ones more often: their bytes are more often read.
    f = rng.choices(same, weights=[1 if g.size <= SMALL * 5 else 0.1 for g in same])[0]

    def make():
        rng = random.Random("%d:%d:%s" % (seed, index, kind))
        data, names = f.data, []
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            mutate = rng.choice(MUTATORS[kind])
            # Offsets of fields and boundaries are those of the whole dump.
            if len(data) == f.size or kind == "sym" and data:
                names.append(mutate.__name__)
                data = mutate(rng, f, data, same)
        return data, "%s, %d bytes" % ("+".join(names), len(data))

    return Mutant("%d:%d" % (seed, index), f, make)


# --- batches ---------------------------------------------------------------------------


class Sweep:
    """Puts mutants through the program and remembers what went wrong."""

    def __init__(self, everything):
        self.stores = sorted({os.sep.join(f.path.split(os.sep)[:-3]) for f in everything if f.kind == "sym"})
        self.originals = [a for s in self.stores for a in ("-s", s)]
        self.lock = threading.Lock()
        self.failures = []
        self.runs = self.files = self.peak = 0

    def attempt(self, args, check, files):
        def everything(r):
            problems = check_run(r)
            return problems if r.late or r.status not in (0, 1) else problems + check(r, files)

        r, problems = run(args, everything)
        with self.lock:
            self.runs += 1
            self.peak = max(self.peak, r.rss)
        # A process begins as a copy of this one, which its peak then includes.
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10 > MAX_RSS // 2:
            raise MemoryError("this script is too large to measure others")
        return problems

    def dumps(self, mutants, modes):
        """Mutated dumps, unchanged symbols."""
        with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
            files = []
            for i, m in enumerate(mutants):
                files.append("%s/%d.dmp" % (folder, i))
                with open(files[-1], "wb") as out:
                    out.write(m.data)
            for args, check in modes:
                args = [*args, *([] if args[0] == "inspect" else ["--no-cache", *self.originals])]
                if self.attempt([*args, *files], check, files):
                    self.alone(mutants, [(m, [*args, path], check, [path]) for m, path in zip(mutants, files)])
        with self.lock:
            self.files += len(mutants)

    def single(self, m, modes):
        with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
            path = folder + "/one.dmp"
            with open(path, "wb") as out:
                out.write(m.data)
            for args, check in modes:
                args = [*args, *([] if args[0] == "inspect" else ["--no-cache", *self.originals]), path]
                self.alone([m], [(m, args, check, [path])])

    def symbols(self, mutants, rules=False):
        """Mutated .sym files of different modules, in one store before the unchanged ones."""
        with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
            runs, dumps = [], []
            for i, m in enumerate(mutants):
                for root in (folder + "/all", folder + "/%d" % i):
                    path = os.path.join(root, m.fixture.store)
                    os.makedirs(os.path.dirname(path))
                    with open(path, "wb") as out:
                        out.write(m.data)
                args = ["stack", "--format", "ndjson", *SHORT, "--no-cache", "-s", folder + "/%d" % i, *self.originals]
                runs.append((m, [*args, *m.fixture.dumps], check_ndjson, m.fixture.dumps))
                dumps += [d for d in m.fixture.dumps if d not in dumps]
                if rules:
                    args = ["rules", path, "0", "0x1000", "0x11ef", "0x1200", "0x2724a", "ffffffff", "--no-cache"]
                    self.alone([m], [(m, args, check_text, []), (m, [*args, "--json"], check_json, [])])
            args = ["stack", "--format", "ndjson", *SHORT, "--no-cache", "-s", folder + "/all", *self.originals, *dumps]
            if self.attempt(args, check_ndjson, dumps):
                self.alone(mutants, runs)
        with self.lock:
            self.files += len(mutants)

    def alone(self, mutants, runs):
        """Each by itself: which one is it?"""
        wrong = False
        for m, args, check, files in runs:
            problems = self.attempt(args, check, files)
            if problems:
                wrong = True
                self.fail(m, args, problems)
        if not wrong and len(mutants) > 1:
            self.fail(mutants[0], runs[0][1], ["only together with the next %d" % (len(mutants) - 1)])

    def fail(self, m, args, problems):
        if len(self.failures) >= MAX_FAILURES:
            raise RuntimeError("too many failures")
        os.makedirs(KEEP, exist_ok=True)
        kept = os.path.join(KEEP, "%s-%s" % (re.sub(r"[^0-9a-z]+", "-", m.label.lower()),
                                            os.path.basename(m.fixture.path)))
        with open(kept, "wb") as out:
            out.write(m.data)
        with self.lock:
            self.failures.append("%s (%s, %s): %s; kept as %s; %s" % (
                m.label, m.fixture.name, m.what, "; ".join(problems[:3])[:400], kept,
                " ".join(a for a in args if a not in self.originals or a == "-s")[:200]))


def image_mutants(rng, data):
    """(what, bytes) without end: an image of the cache, damaged."""
    while True:
        at = rng.randrange(len(data))
        kind = rng.randrange(6)
        if kind < 3:
            yield "byte %d ^ %#x" % (at, 1 << at % 8), data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1:]
        elif kind == 3:
            yield "cut at %d" % at, data[:at]
        elif kind == 4:
            a = at // 4 * 4
            value = rng.choice(VALUES) & 0xffffffff
            yield "field %d = %#x" % (a, value), (data[:a] + struct.pack("<I", value) + data[a + 4:])[:len(data)]
        else:
            a = at // 4096 * 4096
            yield "page %d zero" % (a // 4096), data[:a] + bytes(min(4096, len(data) - a)) + data[a + 4096:]


def sweep_images(sweep, everything, seed, jobs, count):
    """A damaged image in the cache costs time, never an answer: the report stays what it was."""
    def one(f, folder, name, data, args, want, what):
        with tempfile.TemporaryDirectory(dir=SCRATCH) as cache:
            copy = cache + "/c"
            shutil.copytree(folder, copy)
            with open(os.path.join(copy, name), "wb") as out:
                out.write(data)
            problems = sweep.attempt([*args, "--cache", copy], lambda r, files: [] if
                                     (r.status, r.out.read()) == (0, want) else ["another report"], [])
            if problems:
                sweep.fail(Mutant("image-" + what.replace(" ", "-"), f, lambda: (data, what)), args, problems)
        with sweep.lock:
            sweep.files += 1

    def tasks():
        for f in everything:
            if f.kind != "dump" or not f.path.startswith(TESTDATA + os.sep):
                continue
            with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
                store = os.path.join(os.path.dirname(f.path), "symbols")
                args = ["stack", "--json", *SHORT, f.path, "-s", store]
                want = run([*args, "--cache", folder], lambda r: r.out.read())[1]
                rng = random.Random("%d:images:%s" % (seed, f.name))
                for path in sorted(glob.glob(folder + "/**/*.img", recursive=True)):
                    with open(path, "rb") as image:
                        data = image.read()
                    name = os.path.relpath(path, folder)
                    for what, mutant in itertools.islice(image_mutants(rng, data), count):
                        yield functools.partial(one, f, folder, name, mutant, args, want, what)
                # The copies are made from the folder: wait for them.
                yield None

    drive(jobs, tasks())


def distinct_stores(mutants, size=16):
    """Batches in which no two files are of one module."""
    open_batches = []
    for m in mutants:
        batch = next((b for b in open_batches if all(o.fixture.store != m.fixture.store for o in b)), None)
        if batch is None:
            batch = []
            open_batches.append(batch)
        batch.append(m)
        if len(batch) == size or len(open_batches) > 64:
            done = max(open_batches, key=len)
            open_batches.remove(done)
            yield done
    yield from open_batches


def groups(items, size):
    batch = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def drive(jobs, tasks):
    """Run callables on some threads, never holding many at once."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        pending = set()
        for task in tasks:
            if task is None:        # what comes next waits for what came before
                concurrent.futures.wait(pending)
                continue
            pending.add(pool.submit(task))
            if len(pending) > 2 * jobs:
                done, pending = concurrent.futures.wait(pending, return_when=concurrent.futures.FIRST_COMPLETED)
                for d in done:
                    d.result()
        for p in pending:
            p.result()


def sweep_mutants(sweep, everything, seed, count, jobs):
    def dump_tasks():
        mutants = (make_mutant(seed, i, everything) for i in range(count))
        for n, batch in enumerate(groups((m for m in mutants if m.fixture.kind == "dump"), 64)):
            modes = [DUMP_MODES[0], DUMP_MODES[1 + n % (len(DUMP_MODES) - 1)]]
            yield functools.partial(sweep.dumps, batch, modes)
            yield functools.partial(sweep.single, batch[n % len(batch)], SINGLE_MODES)

    def symbol_tasks():
        mutants = (make_mutant(seed, i, everything) for i in range(count))
        for n, batch in enumerate(distinct_stores(m for m in mutants if m.fixture.kind == "sym")):
            yield functools.partial(sweep.symbols, batch, n % 4 == 0)

    drive(jobs, dump_tasks())
    drive(jobs, symbol_tasks())


def cuts_of(f, seed):
    if f.size <= SMALL:
        return range(f.size)
    rng = random.Random("%d:cuts:%s" % (seed, f.name))
    near = sorted({b + d for b in f.boundaries for d in (-1, 0, 1) if 0 <= b + d < f.size})
    if len(near) > MAX_BOUNDARIES:
        near = sorted(rng.sample(near, MAX_BOUNDARIES))
    return sorted(set(near) | {rng.randrange(f.size) for _ in range(CUTS)})


def cut_mutants(f, seed, step):
    for n in list(cuts_of(f, seed))[::step]:
        yield Mutant("prefix-%d" % n, f, lambda n=n: (f.data[:n], "first %d bytes" % n))


def flipped(f, at, mask):
    data = bytearray(f.data)
    data[at] ^= mask
    return bytes(data), "byte %d ^ %#x" % (at, mask)


def flip_mutants(f, seed, step):
    if f.size <= SMALL:
        places = range(f.size)
    else:
        rng = random.Random("%d:flips:%s" % (seed, f.name))
        places = sorted({rng.randrange(f.size) for _ in range(2 * CUTS)})
    for at in list(places)[::step]:
        for mask in (0xff, 1 << at % 8):
            yield Mutant("flip-%d-%02x" % (at, mask), f, functools.partial(flipped, f, at, mask))


def interleave(iterators):
    """One of each in turn, so that neighbours are of different files."""
    iterators = list(iterators)
    while iterators:
        for i in list(iterators):
            try:
                yield next(i)
            except StopIteration:
                iterators.remove(i)


def sweep_places(sweep, everything, make, seed, jobs, step):
    """Every place of every fixture of ours, and of the corpus's small ones."""
    ours = [f for f in everything if f.path.startswith(TESTDATA + os.sep) or f.size <= SMALL]
    tasks = (functools.partial(sweep.dumps, batch, SHORT_MODES)
             for f in ours if f.kind == "dump" for batch in groups(make(f, seed, step), 200))
    drive(jobs, tasks)
    symbols = interleave(make(f, seed, step) for f in ours if f.kind == "sym")
    drive(jobs, (functools.partial(sweep.symbols, batch) for batch in distinct_stores(symbols)))


# --- main ------------------------------------------------------------------------------


def replay(everything, label):
    seed, index = map(int, label.split(":"))
    sweep = Sweep(everything)
    m = make_mutant(seed, index, everything)
    print("# %s: %s of %s" % (m.label, m.what, m.fixture.name))
    if m.fixture.kind == "dump":
        sweep.dumps([m], DUMP_MODES)
        sweep.single(m, SINGLE_MODES)
    else:
        sweep.symbols([m], True)
    if not sweep.failures:
        sweep.fail(m, [], ["nothing is wrong"])
        print("ok 1 - %s" % sweep.failures[0])
        return 0
    print("\n".join("not ok 1 - " + f for f in sweep.failures))
    return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case")
    parser.add_argument("--prefixes", action="store_true")
    parser.add_argument("--flips", action="store_true")
    parser.add_argument("--images", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1))
    args = parser.parse_args()
    everything = fixtures()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MAX_ADDRESS_SPACE, MAX_ADDRESS_SPACE))
    if args.case:
        return replay(everything, args.case)
    count = args.count or (800 if args.check else 0 if args.prefixes or args.flips or args.images else 10000)
    step = 61 if args.check else 1
    parts = []
    if count:
        parts.append(("%d mutants, seed %d" % (count, args.seed),
                      lambda s: sweep_mutants(s, everything, args.seed, count, args.jobs)))
    if args.prefixes or args.check:
        parts.append(("prefixes", lambda s: sweep_places(s, everything, cut_mutants, args.seed, args.jobs, step)))
    if args.flips or args.check:
        parts.append(("flipped bytes",
                      lambda s: sweep_places(s, everything, flip_mutants, args.seed, args.jobs, 2 * step)))
    if args.images or args.check:
        parts.append(("damaged images in the cache",
                      lambda s: sweep_images(s, everything, args.seed, args.jobs, 6 if args.check else 500)))
    failed = False
    for number, (name, part) in enumerate(parts, 1):
        sweep = Sweep(everything)
        begun = time.monotonic()
        try:
            part(sweep)
        except RuntimeError as e:
            sweep.failures.append(str(e))
        bad = sorted(set(sweep.failures))
        failed |= bool(bad)
        print("%s %d - %s: %d files, %d runs, at most %d MB, %.0f s" % (
            "not ok" if bad else "ok", number, name, sweep.files, sweep.runs, sweep.peak >> 20,
            time.monotonic() - begun))
        for line in bad[:20]:
            print("#   " + line)
        if len(bad) > 20:
            print("#   ... and %d more" % (len(bad) - 20))
        sys.stdout.flush()
    print("1..%d" % len(parts))
    return 1 if failed else 0


SHM = "/dev/shm"
SCRATCH = tempfile.mkdtemp(prefix="framewalk-sweep-", dir=SHM if os.access(SHM, os.W_OK) else None)


def finish(work):
    try:
        status = work()
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
    sys.exit(status)


if __name__ == "__main__":
    finish(main)
