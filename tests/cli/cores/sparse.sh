# A core of 100 GB, nearly all of it a hole that a segment names, with the stacks
# behind it: mapped, never read whole.
# needs: corpus python3
dir=$CORPUS/cores/c_basic_O2
python3 "$CASES/cores/alter.py" sparse 100000000000 "$dir/core" sparse 2> message ||
	{ echo "no such large files here: $(tail -1 message)"; exit 77; }
report() {
	"$FRAMEWALK" stack "$1" -s "$dir" --sysroot "$CORPUS/sysroot" --cache cache --json
}
report "$dir/core" > whole || echo "status $?"
python3 - "$FRAMEWALK" "$dir" "$CORPUS/sysroot" <<'PYTHON'
import os, resource, subprocess, sys
program, folder, root = sys.argv[1:]
with open("part", "w") as out:
    status = subprocess.call([program, "stack", "sparse", "-s", folder, "--sysroot", root, "--no-cache", "--json"],
                             stdout=out)
use = resource.getrusage(resource.RUSAGE_CHILDREN)
print("size", os.stat("sparse").st_size > 10**11, "status", status)
# a sanitizer's own memory counts, too
if use.ru_maxrss > 300 << 10:
    print("%d MB resident" % (use.ru_maxrss >> 10))
if use.ru_utime + use.ru_stime > 5:
    print("%.1f s" % (use.ru_utime + use.ru_stime))
print("%d MB resident, %.2f s" % (use.ru_maxrss >> 10, use.ru_utime + use.ru_stime), file=open("used", "w"))
PYTHON
python3 "$CASES/cores/compare.py" equal whole part
rm sparse
