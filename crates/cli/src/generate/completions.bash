
# What follows adds the values that depend on this machine: devices, files and served volumes. `_scrubjay_values` says what
# each command takes as an argument, and after each of its options; `words`: what `_scrubjay` offers.

# Block devices with a medium.
_scrubjay_devices() {
    local size device
    for size in /sys/class/block/*/size; do
        device="${size%/size}"
        device="${device##*/}"
        [[ ${device} =~ ^z?ram[0-9] || $(< "${size}") == 0 ]] || printf '/dev/%s\n' "${device//!//}"
    done 2>/dev/null
}

# Names of volumes that are being served, if any control socket is there.
_scrubjay_volumes() {
    local folder="${SCRUBJAY_RUN}" answer
    if [[ -z ${folder} ]]; then
        folder="${XDG_RUNTIME_DIR}/scrubjay"
        [[ ${EUID} == 0 ]] && folder=/run/scrubjay
    fi
    compgen -G "${folder}/*.sock" >/dev/null || return
    while IFS= read -r answer; do
        [[ ${answer} =~ \"name\":\"([^\"\\]+)\" ]] && printf '%s\n' "${BASH_REMATCH[1]}"
    done < <(timeout 2 "$1" volume status --json 2>/dev/null)
}

_scrubjay_and_values() {
    local cur="$2" previous="$3" command=scrubjay word kind
    local -A kinds=()
    [[ ${previous} == = ]] && previous="${COMP_WORDS[COMP_CWORD-2]}"
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        [[ ${word} != -* && -n ${_scrubjay_values["${command} ${word}"]+known} ]] || break
        command+=" ${word}"
    done
    if [[ -n ${_scrubjay_values["${command} ${previous}"]+known} && ${previous} == -* ]]; then
        word="${_scrubjay_values["${command} ${previous}"]}"
    elif [[ ${cur} == -* ]]; then
        word=words
    else
        word="${_scrubjay_values["${command}"]}"
    fi
    for kind in ${word}; do
        kinds[${kind}]=1
    done
    if [[ -n ${kinds[words]} ]]; then
        _scrubjay "$@"
        return
    fi
    COMPREPLY=()
    # What is neither a file nor a device is of the user's own making: a time, a size, a number.
    [[ -n ${kinds[files]}${kinds[devices]} ]] || compopt +o default +o bashdefault 2>/dev/null
    [[ -n ${kinds[files]} ]] && compopt -o filenames 2>/dev/null
    while IFS= read -r word; do
        [[ ${word} == "${cur}"* ]] && COMPREPLY+=("${word}")
    done < <([[ -n ${kinds[volumes]} ]] && _scrubjay_volumes "$1"; [[ -n ${kinds[devices]} ]] && _scrubjay_devices)
    if [[ -n ${kinds[files]} && ${cur} == /dev/* && -n ${kinds[devices]} ]]; then
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "${cur}")
    elif [[ -n ${kinds[files]} ]]; then
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "${cur}")
    fi
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _scrubjay_and_values -o nosort -o bashdefault -o default scrubjay
fi
