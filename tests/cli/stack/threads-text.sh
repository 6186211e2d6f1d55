# --threads as text: the crashed thread stays first, equal ones stay one; ids and places that are not there.
. "$CASES/lib.sh"
fixture threads
for which in all crashing 18 0x11 '#0' '#4' '#5'; do
	echo "--- $which"
	"$FRAMEWALK" stack --no-cache --sysroot . --threads "$which" "$dump" -s "$symbols" | grep -E '^(Thread|.* threads with|  threads:|  #)'
done
for which in 12 '#6' 4294967296 x '#' ''; do
	try stack --no-cache --threads "$which" "$dump" -s "$symbols"
done
