# What is read lazily is what the compiled module says: whole reports of cores,
# but for what compiling counted.
# needs: corpus python3
report() {
	timeout 60 "$FRAMEWALK" stack "$1" -s "$dir" --sysroot "$CORPUS/sysroot" --no-cache \
		--json --lazy "$2" | python3 -c '
import json, sys
report = json.load(sys.stdin)
for module in report["modules"]:
    del module["diagnostics"]
print(json.dumps(report, indent=1))'
}
for dir in "$CORPUS"/cores/*/; do
	[ -e "$dir/core" ] || continue
	report "$dir/core" never > never
	report "$dir/core" always > always
	cmp never always || echo "$dir differs"
done
echo done
