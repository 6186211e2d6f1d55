# Run by gdb, attached to a crashed process that waits in its signal handler
# (see record.sh): writes every thread's true stack, one frame a line:
#   <module>+0x<offset> <function> <file>:<line>[ flags]
# pc is the raw program counter, so a return address for callers. Unknown fields
# are "-"; an address in no module is "-+0x<address>". Flags: "inline" (a call
# that was inlined, so it shares its pc with the next line) and "signal" (the
# trampoline a signal handler returns to).
import os
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


def module_of(pc):
    for start, end, name in maps:
        if start <= pc < end:
            short = "linux-vdso.so.1" if name == "[vdso]" else os.path.basename(name)
            return "%s+0x%x" % (short, pc - base_of[name])
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
    out.write("thread %d %s%s\n" % (thread.ptid[1], thread.name or "-", " crashed" if crashed else ""))
    while frame is not None:
        flags = ""
        function, source = frame.name() or "-", source_of(frame)
        if frame.type() == gdb.SIGTRAMP_FRAME:
            flags, source = " signal", "-"
        elif frame.type() == gdb.INLINE_FRAME:
            flags = " inline"
        out.write("%s %s %s%s\n" % (module_of(frame.pc()), function.replace(" ", ""), source, flags))
        frame = frame.older()


gdb.execute("set backtrace past-main on")
crashing = int(gdb.parse_and_eval("*(int *)%d" % (info + 16)))
threads = sorted(gdb.selected_inferior().threads(), key=lambda t: t.ptid[1])
for thread in [t for t in threads if t.ptid[1] == crashing]:
    write_thread(thread, True)
for thread in [t for t in threads if t.ptid[1] != crashing]:
    write_thread(thread, False)
out.close()
