# --threads, --max-frames and --brief choose what is walked; truth.txt has four threads.
# needs: python3
. "$CASES/lib.sh"
fixture threads
run() { "$FRAMEWALK" stack --no-cache --sysroot . --json "$dump" -s "$symbols" "$@"; }
cat > show.py <<'END'
import json, sys
o = json.load(sys.stdin)
print([(t["thread_id"], t["frame_count"], t["stop_reason"]) for t in o["threads"]], o["thread_count"],
      o["crash_info"]["crashing_thread_id"])
END
grep '^thread ' "$TESTDATA/threads/truth.txt"
for which in all crashing '#0' '#1' $(awk '/^thread / { print $2; printf "0x%x\n", $2 }' "$TESTDATA/threads/truth.txt"); do
	echo "--threads $which"; run --threads "$which" | python3 show.py
done
echo --max-frames 2; run --max-frames 2 | python3 show.py
echo --brief; run --brief | python3 show.py
