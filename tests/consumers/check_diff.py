#!/usr/bin/env python3
"""A folded difference by difffolded.pl's format ("stack BEFORE AFTER"), and equal to the two
folded files it is of.

usage: check_diff.py BEFORE AFTER DIFFERENCE
"""
import sys


def folded(path, numbers):
    ret = {}
    with open(path, encoding='utf-8') as file:
        for line in file:
            stack, *counts = line.rstrip('\n').rsplit(' ', numbers)
            assert stack not in ret and len(counts) == numbers, line
            ret[stack] = tuple(map(int, counts))
    return ret


def main():
    before, after = (folded(path, 1) for path in sys.argv[1:3])
    both = folded(sys.argv[3], 2)
    assert set(both) == set(before) | set(after), set(both) ^ (set(before) | set(after))
    for stack, counts in both.items():
        assert counts == (before.get(stack, (0,))[0], after.get(stack, (0,))[0]), stack
    print('%d stacks, %d and %d samples' % (len(both), *(sum(x) for x in zip(*both.values()))))


main()
