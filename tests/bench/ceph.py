#!/usr/bin/env python3
"""Names of a large C++ program: ceph.py FRAMEWALK DIR

DIR holds Debian's ceph-mds and ceph-mds-dbg, unpacked by `dpkg-deb -x`, and a core of it:
`core`, made by gdb's generate-core-file with a breakpoint in md_config_t::parse_argv.
CPU seconds are user + system of the program and its children, the least of several runs;
memory is the largest process. Needs objcopy and eu-addr2line.
"""
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile

bad = False


def run(command, stdin=None):
    """Output, CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(command, stdin=stdin, stdout=subprocess.PIPE, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return out.decode(errors='replace'), (after.ru_utime + after.ru_stime -
                                          before.ru_utime - before.ru_stime)


def least(command, runs, stdin=None):
    best = None
    for _ in range(runs):
        if stdin:
            stdin.seek(0)
        out, seconds = run(command, stdin)
        best = seconds if best is None else min(best, seconds)
    return out, best


def peak(command):
    """Largest resident set of the command's processes, in MB; in a process of its own."""
    code = ('import resource, subprocess, sys\n'
            'subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)\n'
            'print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)')
    return int(subprocess.run([sys.executable, '-c', code] + command, check=True,
                              stdout=subprocess.PIPE).stdout)


def say(name, value, bar, unit, atleast=False):
    global bad
    ok = value >= bar if atleast else value <= bar
    bad = bad or not ok
    print('%-46s %12.3f  at %s %-10s %s  %s' % (name, value, 'least' if atleast else 'most', bar,
                                                unit, 'ok' if ok else 'OVER'))


def text_of(path):
    for line in run(['readelf', '-SW', path])[0].splitlines():
        word = line.replace('[ ', '[').split()
        if len(word) > 5 and word[1] == '.text':
            return int(word[3], 16), int(word[5], 16)
    sys.exit('no .text in ' + path)


def main():
    framewalk, top = sys.argv[1], sys.argv[2]
    program = os.path.join(top, 'usr/bin/ceph-mds')
    shipped = os.path.join(top, 'usr/lib/debug')
    core = os.path.join(top, 'core')
    temp = tempfile.mkdtemp()
    notes = run(['readelf', '-n', program])[0]
    build_id = notes.split('Build ID: ')[1].split()[0]
    name = '.build-id/%s/%s.debug' % (build_id[:2], build_id[2:])
    plain = os.path.join(temp, 'plain')
    os.makedirs(os.path.dirname(os.path.join(plain, name)))
    subprocess.run(['objcopy', '--decompress-debug-sections', os.path.join(shipped, name),
                    os.path.join(plain, name)], check=True)

    sym = os.path.join(temp, 'mds.sym')
    dump = [framewalk, 'syms', 'dump', program, '-s', shipped, '-o', sym]
    seconds = least(dump, 3)[1]
    with open(sym) as f:
        if sum(line.startswith('FUNC ') for line in f) < 9000:
            sys.exit('functions are missing')
    say('ceph-mds: syms dump, CPU seconds', seconds, 2, '')
    say('ceph-mds: syms dump, MB', peak(dump), 400, '')

    if os.path.exists(core):
        for where, bar, word in ((shipped, 0.8, 'as shipped'), (plain, 0.1, 'decompressed')):
            out, seconds = least([framewalk, 'stack', core, '-s', where, '--no-cache', '--brief',
                                  '-s', program], 5)
            for want in ('ConfigProxy::parse_argv', 'global_pre_init(', 'global_init.cc:195',
                         'main + ', '_start + '):
                if want not in out:
                    sys.exit('the stack lacks ' + want)
            say('ceph-mds: first stack %s, CPU seconds' % word, seconds, bar, '')
    else:
        print('no core in ' + top + ': first stacks are not measured')

    start, size = text_of(program)
    random.seed(7)
    addresses = os.path.join(temp, 'addresses')
    with open(addresses, 'w') as f:
        for _ in range(1000):
            f.write('0x%x\n' % (start + random.randrange(size)))
    with open(addresses) as f:
        ours, seconds = least([framewalk, 'addr', '-e', program, '-s', plain, '--no-cache'], 3, f)
        f.seek(0)
        theirs, other = run(['eu-addr2line', '-f', '-i', '-e', os.path.join(plain, name)], f)
    if ours.count(': ?\n') > 20 or theirs.count('\n') < 2000:
        sys.exit('answers are missing')
    with open(addresses) as f:
        if run([framewalk, 'addr', '-e', program, '-s', plain, '--no-cache', '--lazy', 'never'],
               f)[0] != ours:
            sys.exit('compiled names differ')
    say('ceph-mds: 1,000 addresses, CPU seconds', seconds, 2, '')
    say('the same, times faster than eu-addr2line -f -i', other / seconds, 3, '', True)
    shutil.rmtree(temp)
    sys.exit(bad)


main()
