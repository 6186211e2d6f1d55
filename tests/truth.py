#!/usr/bin/env python3
"""Compare framewalk's stacks with known ones, frame by frame.

usage: truth.py [FRAMEWALK]      (or FRAMEWALK in the environment; also TESTDATA and CORPUS)

The truth is never framewalk's: testdata/*/truth.txt is gdb's, the answers for CORPUS are those of its README.md and of
the truth.json files there. Writes TAP. Four questions are asked of every case:

  with symbols     module+offset, function, file:line, inline calls and signal frames of every frame of every thread;
                   no frame more, no frame less, and the walk knows that the stack ended
  without          no symbols, the program's code bytes only, or another program's symbols: what is printed is true,
                   in the true order. How much is found is told, not asked for
  as text          the same frames in the text and machine formats
  the same again   from the cache, and with the store given instead of the folder: byte for byte the same
"""
import atexit
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FRAMEWALK = os.path.abspath((sys.argv[1:] or [os.environ.get("FRAMEWALK", "build/framewalk")])[0])
TESTDATA = os.environ.get("TESTDATA", os.path.join(HERE, "..", "testdata"))
CORPUS = os.environ.get("CORPUS", "")
TRUSTS = {"context", "cfi", "cfi_scan", "frame_pointer", "scan", "leaf", "prologue", "prewalked"}
NO_MODULE = "-"


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = 0

    def result(self, name, problems=(), note=""):
        self.count += 1
        self.failed += bool(problems)
        print("%s %d - %s%s" % ("not ok" if problems else "ok", self.count, name, note and "  (%s)" % note))
        for problem in list(problems)[:10]:
            print("#   " + problem)
        if len(problems) > 10:
            print("#   ... and %d more" % (len(problems) - 10))
        sys.stdout.flush()

    def skip(self, name, why):
        self.count += 1
        print("ok %d - %s # SKIP %s" % (self.count, name, why))


tap = Tap()


EMPTY_ROOT = tempfile.mkdtemp()
atexit.register(os.rmdir, EMPTY_ROOT)


def run(*args):
    """(exit status, standard output, standard error) of framewalk."""
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    for name in os.environ:
        if name.endswith("SAN_OPTIONS"):
            environment[name] = os.environ[name]
    if args and args[0] == "stack" and "--sysroot" not in args:
        # what happens to be installed on this machine must not matter
        args = (args[0], "--sysroot", EMPTY_ROOT, *args[1:])
    p = subprocess.run([FRAMEWALK, *args], capture_output=True, env=environment, timeout=120)
    return p.returncode, p.stdout, p.stderr.decode("utf-8", "replace")


def report(dump, *args):
    """The parsed report; a list of what went wrong."""
    if not any(a.startswith(("--cache", "--no-cache")) for a in args):
        args = ("--no-cache", *args)
    status, out, err = run("stack", "--json", dump, *args)
    if status != 0 or err:
        return None, ["exit status %d, standard error: %s" % (status, err.strip()[:300])]
    try:
        return json.loads(out.decode("utf-8")), []
    except ValueError as e:
        return None, ["no JSON: %s" % e]


# --- the truth of testdata -----------------------------------------------------------------------------------------


class Frame:
    def __init__(self, place, name, source):
        module, _, offset = place.rpartition("+0x")
        self.module = module
        self.offset = int(offset, 16)
        self.name = name
        self.source = source
        self.inlines = []
        self.signal = False

    def place(self):
        return "%s+%#x" % (self.module, self.offset)


class Thread:
    def __init__(self, line):
        fields = line.split(" ", 2)
        self.id = int(fields[1])
        self.name = fields[2]
        self.crashed = self.name.endswith(" crashed")
        if self.crashed:
            self.name = self.name[:-len(" crashed")]
        self.frames = []


def read_truth(path):
    threads, inlines = [], []
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if line.startswith("thread "):
            threads.append(Thread(line))
            continue
        place, name, source, *flags = line.split("\t")
        if flags == ["inline"]:
            inlines.append((name, source))
            continue
        frame = Frame(place, name, source)
        frame.inlines, inlines = inlines, []
        frame.signal = flags == ["signal"]
        threads[-1].frames.append(frame)
    return threads


