"$FRAMEWALK" rules --help
"$FRAMEWALK" rules --help > long; "$FRAMEWALK" rules -h > short; "$FRAMEWALK" help rules > word
cmp long short
cmp long word
