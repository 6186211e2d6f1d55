"$FRAMEWALK" stack --help
"$FRAMEWALK" stack --help > long; "$FRAMEWALK" stack -h > short; "$FRAMEWALK" help stack > word
cmp long short
cmp long word