# --- what framewalk says, in the same terms --------------------------------------------------------------------------


def source_of(entry):
    if entry["file"] is None:
        return "-"
    return entry["file"] if entry["line"] is None else "%s:%d" % (entry["file"], entry["line"])


def place_of(frame, modules, problems):
    """(module, offset of the raw pc); complains when the frame's own fields disagree."""
    pc, lookup = int(frame["pc"], 16), int(frame["offset"], 16)
    inside = [m for m in modules if int(m["base_addr"], 16) <= lookup < int(m["end_addr"], 16)]
    if not inside:
        if frame["module"] is not None or frame["module_offset"] is not None:
            problems.append("frame %d: module %s, but no module is there" % (frame["frame"], frame["module"]))
        return NO_MODULE, pc
    base = int(inside[0]["base_addr"], 16)
    if frame["module"] != inside[0]["filename"] or int(frame["module_offset"] or "-1", 16) != lookup - base:
        problems.append("frame %d: %s+%s is not at %s" % (frame["frame"], frame["module"], frame["module_offset"],
                                                        frame["offset"]))
    return frame["module"], pc - base


def check_shape(thread, problems):
    frames = thread["frames"]
    if thread["frame_count"] != len(frames) or [f["frame"] for f in frames] != list(range(len(frames))):
        problems.append("thread %d: frames are not numbered 0 to %d" % (thread["thread_id"], thread["frame_count"]))
    for frame in frames:
        if frame["trust"] not in TRUSTS or (frame["trust"] == "context") != (frame["frame"] == 0):
            problems.append("thread %d frame %d: trust %s" % (thread["thread_id"], frame["frame"], frame["trust"]))
        back = int(frame["pc"], 16) - int(frame["offset"], 16)
        exact = frame["frame"] == 0 or frames[frame["frame"] - 1]["signal_frame"]
        # Below the trampoline the pc is exact; the trampoline itself is entered by no call either way.
        if not frame["signal_frame"] and back != (0 if exact else 1):
            problems.append("thread %d frame %d: looked up %d before pc" % (thread["thread_id"], frame["frame"], back))


def same_name(truth, got):
    """A .sym has the return types of C++ templates, gdb does not."""
    return got == truth or (got is not None and "<" in truth and got.endswith(" " + truth))


def compare_frame(where, truth, got, modules, problems):
    module, offset = place_of(got, modules, problems)
    if (module, offset) != (truth.module, truth.offset):
        problems.append("%s: want %s, have %s+%#x" % (where, truth.place(), module, offset))
        return False
    if truth.signal != got["signal_frame"]:
        problems.append("%s: signal_frame is %s" % (where, got["signal_frame"]))
    have = [(i["function"], source_of(i)) for i in got["inlines"] or []] + [(got["function"], source_of(got))]
    want = truth.inlines + [(truth.name, truth.source)]
    for (name, source), (have_name, have_source) in zip(want, have):
        if not same_name(name, "-" if have_name is None else have_name) or source != have_source:
            problems.append("%s: want %s (%s), have %s (%s)" % (where, name, source, have_name, have_source))
    if len(want) != len(have):
        problems.append("%s: want %d inline calls, have %d" % (where, len(want) - 1, len(have) - 1))
    return True


