"""Answers of other tools for oracle_names.py, a thousand sorted addresses at a time."""
import bisect
import concurrent.futures
import hashlib
import os
import random
import re
import shutil
import subprocess

from oracle_programs import C, JOBS

PIECE = 1000


def find(name):
    return shutil.which(name) or shutil.which(name + "-14")


def addresses(path, count, seed):
    """@count different ones, ascending; every byte of a function is as likely as any other."""
    out = subprocess.run(["readelf", "-sW", path], capture_output=True, text=True, env=C).stdout
    spans = set()
    for line in out.splitlines():
        f = line.split()
        if len(f) > 7 and f[3] == "FUNC" and f[6].isdigit() and int(f[2], 0):
            spans.add((int(f[1], 16), int(f[2], 0)))
    spans = sorted(spans)
    rng = random.Random(seed)
    weights = [n for _, n in spans]
    asked = set()
    for _ in range(50):
        picks = rng.choices(spans, weights=weights, k=count)
        for start, size in picks:
            if len(asked) < count:
                asked.add(start + rng.randrange(size))
    return sorted(asked)


def row_starts(path, asked):
    """{address: where its line row begins}, by llvm-dwarfdump."""
    program = find("llvm-dwarfdump")
    if program is None or not asked:
        return {}
    rows = set()
    p = subprocess.Popen([program, "--debug-line", path], stdout=subprocess.PIPE, text=True, env=C)
    for line in p.stdout:
        if line.startswith("0x"):
            rows.add(int(line[:18], 16))
    p.wait()
    rows = sorted(rows)
    found = ((a, bisect.bisect_right(rows, a) - 1) for a in asked)
    return {a: rows[i] for a, i in found if i >= 0}


class Tool:
    """A program that speaks addr2line's protocol. Its answers are kept in @folder, if given."""

    def __init__(self, program, path, options, folder=None):
        self.command = [program, options, "-e", path]
        self.folder = folder
        if folder is not None:
            version = subprocess.run([program, "--version"], capture_output=True, text=True, env=C)
            self.key = hashlib.sha256((version.stdout + options).encode())
            with open(path, "rb") as f:
                self.key.update(f.read())

    def text(self, asked, kept_only=False):
        """What it prints for a piece; @kept_only: nothing if it was not asked before."""
        given = "".join("0x%x\n" % a for a in asked)
        kept = None
        if self.folder is not None:
            key = self.key.copy()
            key.update(given.encode())
            kept = os.path.join(self.folder, key.hexdigest()[:24] + ".answer")
            if os.path.exists(kept):
                with open(kept) as f:
                    return f.read()
            if kept_only:
                return ""
        out = subprocess.run(self.command, input=given, capture_output=True, text=True,
                             env=C).stdout
        if kept is not None:
            with open(kept + ".new", "w") as f:
                f.write(out)
            os.rename(kept + ".new", kept)
        return out

    def answers(self, asked, kept_only=False):
        """{address: [(function, file, line)], innermost first}"""
        pieces = [asked[i:i + PIECE] for i in range(0, len(asked), PIECE)]
        result = {}
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            for text in pool.map(lambda piece: self.text(piece, kept_only), pieces):
                parse(text, result)
        return result


def parse(text, result):
    frames, name = None, None
    for line in text.splitlines():
        if re.fullmatch("0x[0-9a-f]+", line):
            frames = result[int(line, 16)] = []
            name = None
        elif name is None:
            name = re.sub(r" inlined (at|from) .*", "", line)
        else:
            m = re.match(r"(.*?):(\d+|\?)(?::\d+)?(?: \(discriminator \d+\))?$", line)
            number = int(m[2]) if m[2].isdigit() and int(m[2]) else None
            frames.append((name, None if m[1] == "??" else m[1], number))
            name = None
