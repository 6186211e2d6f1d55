#!/usr/bin/env python3
"""perf script of a large C++ program with our addr2line: protocol.py FRAMEWALK DIR

Makes in DIR, where it is not there yet, a program of many units full of templates (some
50 MB with its DWARF; minutes of compiling), records a run of it with stack copies, and
lets `perf script` print that with inlined calls: with binutils' addr2line, and with ours
first in PATH, nothing in the cache and once more. Also without inlined calls: what perf
takes for itself. Needs perf, g++ and addr2line.
"""
import ctypes
import glob
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

UNITS = 60
SECONDS_AT_MOST = 600

HEADER = '''#include <algorithm>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>
int next(int unit, int depth, int x);
'''

UNIT = '''#include "work.h"
namespace unit%(i)d {
struct Key {
	int a;
	std::string b;
	bool operator<(const Key &o) const { return std::tie(a, b) < std::tie(o.a, o.b); }
	bool operator==(const Key &o) const { return a == o.a && b == o.b; }
};
struct Hash { size_t operator()(const Key &k) const { return std::hash<std::string>()(k.b) * 31 + k.a; } };
struct Value { Key key; std::vector<int> numbers; std::shared_ptr<Key> other; std::function<int(int)> f; };
template<class T> struct Tree {
	std::map<Key, T> nodes;
	std::unordered_map<Key, std::list<T>, Hash> lists;
	std::set<Key> keys;
	std::deque<T> queue;
	void add(const Key &k, T t)
	{
		nodes[k] = t;
		lists[k].push_back(t);
		keys.insert(k);
		queue.push_back(std::move(t));
	}
	template<class F> int each(F f)
	{
		int s = 0;
		for (auto &n : nodes)
			s += f(n.second);
		for (auto &l : lists)
			for (auto &t : l.second)
				s ^= f(t);
		return s;
	}
};
static int work(int depth, int x)
{
	Tree<Value> tree;
	for (int i = 0; i < 12; i++) {
		Key k{(x * 7 + i * %(i)d) %% 11, std::to_string(x + i)};
		Value v{k, {}, std::make_shared<Key>(k), [i](int y) { return y * i + %(i)d; }};
		for (int j = 0; j < 9; j++)
			v.numbers.push_back((j * x + %(i)d * 3) %% 17);
		tree.add(k, v);
	}
	std::vector<Value> all(tree.queue.begin(), tree.queue.end());
	std::sort(all.begin(), all.end(), [](const Value &a, const Value &b) { return a.key < b.key; });
	std::stable_sort(all.begin(), all.end(),
			 [](const Value &a, const Value &b) { return a.numbers[2] < b.numbers[2]; });
	std::ostringstream text;
	for (auto &v : all)
		text << v.key.b << ' ' << v.f(x);
	int s = tree.each([](const Value &v) {
		return std::accumulate(v.numbers.begin(), v.numbers.end(), 0,
				       [](int a, int b) { return a * 3 + b; });
	});
	std::vector<int> heap;
	for (auto &v : all) {
		heap.push_back(v.numbers[0]);
		std::push_heap(heap.begin(), heap.end());
	}
	std::sort_heap(heap.begin(), heap.end());
	return s + (int)text.str().size() + (depth > 0 ? next(%(i)d, depth - 1, x + s %% 5) : 0);
}
}
extern int run%(i)d(int depth, int x);
int run%(i)d(int depth, int x) { return unit%(i)d::work(depth, x); }
'''

MAIN = '''#include <cstdio>
#include <cstdlib>
%(declarations)s
static int (*const runs[])(int, int) = { %(names)s };
int next(int unit, int depth, int x);
int next(int unit, int depth, int x) { return runs[(unit * 5 + 3) %% %(n)d](depth, x); }
int main(int argc, char **argv)
{
	int s = 0;
	for (int k = 0; k < atoi(argv[1]); k++)
		for (int i = 0; i < %(n)d; i++)
			s += runs[i](6, k);
	printf("%%d\\n", s);
}
'''


