# needs: python3
# By the grammar of flamegraph.pl and stackcollapse-perf.pl.
print=${FRAMEWALK%/*}/tests/tools/print_profile
[ -x "$print" ] || { echo "no print_profile"; exit 77; }
check=$CASES/../consumers/check_folded.py
for profile in small deep 3000; do
	"$print" $profile folded > folded
	"$print" $profile perf > perf
	python3 "$check" folded perf
done
for format in folded annotated; do
	"$print" hostile $format > folded
	python3 "$check" folded
done
