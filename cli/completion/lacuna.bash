# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
# Completes the words of `lacuna` in bash. The command itself knows the candidates; where it has none, files are completed.
_lacuna() {
  local line=${COMP_LINE:0:COMP_POINT} words current candidates
  read -ra words <<<"$line"
  if [[ $line == *[[:space:]] ]]; then words+=(''); fi
  current=${words[-1]}
  mapfile -t candidates < <("${words[0]}" --complete "${words[@]:1}" 2>/dev/null)
  # Bash replaces only what follows the last of these.
  local kept=${current%"${current##*[=:]}"}
  COMPREPLY=("${candidates[@]#"$kept"}")
  if [[ ${#candidates[@]} == 1 && ${candidates[0]} == *[=:*] ]]; then compopt -o nospace; fi
}
complete -o default -F _lacuna lacuna
