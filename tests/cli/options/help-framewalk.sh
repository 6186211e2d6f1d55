"$FRAMEWALK" --help
"$FRAMEWALK" --help > long; "$FRAMEWALK" -h > short; "$FRAMEWALK" help > word
cmp long short
cmp long word