def compare_whole(threads, got):
    problems = []
    by_id = {t["thread_id"]: t for t in got["threads"]}
    if sorted(by_id) != sorted(t.id for t in threads) or len(by_id) != len(got["threads"]):
        problems.append("threads %s, have %s" % (sorted(t.id for t in threads), sorted(by_id)))
    crashed = [t.id for t in threads if t.crashed]
    if [got["crash_info"]["crashing_thread_id"]] != crashed:
        problems.append("want crashed %s, have %s" % (crashed, got["crash_info"]["crashing_thread_id"]))
    if got["crashing_thread"] is None or [got["crashing_thread"]["thread_id"]] != crashed:
        problems.append("crashing_thread is not the crashed one")
    elif {**got["crashing_thread"], "threads_index": None} != {**by_id[crashed[0]], "threads_index": None}:
        first = {**got["crashing_thread"]["frames"][0], "registers": None}
        if [first] + got["crashing_thread"]["frames"][1:] != by_id[crashed[0]]["frames"]:
            problems.append("crashing_thread has other frames than its entry in threads")
    for truth in threads:
        thread = by_id.get(truth.id)
        if thread is None:
            continue
        if thread["thread_name"] not in (truth.name, None):
            problems.append("thread %d: want name %s, have %s" % (truth.id, truth.name, thread["thread_name"]))
        check_shape(thread, problems)
        for i, frame in enumerate(truth.frames):
            where = "thread %d frame %d" % (truth.id, i)
            if i >= len(thread["frames"]):
                problems.append("%s: want %s, the walk ended: %s, %s" % (
                    where, frame.place(), thread["stop_reason"], thread["stop_detail"]))
                break
            if not compare_frame(where, frame, thread["frames"][i], got["modules"], problems):
                break
        if len(thread["frames"]) > len(truth.frames):
            problems.append("thread %d: %d frames more than the truth has" % (
                truth.id, len(thread["frames"]) - len(truth.frames)))
        elif thread["stop_reason"] != "end_of_stack":
            problems.append("thread %d: ends with %s, %s" % (truth.id, thread["stop_reason"], thread["stop_detail"]))
    return problems


def compare_found(threads, got, names=()):
    """(problems, frames found, frames there are): every frame printed is in the truth, in the same order."""
    problems, found, total = [], 0, 0
    by_id = {t["thread_id"]: t for t in got["threads"]}
    for truth in threads:
        total += len(truth.frames)
        thread = by_id.get(truth.id)
        if thread is None:
            problems.append("thread %d is missing" % truth.id)
            continue
        check_shape(thread, problems)
        i = 0
        for frame in thread["frames"]:
            place = place_of(frame, got["modules"], problems)
            while i < len(truth.frames) and (truth.frames[i].module, truth.frames[i].offset) != place:
                i += 1
            if i == len(truth.frames):
                problems.append("thread %d frame %d: %s+%#x (%s) is not in the truth, or not there" % (
                    truth.id, frame["frame"], *place, frame["trust"]))
                break
            name = frame["function"]
            if name is not None and (truth.frames[i].module not in names or not same_name(truth.frames[i].name, name)):
                problems.append("thread %d frame %d: named %s" % (truth.id, frame["frame"], name))
            i += 1
            found += 1
        if thread["stop_reason"] not in ("end_of_stack", "no_rule", "memory_missing", "implausible", "truncated_stack"):
            problems.append("thread %d: stop_reason %s" % (truth.id, thread["stop_reason"]))
    return problems, found, total


# --- testdata --------------------------------------------------------------------------------------------------------


def statuses(got, folder):
    """Each module of the capture has the symbols that the folder holds for its id, or none."""
    problems = []
    there = {tuple(p.split(os.sep)[-3:-1]) for p in glob.glob(folder + "/symbols/*/*/*.sym")}
    for m in got["modules"]:
        have = (m["debug_file"], m["debug_id"]) in there
        allowed = ("loaded",) if have and m["on_stack"] else ("found", "loaded") if have else ("missing",)
        if m["symbol_status"] not in allowed:
            problems.append("%s %s: symbol_status %s" % (m["debug_file"], m["debug_id"], m["symbol_status"]))
    return problems


def test_whole(case, folder, threads):
    dump = folder + "/crash.dmp"
    got, problems = report(dump, "-s", folder)
    if got is not None:
        problems = compare_whole(threads, got) + statuses(got, folder)
    tap.result("%s: every thread is the truth" % case, problems,
               "%d frames" % sum(len(t.frames) for t in threads))


PLACE = re.compile(r" \[(?:(\S+) \+ )?(0x[0-9a-f]+)\]  (.*)$")
NAME = re.compile(r"(.+?)(?: \+ 0x[0-9a-f]+)?$")


