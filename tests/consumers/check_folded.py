#!/usr/bin/env python3
"""Folded stacks by the grammar of their consumers, and equal to what is made of the perf
text of the same profile by the rules of stackcollapse-perf.pl and inferno (event and
stack lines by their regular expressions; "[unknown]" is the module in brackets). "[truncated]" is
left out of perf's text, and so are events: it has them in front of samples.

usage: check_folded.py FOLDED [PERF]
"""
import collections
import re
import sys

LINE = re.compile(rb'^(.*)\s+?(\d+(?:\.\d*)?)$')       # flamegraph.pl, difffolded.pl
EVENT = re.compile(r'^(\S+\s*?\S*?)\s+(\d+)\s')   # stackcollapse-perf.pl
STACK = re.compile(r'^\s*(\w+)\s*(.+) \((.*)\)$')


def folded(path):
    counts, before = {}, None
    with open(path, 'rb') as file:
        for line in file.read().splitlines():
            match = LINE.match(line)
            assert match, line
            stack, count = match.groups()
            assert not LINE.match(stack), line          # else it is taken for a difference
            assert before is None or before < stack, line
            assert not re.search(rb'[\x00-\x1f\x7f]', line), line
            line.decode('utf-8')
            counts[stack.decode()] = int(count)
            before = stack
    return counts


def collapse(path):
    counts, stack, comm = collections.Counter(), None, None
    with open(path, encoding='utf-8') as file:
        for line in file.read().split('\n'):
            if not line:
                if stack is not None:
                    counts[';'.join([comm] + stack[::-1])] += 1
                stack = None
            elif stack is None:
                match = EVENT.match(line)
                assert match, line
                comm, stack = match.group(1).replace(' ', '_'), []
            else:
                match = STACK.match(line)
                assert match, line
                name, module = match.group(2), match.group(3)
                name = re.sub(r'\+0x[0-9a-f]+$', '', name)
                if name == '[unknown]':
                    module = module.rsplit('/', 1)[-1]
                    name = module if module.startswith('[') else '[' + module + ']'
                if re.fullmatch(r'\[perf-\d+\.map\]', name):
                    name = '[JIT]'                      # perf's file for its names, there or not
                stack.append(name.replace(';', ':'))
    return counts


def main():
    ours = folded(sys.argv[1])
    print('%d stacks, %d samples' % (len(ours), sum(ours.values())))
    if len(sys.argv) > 2:
        merged = collections.Counter()
        for stack, count in ours.items():
            comm, *frames = stack.split(';')
            if re.fullmatch(r'\[(cpu-clock|task-clock|page-faults)(:\w+)?\]', comm):
                comm, *frames = frames      # of several events the name stands in front
            frames = [f for f in frames if f != '[truncated]']
            merged[';'.join([re.sub(r'-\d+/\d+$', '', comm)] + frames)] += count
        theirs = collapse(sys.argv[2])
        # Samples of made-up profiles are one a stack, whatever the stack's count.
        if set(merged) != set(theirs):
            sys.exit('\n'.join(['folded only:', *sorted(set(merged) - set(theirs))[:5],
                                'perf text only:', *sorted(set(theirs) - set(merged))[:5]]))
        print('as of the perf text')


main()
