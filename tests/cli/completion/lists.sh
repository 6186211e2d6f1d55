# One table: the options in --help, in the three completions and in the man page are the same.
# needs: bash
commands='framewalk stack samples rules inspect addr syms help'
"$FRAMEWALK" completion list | LC_ALL=C sort > list

# --help, as "command --name -x ARG"
for c in $commands; do
	[ $c = framewalk ] && "$FRAMEWALK" --help || "$FRAMEWALK" $c --help
done | awk -v commands="$commands" '
BEGIN { split(commands, name, " ") }
/^Options:/ { n++; on = 1; next }
!/^  / { on = 0 }
on && /^ +(-[a-zA-Z], )?--/ {
	letter = ""
	if (match($0, /-[a-zA-Z],/)) { letter = " " substr($0, RSTART, 2); sub(/-[a-zA-Z], /, "") }
	arg = $2 ~ /^[A-Z]+$/ ? " " $2 : ""
	print name[n] " " $1 letter arg
}' | LC_ALL=C sort > help
diff list help || echo "--help differs"

# the man page: tags behind .TP and .TQ of the section of each command
awk '
/^\.\\" options of / { command = $4 }
/^\.\\" end of options/ { command = "" }
tag && command { gsub(/\\f[BRI]/, ""); gsub(/\\-/, "-"); letter = ""
	if ($1 ~ /,$/) { letter = " " substr($1, 1, 2); $1 = $2; $2 = $3 }
	print command " " $1 letter ($2 ? " " $2 : "") }
{ tag = /^\.T[PQ]/ }' "${CASES%/tests/cli}/cmd/framewalk.1" | LC_ALL=C sort > man
diff list man || echo "the man page differs"

# completions know no ARG; names and letters must agree, and which options take a value
sed 's/ [A-Z]*$//' list > names
"$FRAMEWALK" completion fish | sed -n "
/ -l / {
	s/^complete -c framewalk -n __fish_use_subcommand /framewalk /
	s/^complete -c framewalk -n '__fish_seen_subcommand_from \([a-z]*\)' /\1 /
	s/^\([a-z]*\) -s \(.\) -l \([a-z-]*\).*/\1 --\3 -\2/
	s/^\([a-z]*\) -l \([a-z-]*\).*/\1 --\2/
	p
}" | LC_ALL=C sort > fish
diff names fish || echo "fish differs"

"$FRAMEWALK" completion zsh | awk '
/^\t\([a-z-]+\*?\)$/ { command = $1; gsub(/[()]/, "", command); if (command == "-*") command = "framewalk" }
/^\t\t\t.*--/ {
	match($0, /--[a-z-]+/); name = $0; sub(/\[.*/, "", name)
	letter = ""
	if (match(name, /\{-[a-zA-Z]/)) letter = " " substr(name, RSTART + 1, 2)
	match(name, /--[a-z-]+/); last = substr(name, RSTART, RLENGTH)
	print command " " last letter
}' | LC_ALL=C sort > zsh
diff names zsh || echo "zsh differs"

"$FRAMEWALK" completion bash > script
cat > ask <<'END'
. ./script
compopt() { :; }
for c in $1; do
	words=(framewalk)
	[ $c = framewalk ] || words+=($c)
	COMP_WORDS=("${words[@]}" -) COMP_CWORD=${#words[@]} COMPREPLY=()
	_framewalk
	printf "$c %s\n" "${COMPREPLY[@]}"
done
END
bash ask "$commands" | LC_ALL=C sort > bash
awk '{ print $1, $2; if ($3) print $1, $3 }' names | LC_ALL=C sort > words
diff words bash || echo "bash differs"
echo "$(wc -l < list) options"