def text_threads(text):
    """{thread id: [[name, source], ..., innermost first, and (module, offset, trust) with physical frames]}."""
    threads, frames = {}, None
    for line in text.splitlines():
        head = re.match(r'Thread \d+(?: ".*")?, id (\d+)(, crashed)?$', line)
        if head:
            frames = threads[int(head[1])] = []
            continue
        frame = re.match(r"  #(\d+) +(.*)$", line)
        if not frame or frames is None:
            continue
        rest = frame[2]
        place = PLACE.search(" " + rest)
        if place:
            rest = rest[:len(rest) - len(place[0]) + 1] if len(rest) >= len(place[0]) else ""
        else:
            rest = re.sub(r" +inline$", "", rest)
        source = re.search(r" +\((\S+:\d+|\S+)\) *$", rest)
        name = NAME.match(rest[:source.start()] if source else rest.rstrip())
        frames.append((int(frame[1]), name[1] if name and name[1] != "??" else "-", source[1] if source else "-",
                       (place[1] or NO_MODULE, int(place[2], 16), place[3].strip()) if place else None))
    return threads


def test_text(case, folder, threads):
    status, out, err = run("stack", "--no-fold", folder + "/crash.dmp", "-s", folder, "--no-cache")
    problems = [] if (status, err) == (0, "") else ["exit status %d: %s" % (status, err)]
    have = text_threads(out.decode("utf-8"))
    for t in threads:
        want = []
        for i, f in enumerate(t.frames):
            want += [(i, name, source, None) for name, source in f.inlines]
            want.append((i, f.name, f.source, (f.module, f.offset, f.signal)))
        got = have.get(t.id, [])
        if len(got) != len(want):
            problems.append("thread %d: want %d lines, have %d" % (t.id, len(want), len(got)))
        for w, g in zip(want, got):
            place = g[3] and (g[3][0], g[3][1], "signal frame" in g[3][2])
            if (w[0], w[2], w[3]) != (g[0], g[2], place) or not same_name(w[1], g[1]):
                problems.append("thread %d: want %s, have %s" % (t.id, w, g))
    tap.result("%s: the text says the same" % case, problems)


def test_machine(case, folder, threads):
    status, out, err = run("stack", "--format", "machine", folder + "/crash.dmp", "-s", folder, "--no-cache")
    problems = [] if (status, err) == (0, "") else ["exit status %d: %s" % (status, err)]
    got, more = report(folder + "/crash.dmp", "-s", folder)
    index = {t["thread_id"]: i for i, t in enumerate(got["threads"])} if got else {}
    have = {}
    for line in out.decode("utf-8").partition("\n\n")[2].splitlines():
        thread, number, module, name, file, place, _ = line.split("|")
        have.setdefault(int(thread), []).append((int(number), module, name or "-",
                                                 "%s:%s" % (file, place) if file else "-"))
    for t in threads:
        want, n = [], 0
        for f in t.frames:
            for name, source in f.inlines + [(f.name, f.source)]:
                want.append((n, "" if f.module == NO_MODULE else f.module, name, source))
                n += 1
        lines = have.get(index.get(t.id), [])
        if len(lines) != len(want):
            problems.append("thread %d: want %d lines, have %d" % (t.id, len(want), len(lines)))
        for w, g in zip(want, lines):
            if (w[0], w[1], w[3]) != (g[0], g[1], g[3]) or not same_name(w[2], g[2]):
                problems.append("thread %d: want %s, have %s" % (t.id, w, g))
    tap.result("%s: the machine format says the same" % case, problems + more)


