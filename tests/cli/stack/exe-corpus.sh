# -e of a moved and renamed program gives what -s gives of the folder that it lay in.
# needs: corpus
report() { timeout 60 "$FRAMEWALK" stack "$dir/core" --sysroot "$CORPUS/sysroot" --no-cache --format machine "$@"; }
mkdir other
for dir in "$CORPUS"/cores/*/; do
	# its .dwo is beside it
	[ -e "$dir/core" ] && [ "$(basename "$dir")" != c_basic_split ] || continue
	cp "$dir/a.out" other/a.out
	rm -f other/*.debug
	[ ! -e "$dir/a.out.debug" ] || cp "$dir/a.out.debug" other
	report -e other/a.out > given
	report -s "$dir" > found
	cmp given found || echo "$dir differs"
done
echo done
