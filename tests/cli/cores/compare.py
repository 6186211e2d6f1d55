"""usage: compare.py equal|part|innermost WHOLE PART

Two reports of one crash in JSON, the whole core's (which tests/truth.py compares with gdb's stacks) and one of what is
left of it: its frames must be the same, be among them in their order, or be the innermost ones only.
"""
import json
import sys


def stacks(path):
    report = json.load(open(path))
    return {t["thread_id"]: [f["pc"] for f in t["frames"]] for t in report["threads"]}, report


def main():
    how, (whole, _), (part, report) = sys.argv[1], stacks(sys.argv[2]), stacks(sys.argv[3])
    if how != "part" and list(whole) != list(part):
        print("other threads: %s, not %s" % (list(part), list(whole)))
    for thread, frames in part.items():
        rest = iter(whole.get(thread, []))
        good = {"equal": frames == whole.get(thread), "innermost": frames == whole.get(thread, [])[:1],
                "part": frames[:1] == whole.get(thread, [])[:1] and all(pc in rest for pc in frames)}
        if not good[how]:
            print("thread %d: %s, not %s of %s" % (thread, frames, how, whole.get(thread)))
    for thread in report["threads"]:
        if how == "innermost" and thread["stop_reason"] != "memory_missing":
            print("thread %d ends with %s" % (thread["thread_id"], thread["stop_reason"]))


main()