def test_again(case, folder):
    dump = folder + "/crash.dmp"
    with tempfile.TemporaryDirectory() as cache:
        first = run("stack", "--json", dump, "-s", folder, "--no-cache")
        problems = ["%s: other output" % what for what, args in (
            ("cache, cold", ("-s", folder, "--cache", cache)),
            ("cache, warm", ("-s", folder, "--cache", cache)),
        ) if run("stack", "--json", dump, *args) != first]
        if not glob.glob(cache + "/**/*.img", recursive=True):
            problems.append("nothing was cached")
    store = run("stack", "--json", dump, "-s", folder + "/symbols", "-s", folder + "/bin", "--no-cache")
    if store != first:
        problems.append("store and program instead of the folder: other output")
    for name in ("text", "machine"):
        args = ("stack", "--format", name, dump, "-s", folder, "--no-cache")
        if run(*args)[0] != 0 or run(*args) != run(*args, "-j", "4"):
            problems.append("--format %s: not the same twice" % name)
    tap.result("%s: the same again" % case, problems)


def program_of(threads):
    return next(f.module for t in threads for f in t.frames if f.name == "_start")


def symbol_ids(folder, module):
    return set(os.listdir(os.path.join(folder, "symbols", module))) \
        if os.path.isdir(os.path.join(folder, "symbols", module)) else set()


def test_without(case, folder, threads, cases):
    dump = folder + "/crash.dmp"
    for what, args in (("no symbols", ()), ("code bytes only", ("-s", folder + "/bin"))):
        got, problems = report(dump, *args)
        found = total = 0
        if got is not None:
            problems, found, total = compare_found(threads, got)
        tap.result("%s, %s: nothing invented" % (case, what), problems, "%d of %d frames found" % (found, total))
    # Symbols of programs that are not in this capture. Libraries of the same
    # id are in both; names of theirs are right or absent.
    program = program_of(threads)
    own = symbol_ids(folder, program)
    others = [c for c in cases if not own & symbol_ids(c, program)]
    args = [a for c in others for a in ("-s", c)]
    got, problems = report(dump, *args)
    found = total = 0
    if got is not None:
        libraries = {f.module for t in threads for f in t.frames} - {program}
        problems, found, total = compare_found(threads, got, libraries)
        module = next(m for m in got["modules"] if m["filename"] == program)
        want = "mismatch" if any(symbol_ids(c, program) for c in others) else "missing"
        if module["symbol_status"] != want:
            problems.append("%s: symbol_status %s, want %s" % (program, module["symbol_status"], want))
    tap.result("%s, symbols of others: nothing invented" % case, problems, "%d of %d frames found" % (found, total))


# --- the corpus: right answers in its README.md ---------------------------------------------------------------------


def chain(got):
    """The crashing thread as [(place, function, source, trust)], inline calls included."""
    result, problems = [], []
    for f in got["crashing_thread"]["frames"]:
        place = "%s+%#x" % place_of(f, got["modules"], problems)
        for i in f["inlines"] or []:
            result.append((place, i["function"], source_of(i), "inline"))
        result.append((place, f["function"], source_of(f), f["trust"]))
    return result, problems


def windows_x86(folder):
    dump = folder + "/minidump2.dmp"
    want = open(folder + "/minidump2.stackwalk.machine_readable.out", "rb").read()
    status, out, err = run("stack", "--format", "machine", dump, "-s", folder + "/symbols", "--no-cache")
    problems = [] if (status, err) == (0, "") else ["exit status %d: %s" % (status, err)]
    if out != want:
        a, b = want.split(b"\n"), out.split(b"\n")
        line = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        problems.append("line %d: want %s, have %s" % (line + 1, a[line:line + 1], b[line:line + 1]))
    tap.result("windows-x86: machine output is Breakpad's, byte for byte", problems)
    got, problems = report(dump, "-s", folder + "/symbols")
    if got is not None:
        have, problems = chain(got)
        names = [(name, source) for _, name, source, _ in have]
        want = [("`anonymous namespace'::CrashFunction", "c:\\test_app.cc:58"), ("main", "c:\\test_app.cc:65"),
                ("__tmainCRTStartup", "f:\\sp\\vctools\\crt_bld\\self_x86\\crt\\src\\crt0.c:327"),
                ("BaseProcessStart", "-")]
        if names != want:
            problems.append("have %s" % names)
    tap.result("windows-x86: crash at test_app.cc:58, four frames", problems)


