#!/usr/bin/env python3
"""Check a processed profile of format version 48 by the front end's published types
(firefox-devtools/profiler, src/types/profile): columns, their lengths, every index.

usage: check_firefox.py FILE...       FILE may be gzip
"""
import gzip
import json
import re
import sys

COLUMNS = {
    'samples': ['stack', 'time'],
    'markers': ['data', 'name', 'startTime', 'endTime', 'phase', 'category'],
    'stackTable': ['frame', 'category', 'subcategory', 'prefix'],
    'frameTable': ['address', 'inlineDepth', 'category', 'subcategory', 'func', 'nativeSymbol',
                   'innerWindowID', 'implementation', 'line', 'column'],
    'funcTable': ['name', 'isJS', 'relevantForJS', 'resource', 'fileName', 'lineNumber',
                  'columnNumber'],
    'nativeSymbols': ['libIndex', 'address', 'name', 'functionSize'],
    'resourceTable': ['lib', 'name', 'host', 'type'],
}
META = ['interval', 'startTime', 'processType', 'product', 'stackwalk', 'version',
        'preprocessedProfileVersion', 'markerSchema', 'categories']
LIB = {'arch', 'name', 'path', 'debugName', 'debugPath', 'breakpadId', 'codeId'}
THREAD = ['processType', 'processStartupTime', 'processShutdownTime', 'registerTime',
          'unregisterTime', 'pausedRanges', 'name', 'isMainThread', 'pid', 'tid', 'stringArray']


def index(value, n, null=None):
    assert value == null or (type(value) is int and 0 <= value < n), (value, n)


def check_thread(thread, profile):
    for key in THREAD:
        assert key in thread, key
    for name, columns in COLUMNS.items():
        table = thread[name]
        for column in columns:
            assert len(table[column]) == table['length'], (name, column)
    assert isinstance(thread['pid'], str) and type(thread['tid']) is int
    assert all(isinstance(s, str) for s in thread['stringArray'])
    samples, stacks, frames, funcs = (thread[k] for k in ('samples', 'stackTable', 'frameTable',
                                                           'funcTable'))
    natives, resources, strings = thread['nativeSymbols'], thread['resourceTable'], thread['stringArray']
    assert samples['weight'] is None and samples['weightType'] == 'samples'
    assert len(samples.get('threadCPUDelta', samples['time'])) == samples['length'] > 0
    assert samples['time'] == sorted(samples['time'])
    for stack in samples['stack']:
        index(stack, stacks['length'])
    for i, prefix in enumerate(stacks['prefix']):
        index(prefix, i)                     # parents come first
    for i in range(stacks['length']):
        index(stacks['frame'][i], frames['length'])
        index(stacks['category'][i], len(profile['meta']['categories']))
        depth = frames['inlineDepth'][stacks['frame'][i]]
        if depth:                            # an inlined call stands on what it is inlined in
            outer = stacks['frame'][stacks['prefix'][i]]
            assert frames['inlineDepth'][outer] == depth - 1
            assert frames['address'][outer] == frames['address'][stacks['frame'][i]]
    for i in range(frames['length']):
        index(frames['func'][i], funcs['length'])
        index(frames['nativeSymbol'][i], natives['length'])
        assert frames['address'][i] >= -1
        if frames['nativeSymbol'][i] is not None:
            assert natives['address'][frames['nativeSymbol'][i]] <= frames['address'][i] + 1
    for i in range(funcs['length']):
        index(funcs['name'][i], len(strings))
        index(funcs['fileName'][i], len(strings))
        index(funcs['resource'][i], resources['length'], -1)
    for i in range(natives['length']):
        index(natives['libIndex'][i], len(profile['libs']))
        index(natives['name'][i], len(strings))
    for i in range(resources['length']):
        index(resources['lib'][i], len(profile['libs']))
        index(resources['name'][i], len(strings))
        assert resources['type'][i] == 1 and resources['host'][i] is None
    return samples['length']


def check(profile):
    for key in META:
        assert key in profile['meta'], key
    assert profile['meta']['preprocessedProfileVersion'] == 48
    assert any(c['color'] == 'grey' for c in profile['meta']['categories'])
    for lib in profile['libs']:
        assert set(lib) == LIB, lib
        assert re.fullmatch('([0-9A-F]{32}[0-9a-f]+)?', lib['breakpadId']), lib
    return sum(check_thread(thread, profile) for thread in profile['threads'])


def main():
    for name in sys.argv[1:]:
        with open(name, 'rb') as file:
            data = file.read()
        if data[:2] == b'\x1f\x8b':
            data = gzip.decompress(data)
        profile = json.loads(data)
        print('%s: %d samples in %d threads' % (name, check(profile), len(profile['threads'])))


main()
