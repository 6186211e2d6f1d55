# Cores that end too early, as RLIMIT_CORE or a full disk leave them: in the header,
# its table, the notes, in any segment. A core without threads is refused, all others
# give frames of the whole one's.
# needs: corpus python3
report() {
	timeout 60 "$FRAMEWALK" stack "$1" -s "$dir" --sysroot "$CORPUS/sysroot" --cache cache --json
}
for name in c_basic_m32 threads; do
	dir=$CORPUS/cores/$name
	report "$dir/core" > whole || echo "$name: status $?"
	python3 "$CASES/cores/alter.py" cuts "$dir/core" > places
	while read -r place bytes; do
		python3 "$CASES/cores/alter.py" cut "$bytes" "$dir/core" cut
		report cut > part 2> message
		case $? in
		0) python3 "$CASES/cores/compare.py" part whole part | sed "s/^/$name $place: /"
		   grep -q 'the core is cut off' part || echo "$name $place: nothing said" ;;
		*) echo "$name $place: $(cat message)" ;;
		esac
	done < places
done
