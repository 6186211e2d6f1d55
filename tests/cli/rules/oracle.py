"""Rules in force by a reading of STACK CFI records that shares nothing with framewalk.

usage: oracle.py FRAMEWALK SYMFILE...: compares `framewalk rules --json` at every
INIT and delta, and at the byte before and after (a sample of 400 where there are more).
"""
import json
import random
import re
import subprocess
import sys

NAME = re.compile(r"(\S+):\s+(.*?)(?=\s+\S+:\s|\s*$)")


def parse(path):
    inits, deltas = [], []
    for line in open(path, errors="replace"):
        words = line.rstrip("\r\n").split(" ", 5)
        if not line.startswith("STACK CFI"):
            continue
        if words[2] == "INIT":
            start, size = int(words[3], 16), int(words[4], 16)
            inits.append((start, start + size, dict(NAME.findall(words[5]))))
        else:
            words = line.rstrip("\r\n").split(" ", 3)
            deltas.append((int(words[2], 16), dict(NAME.findall(words[3]))))
    return sorted(inits, key=lambda i: i[0]), sorted(deltas, key=lambda d: d[0])


def spell(rule):
    """Signs as framewalk spells them: `16 -` is `-16 +`, `0 +` nothing."""
    rule = re.sub(r"^(\S+) 0 [+-]", r"\1", rule)
    return re.sub(r"^(\$?\S+) (\d+) -", r"\1 -\2 +", rule)


def expected(inits, deltas, address):
    for start, end, rules in inits:
        if start <= address < end:
            merged = dict(rules)
            for at, more in deltas:
                if start <= at <= address:
                    merged.update(more)
            return {k: spell(v) for k, v in merged.items()}
    return None


def main():
    tool, bad, checked = sys.argv[1], 0, 0
    for path in sys.argv[2:]:
        inits, deltas = parse(path)
        points = sorted({max(0, a + d) for a in
                         [i[0] for i in inits] + [i[1] for i in inits] + [d[0] for d in deltas]
                         for d in (-1, 0, 1)})
        if len(points) > 400:
            points = sorted(random.Random(1).sample(points, 400))
        out = subprocess.run([tool, "rules", "--no-cache", "--json", path] + ["%x" % p for p in points],
                             stdout=subprocess.PIPE, check=True).stdout
        for point, answer in zip(points, json.loads(out)["rules"]):
            want = expected(inits, deltas, point)
            # Without .cfa and .ra there is no rule to walk by; Breakpad's trampolines have only .ra.
            got = answer["cfi"] and {r["register"]: r["expression"] for r in answer["cfi"]["registers"]}
            got = got and {k: v for k, v in got.items() if v != "?"}
            checked += 1
            if (want or {}) != (got or {}):
                bad += 1
                print("%s %x: %s instead of %s" % (path.split("/")[-1], point, got, want))
    print("equal" if not bad and checked else "%d of %d differ" % (bad, checked))


main()
