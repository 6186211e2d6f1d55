# Cores that coredump_filter kept small. With the ELF headers' pages the stacks are
# the whole core's; without them only the program is known, by its entry point and
# bytes: what is found is true. Without stacks there is the innermost frame.
# needs: corpus python3
report() {
	timeout 60 "$FRAMEWALK" stack "$1" -s "$dir" --sysroot "$CORPUS/sysroot" --cache cache --json
}
for name in c_basic_m32 arm64_c_basic_nopie threads; do
	dir=$CORPUS/cores/$name
	report "$dir/core" > whole || echo "$name: status $?"
	for mask in 0x11 0x1 0; do
		python3 "$CASES/cores/alter.py" filter $mask "$dir/core" filtered
		report filtered > part || echo "$name $mask: status $?"
		case $mask in
		0) how=innermost ;;
		0x1) how=part ;;
		*) how=equal ;;
		esac
		python3 "$CASES/cores/compare.py" $how whole part | sed "s/^/$name $mask: /"
	done
done
# the program's own frames are there without any id
python3 "$CASES/cores/alter.py" filter 1 "$CORPUS/cores/c_basic_O2/core" filtered
"$FRAMEWALK" stack filtered -s "$CORPUS/cores/c_basic_O2" --no-cache --sysroot empty |
	sed -n 's/^  #\([0-9]* *[a-z_]* [^ ]* [^ ]*\).* \([a-z]*\)$/\1 \2/p'
