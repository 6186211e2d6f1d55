# The bash script parses and offers what fits: commands, options, choices, files.
# needs: bash
"$FRAMEWALK" completion bash > script
bash -n script || echo "bash -n failed"
touch 'a dump.dmp'
mkdir folder
cat > ask <<'END'
. ./script
compopt() { :; }
ask() {
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_framewalk
	echo "$*: ${COMPREPLY[*]}"
}
ask framewalk ''
ask framewalk st
ask framewalk --v
ask framewalk help in
ask framewalk stack --f
ask framewalk stack --format ''
ask framewalk stack --format = n
ask framewalk stack --format =
ask framewalk stack x.dmp --threads c
ask framewalk stack --cache fo
ask framewalk stack -s fo
ask framewalk stack a
ask framewalk inspect --s
ask framewalk stack -j ''
END
bash ask
