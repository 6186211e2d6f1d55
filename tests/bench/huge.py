#!/usr/bin/env python3
"""Sixteen processes at once on one huge symbol file, cold cache, then warm.

usage: huge.py FRAMEWALK SYMFILE CACHE_DIR

Bars: all together at most 1.3 times one process's CPU; PSS of all together under
1.5 GB at any time; each warm run under 50 ms.
"""
import os, resource, shutil, subprocess, sys, threading, time

program, sym, cache = sys.argv[1:4]
command = lambda directory: [program, 'rules', sym, '1000', '--cache', directory]


def cpu_of_children():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def run(directory, n):
    """CPU seconds and peak of summed PSS (KiB) of n processes started together."""
    before = cpu_of_children()
    processes = [subprocess.Popen(command(directory), stdout=subprocess.PIPE) for _ in range(n)]
    peak, done = 0, threading.Event()

    def watch():
        nonlocal peak
        while not done.is_set():
            total = 0
            for p in processes:
                try:
                    with open('/proc/%d/smaps_rollup' % p.pid) as f:
                        total += sum(int(l.split()[1]) for l in f if l.startswith('Pss:'))
                except (OSError, ValueError):
                    pass
            peak = max(peak, total)
            time.sleep(0.02)

    t = threading.Thread(target=watch)
    t.start()
    outputs = {p.communicate()[0] for p in processes}
    done.set()
    t.join()
    if len(outputs) != 1 or any(p.returncode for p in processes):
        sys.exit('the processes do not agree')
    return cpu_of_children() - before, peak, outputs.pop()


def say(name, value, bar, unit):
    ok = value <= bar
    print('%-46s %12s  at most %-10s %s  %s' % (name, round(value, 3), bar, unit, 'ok' if ok else 'OVER'))
    return ok


one, _, answer = run(cache + '.one', 1)
all_, peak, same = run(cache, 16)
if answer != same:
    sys.exit('one process and sixteen do not agree')
good = say('16 cold processes, CPU of one (%.2f s)' % one, all_ / one, 1.3, 'times')
good &= say('16 cold processes, PSS of all', peak / 1024, 1536, 'MiB')
times = []
for _ in range(7):
    start = time.monotonic()
    subprocess.run(command(cache), stdout=subprocess.DEVNULL, check=True)
    times.append(time.monotonic() - start)
good &= say('warm run, median of 7', sorted(times)[3] * 1000, 50, 'ms')
files = [f for _, _, fs in os.walk(cache) for f in fs if f.endswith('.img')]
good &= say('images left', len(files), 1, 'file')
shutil.rmtree(cache + '.one', ignore_errors=True)
sys.exit(0 if good else 1)
