. "$CASES/lib.sh"
try completion
try completion tcsh
try completion bash zsh
