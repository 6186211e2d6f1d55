# needs: fish
"$FRAMEWALK" completion fish > script.fish
fish --no-execute script.fish
