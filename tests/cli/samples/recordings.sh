# Real recordings (testdata/recipes/perf.sh) of a program whose source says what calls what:
# _start, main, middle, leaf. libc's file is another on each machine and stays out.
cp -r "$TESTDATA/perf" . || exit 1
run() { "$FRAMEWALK" samples --no-cache --no-kernel --sysroot . -s perf "$@"; }
for name in file two-events three-registers; do
	echo "== $name"
	run perf/$name.data
	run -j 1 perf/$name.data > one
	run -j 2 perf/$name.data | cmp - one
done
echo "== filters"
run perf/file.data --time 18486.35,18486.37
run perf/file.data --time ,18486.31 --format perf
run perf/file.data --tid 31429 --weight
run perf/file.data --pid 1
run perf/file.data --comm tiny --per-thread --annotate
run perf/two-events.data --event cpu-clock:u
echo "== difference"
run --diff perf/file.data perf/two-events.data
echo "== not a recording"
run perf/tiny; echo "status $?"
run; echo "status $?"
run perf/file.data perf/file.data; echo "status $?"
run perf/file.data --time x; echo "status $?"
run perf/file.data -s perf/nothing | wc -l; run perf/file.data -s perf/nothing > mistyped; echo "status $?"
run perf/file.data --format pprof -o out.pb && protoc_size=$(wc -c < out.pb) && [ "$protoc_size" -gt 100 ] && echo pprof
run perf/file.data --format pprof -o out.pb.gz && gzip -dc out.pb.gz | cmp - out.pb && echo gzip
run perf/file.data --flamegraph page.html && grep -c '</html>' page.html
