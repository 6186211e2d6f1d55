# needs: zsh
"$FRAMEWALK" completion zsh > script
zsh -n script
