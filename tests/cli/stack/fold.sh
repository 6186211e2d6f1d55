# --no-fold prints what --brief, --max-frames and folding leave out.
. "$CASES/lib.sh"
fixture deep
"$FRAMEWALK" stack --no-cache --sysroot . --brief "$dump" -s "$symbols"
"$FRAMEWALK" stack --no-cache --sysroot . --no-fold "$dump" -s "$symbols" > out
grep -c '^  #' out
grep -E '^  #(0|1|2|299|300|301|302|303|304|305) ' out
"$FRAMEWALK" stack --no-cache --sysroot . --max-frames 3 "$dump" -s "$symbols" | sed -n '/^Thread/,/^$/p'
"$FRAMEWALK" stack --no-cache --sysroot . --max-frames 1 --json "$dump" -s "$symbols" | grep -o '"frame_count":[^,]*\|"stop_[a-z]*":"[^"]*"'
"$FRAMEWALK" stack --no-cache --sysroot . --threads '#0' --no-fold "$TESTDATA/threads/crash.dmp" -s "$TESTDATA/threads" | grep '^Thread'
