# Byte for byte what Breakpad's minidump_stackwalk -m printed.
# needs: corpus
dir=$CORPUS/minidumps/windows-x86
"$FRAMEWALK" stack --no-cache --sysroot . --format machine "$dir/minidump2.dmp" -s "$dir/symbols" > ours; echo "status $?"
diff "$dir/minidump2.stackwalk.machine_readable.out" ours
