
# The names of tasks, agents and other values; files beside them, and everything else as above.
_flagfall_values() {
  local word option each
  local -a words names
  read -ra words <<< "${COMP_LINE:0:COMP_POINT}"
  [[ "${COMP_LINE:0:COMP_POINT}" == *[[:space:]] ]] && words+=("")
  word="${words[${#words[@]}-1]}"
  option="${words[1]}"  # `check-agent` takes its agent without an option
  for each in "${words[@]:2:${#words[@]}-3}"; do
    [[ "$each" == -* ]] && option="$each"
  done
  if [[ "$word" == --*=* ]]; then
    option="${word%%=*}" word="${word#*=}"
  elif [[ "$word" == -* || ${#words[@]} -eq 2 ]]; then
    option=""
  fi
  case "$option" in
@CASES@
    *) _flagfall "$@"; return ;;
  esac
  compopt -o filenames 2>/dev/null  # a slash after a folder; bash 3.2 cannot
  COMPREPLY=()
  while IFS= read -r each; do COMPREPLY+=("$each"); done < <(compgen -f -- "$word")
  for each in "${names[@]}"; do
    [[ "$each" == "$word"* ]] && COMPREPLY+=("$each")
  done
  # Something follows `gym:` and `tcp://`, and the name in a file of Python.
  [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" =~ (:|/|\.py)$ ]] && compopt -o nospace 2>/dev/null
  if [[ "$COMP_WORDBREAKS" == *:* && "$word" == *:* ]]; then  # bash completes only what follows the colon
    COMPREPLY=("${COMPREPLY[@]#"${word%:*}:"}")
  fi
}

complete -F _flagfall_values flagfall
