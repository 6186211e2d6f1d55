"$FRAMEWALK" samples --help
"$FRAMEWALK" samples --help > long; "$FRAMEWALK" samples -h > short; "$FRAMEWALK" help samples > word
cmp long short
cmp long word
