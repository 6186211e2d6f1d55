# The program given by -e: used by its id, whatever its name; else said and not used.
cp "$TESTDATA/null/bin/null" renamed
frames() { grep '^0|'; }
"$FRAMEWALK" stack "$TESTDATA/null/crash.dmp" -e renamed --sysroot none --format machine 2>&1 | frames > given
"$FRAMEWALK" stack "$TESTDATA/null/crash.dmp" -s "$TESTDATA/null/bin/null" --sysroot none --format machine | frames > found
cmp given found && echo equal
brief() {
	"$FRAMEWALK" stack "$TESTDATA/threads/crash.dmp" --sysroot none --brief "$@" > out 2> err
	echo "status $?, $(grep -c '^  #' out) frames"
	sed "s|$TESTDATA/||g" err
}
brief -e renamed
brief -e missing
brief -e "$TESTDATA/README.md"
objcopy --only-keep-debug renamed debug 2> /dev/null && "$FRAMEWALK" stack "$TESTDATA/null/crash.dmp" -e debug \
	--sysroot none --brief 2>&1 > out | sed "s|$TESTDATA/||g"
"$FRAMEWALK" stack -e renamed -e renamed "$TESTDATA/null/crash.dmp" | head -3
