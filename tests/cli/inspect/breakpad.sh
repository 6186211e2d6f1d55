# Modules, threads and reason as Breakpad's own output for the same dump tells them.
# needs: corpus python3
dir=$CORPUS/minidumps/windows-x86
"$FRAMEWALK" inspect --json "$dir/minidump2.dmp" > ours
python3 - ours "$dir/minidump2.stackwalk.machine_readable.out" <<'END'
import json, sys
ours = json.load(open(sys.argv[1]))
modules, crash = [], None
for line in open(sys.argv[2]):
    f = line.rstrip("\n").split("|")
    if f[0] == "Module":
        modules.append((f[1], f[2], f[3], f[4], int(f[5], 16), int(f[6], 16), f[7] == "1"))
    elif f[0] == "Crash":
        crash = f
    elif f[0] == "OS":
        assert ours["system"]["os"] == f[1], f
    elif f[0] == "CPU":
        assert ours["system"]["cpu"] == f[1] and ours["system"]["cpu_info"] == f[2], f
base = lambda path: path.replace("\\", "/").split("/")[-1]
got = [(base(m["code_file"]), m["version"] or "", base(m["debug_file"] or ""), m["debug_id"] or "",
        int(m["base"], 16), int(m["base"], 16) + m["size"] - 1, m["main"]) for m in ours["modules"]]
for a, b in zip(sorted(modules, key=lambda m: m[4]), got):
    if a != b:
        print("Breakpad", a, "ours", b)
assert len(modules) == len(got)
assert int(crash[2], 16) == int(ours["exception"]["address"], 16), crash
assert ours["threads"][int(crash[3])]["crashing"]
print(len(got), "modules equal")
END
