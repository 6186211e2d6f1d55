"$FRAMEWALK" help --help
"$FRAMEWALK" help --help > long; "$FRAMEWALK" help -h > short; "$FRAMEWALK" help help > word
cmp long short
cmp long word