def write(path, text):
    with open(path, 'w') as f:
        f.write(text)


def build(top, program):
    source = os.path.join(top, 'src')
    os.makedirs(source, exist_ok=True)
    write(os.path.join(source, 'work.h'), HEADER)
    for i in range(UNITS):
        write(os.path.join(source, 'u%d.cc' % i), UNIT % {'i': i})
    names = ['run%d' % i for i in range(UNITS)]
    write(os.path.join(source, 'main.cc'), MAIN % {
        'declarations': '\n'.join('int %s(int, int);' % n for n in names),
        'names': ', '.join(names), 'n': UNITS})
    files = '\n'.join(sorted(os.path.basename(p) for p in glob.glob(source + '/*.cc')
                             if not os.path.exists(p[:-2] + 'o')))
    print('compiling %d units' % (files.count('\n') + 1), flush=True)
    subprocess.run(['xargs', '-P', str(os.cpu_count()), '-n1', 'g++', '-O2', '-g', '-c'],
                   input=files.encode(), cwd=source, check=True)
    subprocess.run(['g++', '-o', program] + sorted(glob.glob(source + '/*.o')), check=True)


def script(data, path, cache, *options):
    """Output, wall and CPU seconds of perf script and what it starts."""
    env = dict(os.environ, PATH=path + os.environ['PATH'], XDG_CACHE_HOME=cache)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    out = subprocess.run(['perf', 'script', '-i', data] + list(options), env=env,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
                         timeout=SECONDS_AT_MOST).stdout
    wall = time.monotonic() - start
    try:
        while True:     # perf leaves its addr2line behind without waiting for it
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return out.decode(errors='replace').split('\n'), wall, \
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    framewalk, top = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    for tool in 'perf', 'g++', 'addr2line':
        if not shutil.which(tool):
            print('no %s: the protocol is not measured' % tool)
            return
    program, data = os.path.join(top, 'large'), os.path.join(top, 'perf.data')
    os.makedirs(top, exist_ok=True)
    if not os.path.exists(program):
        build(top, program)
    if not os.path.exists(data):
        subprocess.run(['perf', 'record', '-o', data, '-F', '3000', '--call-graph',
                        'dwarf,8192', program, '100'], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True)
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    temp = tempfile.mkdtemp()
    os.mkdir(os.path.join(temp, 'bin'))
    os.symlink(framewalk, os.path.join(temp, 'bin/addr2line'))
    ours = os.path.join(temp, 'bin') + ':'
    theirs, wall, cpu = script(data, '', temp)
    alone = script(data, '', temp, '--no-inline')
    cold = script(data, ours, temp)
    warm = script(data, ours, temp)
    samples = sum(1 for line in theirs if line and not line[0].isspace())
    inlined = sum('(inlined)' in line for line in theirs)
    if samples < 300 or inlined < samples or cold[0] != warm[0] or \
            sum('(inlined)' in line for line in cold[0]) < inlined * 0.99:
        sys.exit('samples or inlined calls are missing')
    differ = sum(a != b for a, b in zip(theirs, cold[0])) if len(theirs) == len(cold[0]) else -1
    print('%d MB, %d samples, %d lines, %d inlined, %d lines differ' % (
        os.path.getsize(program) >> 20, samples, len(theirs), inlined, differ))
    bad = False
    for name, w, c in (('binutils', wall, cpu), ('perf without inlines', *alone[1:]),
                       ('ours, nothing cached', *cold[1:]), ('ours, cached', *warm[1:])):
        bar = name.startswith('ours')
        ok = not bar or (wall / w >= 10 and cpu / c >= 10)
        bad = bad or not ok
        print('perf script: %-24s %7.2f s wall %7.2f s CPU%s' % (
            name, w, c, '  %.1f and %.1f times faster, at least 10  %s' % (
                wall / w, cpu / c, 'ok' if ok else 'UNDER') if bar else ''))
    shutil.rmtree(temp)
    sys.exit(bad)


main()