def linux_inline(folder):
    for form, files in (("new", ("linux_inline.cpp", "c.cpp", "b.cpp", "a.cpp")), ("old", None)):
        got, problems = report(folder + "/linux_inline.dmp", "-s", folder + "/symbols-" + form)
        if got is not None:
            have, problems = chain(got)
            names = [h[1] and h[1].removesuffix("()") for h in have[:-1]]
            lines = [h[2].rpartition(":")[2] for h in have[:-1]]
            if names != ["func", "bar", "foo", "main"] or lines != ["27", "32", "39", "42"]:
                problems.append("have %s" % have)
            if files and [h[2].rpartition(":")[0] for h in have[:-1]] != list(files):
                problems.append("files: have %s" % have)
            if have[-1][0] != "libc.so.6+0x26d0a" or have[-1][3] != "frame_pointer":
                problems.append("last: have %s" % str(have[-1]))
            if got["crashing_thread"]["stop_reason"] not in ("no_rule", "end_of_stack", "implausible"):
                problems.append("stop_reason %s" % got["crashing_thread"]["stop_reason"])
        tap.result("linux-inline, %s form: func, bar, foo, main, libc.so.6+0x26d0a" % form, problems)


def linux_mini(folder):
    got, problems = report(folder + "/linux-mini.dmp")
    if got is not None:
        have, problems = chain(got)
        want = [("crash+0x1d72", "context"), ("libc-2.23.so+0x20830", "frame_pointer"), ("crash+0x1de9", "scan")]
        if [(h[0], h[3]) for h in have] != want:
            problems.append("have %s" % have)
        if got["crashing_thread"]["stop_reason"] != "end_of_stack":
            problems.append("stop_reason %s" % got["crashing_thread"]["stop_reason"])
        if int(got["crash_info"]["address"], 16) != 0x45 or not got["crash_info"]["type"].startswith("SIGSEGV"):
            problems.append("crash: %s" % got["crash_info"])
    tap.result("linux-mini, no symbols: exactly three frames", problems)


def crashpad_mac(folder):
    got, problems = report(folder + "/simple-crashpad.dmp")
    if got is not None:
        annotations = got["crashpad"]["annotations"]
        if annotations != [{"key": "hello", "value": "world"}]:
            problems.append("annotations: %s" % annotations)
        if len(got["modules"]) != 40:
            problems.append("%d modules" % len(got["modules"]))
    tap.result("crashpad-mac: annotation hello=world, 40 modules", problems)


def deep(folder):
    for name, count in (("deep4_100", 108), ("deep4_700", 708)):
        got, problems = report("%s/%s.dmp" % (folder, name), "-s", folder + "/symbols")
        if got is not None:
            frames = got["crashing_thread"]["frames"]
            check_shape(got["crashing_thread"], problems)
            if len(frames) != count or frames[-1]["function"] != "_start":
                problems.append("%d frames, the last %s" % (len(frames), frames[-1]["function"]))
            nameless = [f["frame"] for f in frames if f["function"] is None]
            if nameless != [0, count - 3]:
                problems.append("frames without a name: %s" % nameless)
            if got["crashing_thread"]["stop_reason"] != "end_of_stack":
                problems.append("stop_reason %s" % got["crashing_thread"]["stop_reason"])
            if {f["trust"] for f in frames[1:]} != {"cfi"}:
                problems.append("frames found otherwise than by CFI")
        tap.result("deep: %s has %d frames, two without a name" % (name, count), problems)


def base_name(module):
    return os.path.basename(module) if module != NO_MODULE else module


def entry_range(program):
    """Where the return address in _start can be: a little after the ELF header's entry point."""
    head = open(program, "rb").read(64)
    entry = int.from_bytes(head[24:32] if head[4] == 2 else head[24:28], "little")
    return range(entry + 1, entry + 0x40)


