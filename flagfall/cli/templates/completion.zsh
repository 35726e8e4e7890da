
# The names of tasks, agents and other values; files beside them, and everything else as above.
_flagfall() {
  local option=$words[2] each
  local -a names
  for each in "${(@)words[3,CURRENT-1]}"; do
    [[ $each == -* ]] && option=$each
  done
  if [[ $PREFIX == --*=* ]]; then
    option=${PREFIX%%=*}
  elif [[ $PREFIX == -* || $CURRENT -eq 2 ]]; then
    option=  # `check-agent` takes its agent without an option
  fi
  case $option in
@CASES@
    *) _cyclopts_flagfall "$@"; return ;;
  esac
  [[ $PREFIX == --*=* ]] && compset -P "$option="
  compadd -- ${names:#*[:/]}
  compadd -S '' -- ${(M)names:#*[:/]}  # something follows `gym:` and `tcp://`
  _files -S ' ' -r ':'  # `bot.py` goes on with a colon and the name in it
}

if [[ $funcstack[1] == _flagfall ]]; then  # loaded from a folder of $fpath
  _flagfall "$@"
else
  compdef _flagfall flagfall
fi
