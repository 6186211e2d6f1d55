# Run by gdb, attached to a crashed process that waits in its signal handler
# (see record.sh): writes every thread's true stack, one frame a line:
#   <module>+0x<offset>	<function>	<file>:<line>[	<flag>]
# with tabs between the fields (C++ names have spaces). The offset is that of the
# raw program counter, so of the return address for callers. Unknown fields are
# "-"; an address in no module is "-+0x<address>". Flags: "inline" (a call that
# was inlined, so it shares its pc with the next line) and "signal" (the
# trampoline that a signal handler returns to).
import os
import re
import subprocess
import gdb

out = open(os.environ["TRUTH_OUT"], "w")
info = int(os.environ["TRUTH_INFO"], 16)
pid = gdb.selected_inferior().pid

maps = []
base_of = {}
for line in open("/proc/%d/maps" % pid):
    fields = line.split(None, 5)
    name = fields[5].strip() if len(fields) > 5 else ""
    start, end = (int(x, 16) for x in fields[0].split("-"))
    if name.startswith("/") or name == "[vdso]":
        base_of.setdefault(name, start)
        maps.append((start, end, name))


def short_name(name, known={"[vdso]": "linux-vdso.so.1"}):
    """The name that Crashpad gives: the DT_SONAME, or else the file's."""
    if name not in known:
        dynamic = subprocess.check_output(["readelf", "-dW", name], universal_newlines=True)
        soname = re.search(r"Library soname: \[(.*)\]", dynamic)
        known[name] = soname.group(1) if soname else os.path.basename(name)
    return known[name]


def module_of(pc):
    for start, end, name in maps:
        if start <= pc < end:
            return "%s+0x%x" % (short_name(name), pc - base_of[name])
    return "-+0x%x" % pc


def source_of(frame):
    sal = frame.find_sal()
    if sal is None or sal.symtab is None or sal.line == 0:
        return "-"
    name = sal.symtab.fullname()
    # gdb makes relative names absolute with its own folder, which is /.
    name = os.path.normpath(name)
    if not name.startswith("/src/"):
        name = name.lstrip("/")
    return "%s:%d" % (name, sal.line)


def write_thread(thread, crashed):
    thread.switch()
    frame = gdb.newest_frame()
    if crashed:
        # The report's own frames are not part of the crash.
        while frame is not None and frame.type() != gdb.SIGTRAMP_FRAME:
            frame = frame.older()
        frame = frame.older()
    state = " crashed" if crashed else ""
    out.write("thread %d %s%s\n" % (thread.ptid[1], thread.name or "-", state))
    while frame is not None:
        # gdb shows functions that jumped to the next one, from call site
        # records; they have left no frame on the stack.
        if frame.type() == gdb.TAILCALL_FRAME:
            frame = frame.older()
            continue
        flags = ""
        symbol = frame.function()
        function = symbol.print_name if symbol else frame.name() or "-"
        if function.startswith("main("):
            function = "main"  # not mangled, even in C++
        source = source_of(frame)
        if frame.type() == gdb.SIGTRAMP_FRAME:
            flags, source = "\tsignal", "-"
        elif frame.type() == gdb.INLINE_FRAME:
            flags = "\tinline"
        out.write("%s\t%s\t%s%s\n" % (module_of(frame.pc()), function, source, flags))
        frame = frame.older()


gdb.execute("set backtrace past-main on")
crashing = int(gdb.parse_and_eval("*(int *)%d" % (info + 16)))
threads = sorted(gdb.selected_inferior().threads(), key=lambda t: t.ptid[1])
for thread in [t for t in threads if t.ptid[1] == crashing]:
    write_thread(thread, True)
for thread in [t for t in threads if t.ptid[1] != crashing]:
    write_thread(thread, False)
out.close()
with open(os.environ["TRUTH_OUT"] + ".modules", "w") as modules:
    for name in base_of:
        if name.startswith("/"):
            modules.write("%s %s\n" % (short_name(name), name))