def core_truth(folder):
    """[(module+offset of each frame, whole)] by thread id; whole: the truth reaches the outermost frame."""
    modules = []
    for line in open(folder + "/modules.txt"):
        m = re.match(r"(0x[0-9a-f]+)\+(0x[0-9a-f]+) .* (\S+)$", line)
        if m:
            base = int(m[1], 16)
            modules.append((base, base + int(m[2], 16), base_name(m[3])))
    truth = json.load(open(folder + "/truth.json"))
    threads = []
    for t in truth["threads"]:
        frames = [f for f in t["frames"] if "pc" in f]
        places = []
        for i, f in enumerate(frames):
            pc = int(f["pc"], 16)
            if i and pc < 4096:
                break       # a debugger without a rule ran into rubbish
            shared = i + 1 < len(frames) and frames[i + 1]["pc"] == f["pc"]
            if f["type"] != "tailcall" and not (f["type"] == "inline" and shared):
                places.append(next(((n, pc - a) for a, b, n in modules if a <= pc < b), (NO_MODULE, pc)))
        if places:
            whole = truth.get("stop", {}).get(str(t["lwp"])) == "outermost" or frames[-1]["name"] == "_start"
            threads.append((t["lwp"], places, whole))
    return [(places, whole) for _, places, whole in sorted(threads)]


def core_case(folder, start):
    """`breakpad.dmp` is another run: threads are paired in order, and a thread that ran stands elsewhere.

    @start: what lies between main and _start, where gdb's truth ends at main.
    """
    truth = core_truth(folder)
    entry = entry_range(folder + "/a.out")
    sysroot = os.path.join(CORPUS, "sysroot")
    got, problems = report(folder + "/breakpad.dmp", "-s", folder, *(("-s", sysroot) if os.path.isdir(sysroot) else ()))
    found = total = 0
    if got is not None:
        threads = sorted(got["threads"], key=lambda t: t["thread_id"])
        if len(threads) != len(truth):
            problems.append("%d threads, the truth has %d" % (len(threads), len(truth)))
        for (places, whole), thread in zip(truth, threads):
            check_shape(thread, problems)
            total += len(places)
            left = list(places)
            for f in thread["frames"]:
                module, offset = place_of(f, got["modules"], problems)
                place = (base_name(module), offset)
                if f["frame"] == 0 and place[0] == left[0][0]:
                    place = left[0]
                if place in left:
                    left = left[left.index(place) + 1:]
                    found += 1
                elif not whole and (place in start or (place[0] == "a.out" and offset in entry)):
                    left = []
                else:
                    problems.append("thread %d frame %d: %s+%#x (%s) is not in the truth" % (
                        thread["thread_id"], f["frame"], *place, f["trust"]))
                    break
    tap.result("%s/breakpad.dmp: nothing invented" % os.path.basename(folder), problems,
               "%d of %d frames found" % (found, total))


def main():
    cases = sorted(os.path.dirname(p) for p in glob.glob(TESTDATA + "/*/truth.txt"))
    if not cases:
        print("not ok 1 - no case in %s" % TESTDATA)
        return 1
    for folder in cases:
        case = os.path.basename(folder)
        threads = read_truth(folder + "/truth.txt")
        test_whole(case, folder, threads)
        test_text(case, folder, threads)
        test_machine(case, folder, threads)
        test_again(case, folder)
        test_without(case, folder, threads, cases)
    for name, test in (("windows-x86", windows_x86), ("linux-inline", linux_inline), ("linux-mini", linux_mini),
                       ("crashpad-mac", crashpad_mac), ("deep", deep)):
        folder = os.path.join(CORPUS, "minidumps", name)
        if CORPUS and os.path.isdir(folder):
            test(folder)
        else:
            tap.skip(name, "no CORPUS")
    dumps = sorted(glob.glob(os.path.join(CORPUS, "cores", "*", "breakpad.dmp"))) if CORPUS else []
    start = {(f.module, f.offset) for c in cases for t in read_truth(c + "/truth.txt")
             for f in t.frames[-3:-1] if t.frames[-1].name == "_start"}
    for dump in dumps:
        core_case(os.path.dirname(dump), start)
    if not dumps:
        tap.skip("cores", "no CORPUS")
    print("1..%d" % tap.count)
    return 1 if tap.failed else 0


sys.exit(main())
