#!/usr/bin/env python3
"""One profile in three formats: are the stacks the same, and as often there?

usage: check_same.py FOLDED DECODED FIREFOX    DECODED: protoc --decode's text of the pprof file

Each is read by its own rules (profile.proto; the front end's processed profile) and written as
folded stacks: names from the root, inlined functions after who they are inlined into. Thread
names (and several events') stand in front in folded stacks and are left out; so is "[truncated]".
"""
import collections
import gzip
import json
import re
import sys


EVENT = re.compile(r'\[(cpu-clock|task-clock|page-faults)(:\w+)?\]')


def named(name):
    """As folded stacks spell a name."""
    return re.sub(r' (?=\d+$)', '_', name.replace(';', ':'))


def from_folded(path):
    ret = collections.Counter()
    with open(path, encoding='utf-8') as file:
        for line in file:
            stack, count = line.rstrip('\n').rsplit(' ', 1)
            frames = stack.split(';')
            frames = frames[2 if EVENT.fullmatch(frames[0]) else 1:]
            ret[';'.join(f for f in frames if f != '[truncated]')] += int(count)
    return ret


def messages(lines):
    """protoc's text: a dict of lists, nested."""
    ret = collections.defaultdict(list)
    for line in lines:
        line = line.strip()
        if line == '}':
            break
        if line.endswith(' {'):
            ret[line[:-2]].append(messages(lines))
        else:
            key, value = line.split(': ', 1)
            ret[key].append(value)
    return ret


def unquoted(text):
    raw = re.sub(r'\\([0-7]{3}|.)', lambda m: chr(int(m[1], 8)) if len(m[1]) == 3 else
                 {'n': '\n', 't': '\t', 'r': '\r'}.get(m[1], m[1]), text[1:-1])
    return raw.encode('latin-1').decode('utf-8')


def from_pprof(path):
    with open(path, encoding='latin-1') as file:
        p = messages(iter(file.read().splitlines()))
    strings = [unquoted(s) for s in p['string_table']]
    names = {f['id'][0]: strings[int(f['name'][0])] for f in p['function']}
    files = {m['id'][0]: strings[int(m['filename'][0])] for m in p['mapping']}
    ranges = {m['id'][0]: (int(m['memory_start'][0]), int(m['memory_limit'][0])) for m in p['mapping'] if m['memory_limit']}
    where = {}
    for x in p['location']:
        lines = [names[l['function_id'][0]] for l in x['line']]     # the innermost is first
        if x['mapping_id'] and x['mapping_id'][0] in ranges and x['address']:
            low, high = ranges[x['mapping_id'][0]]
            assert low <= int(x['address'][0]) < high, x
        if not lines:
            base = files.get(x['mapping_id'][0], '') if x['mapping_id'] else ''
            base = base.rsplit('/', 1)[-1] or 'unknown'
            lines = [base if base.startswith('[') else '[' + base + ']']
        where[x['id'][0]] = [named(n) for n in lines]
    kinds = [strings[int(t['type'][0])] for t in p['sample_type']]
    ret = collections.Counter()
    for s in p['sample']:
        frames = [n for x in s['location_id'] for n in where[x]][::-1]
        for kind, value in zip(kinds, s['value']):
            if kind.endswith('samples') and int(value):
                ret[';'.join(f for f in frames if f != '[truncated]')] += int(value)
    return ret


def from_firefox(path):
    with open(path, 'rb') as file:
        data = file.read()
    profile = json.loads(gzip.decompress(data) if data[:2] == b'\x1f\x8b' else data)
    ret = collections.Counter()
    for thread in profile['threads']:
        strings, stacks, frames, functions = (thread[k] for k in ('stringArray', 'stackTable', 'frameTable', 'funcTable'))
        whole = []
        for prefix, frame in zip(stacks['prefix'], stacks['frame']):
            name = named(strings[functions['name'][frames['func'][frame]]])
            own = () if name == '[truncated]' else (name,)
            whole.append((whole[prefix] if prefix is not None else ()) + own)
        weights = thread['samples'].get('weight') or [1] * thread['samples']['length']
        for stack, weight in zip(thread['samples']['stack'], weights):
            ret[';'.join(whole[stack]) if stack is not None else ''] += weight
    return ret


def main():
    folded, pprof, firefox = from_folded(sys.argv[1]), from_pprof(sys.argv[2]), from_firefox(sys.argv[3])
    bad = 0
    for what, other in (('pprof', pprof), ('firefox', firefox)):
        print('%s: %d stacks, %d samples; folded: %d, %d' % (
            what, len(other), sum(other.values()), len(folded), sum(folded.values())))
        different = [s for s in set(folded) | set(other) if folded[s] != other[s]]
        for stack in sorted(different)[:5]:
            print('  folded %d, %s %d: %s' % (folded[stack], what, other[stack], stack))
        bad += len(different)
    sys.exit(bad != 0)


main()
