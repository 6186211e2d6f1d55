# needs: fish
"$FRAMEWALK" completion fish > script.fish
fish --no-execute script.fish
for line in 'framewalk ' 'framewalk stack --form' 'framewalk stack --format ' 'framewalk help in'; do
	echo "$line: $(fish --no-config -c 'source script.fish; complete -C $argv' "$line" | cut -f 1 | tr '\n' ' ')"
done
