# SPDX-License-Identifier: Apache-2.0
#
# Bash completion for groat.  All it knows comes from `groat completion-data`:
# lines of kind, owner, name and a fourth field, separated by tabs.  They are
# asked for once per shell and kept in _groat_data.

_groat_load() {
    [ -n "${_groat_data-}" ] && return
    _groat_data=$("$1" completion-data 2>/dev/null)
}

# The names of one kind; with a second word, of one owner.
_groat_names() {
    local kind of name more
    while IFS=$'\t' read -r kind of name more; do
        [ "$kind" = "$1" ] || continue
        [ -z "${2-}" ] || [ "$of" = "$2" ] || continue
        printf '%s\n' "$name"
    done <<<"$_groat_data"
}

# What the fourth field of an option says of its value: "" for a flag.
_groat_value() {
    local kind of name more
    while IFS=$'\t' read -r kind of name more; do
        [ "$kind/$of/$name" = "option/$1/$2" ] && printf '%s\n' "$more"
    done <<<"$_groat_data"
}

# The values of a parameter that are written one by one: a|b|c.
_groat_choices() {
    local kind of name more
    while IFS=$'\t' read -r kind of name more; do
        [ "$kind/$of/$name" = "param/$1/$2" ] || continue
        case $more in
        *'|'*) printf '%s\n' "${more//|/$'\n'}" ;;
        esac
    done <<<"$_groat_data"
}

# Offers the lines of $2 that start with $1, each with $3 behind it.
_groat_offer() {
    local word
    while read -r word; do
        case $word in
        ?*) [ "${word#"$1"}" = "$word" ] && [ -n "$1" ] ||
            COMPREPLY+=("$word${3-}") ;;
        esac
    done <<<"$2"
}

# A spec under the cursor: family, then parameters, then values.  Readline has
# cut it at ":" and "=", so what it replaces is the last piece.
_groat_spec() {
    local whole=$1 family last
    case $whole in
    *:*)
        family=${whole%%:*}
        last=${whole#*:}
        last=${last##*,}
        case $last in
        *=*) _groat_offer "${last#*=}" \
            "$(_groat_choices "$family" "${last%%=*}")" ;;
        *) _groat_offer "$last" "$(_groat_names param "$family")" '=' ;;
        esac
        ;;
    *) _groat_offer "$whole" "$(_groat_names family)" ':' ;;
    esac
    compopt -o nospace 2>/dev/null
}

# Everything from the last blank to the cursor, unlike COMP_WORDS.
_groat_typed() {
    local line=${COMP_LINE:0:COMP_POINT}
    printf '%s\n' "${line##*[[:blank:]]}"
}

# The word before the one under the cursor, as the user sees words.
_groat_before() {
    local line=${COMP_LINE:0:COMP_POINT}
    line=${line%"$(_groat_typed)"}
    line=${line%"${line##*[![:blank:]]}"}
    printf '%s\n' "${line##*[[:blank:]]}"
}

# What stands before the last ":" or "=" or "," is not Readline's to replace.
_groat_trim() {
    local typed=$1 head i
    head=
    case $COMP_WORDBREAKS in
    *:*) case $typed in *[:=]*) head=${typed%"${typed##*[:=]}"} ;; esac ;;
    esac
    [ -n "$head" ] || return 0
    for i in "${!COMPREPLY[@]}"; do
        COMPREPLY[i]=${COMPREPLY[i]#"$head"}
    done
}

_groat() {
    local typed before command option value i
    COMPREPLY=()
    _groat_load "${COMP_WORDS[0]}"
    typed=$(_groat_typed)
    before=$(_groat_before)
    command=${COMP_WORDS[1]-}
    if [ "$COMP_CWORD" -le 1 ]; then
        _groat_offer "$typed" "$(_groat_names command)" ' '
        compopt -o nospace 2>/dev/null
        return
    fi
    case $before in
    -o)
        compopt -o default 2>/dev/null
        return
        ;;
    --*)
        option=${before#--}
        value=$(_groat_value "$command" "$option")
        case $value in
        T)
            _groat_offer "$typed" "$(_groat_names target)"
            _groat_trim "$typed"
            return
            ;;
        FILE | D | P)
            compopt -o default 2>/dev/null
            return
            ;;
        banks)
            _groat_offer "$typed" "$value"
            return
            ;;
        ?*) return ;;
        esac
        ;;
    esac
    case $typed in
    --*)
        _groat_offer "${typed#--}" "$(_groat_names option "$command")"
        if [ "$command" = run ] || [ "$command" = draw ]; then
            _groat_offer "${typed#--}" \
                "$(_groat_names argument | tr _ - | sort -u)"
        fi
        for i in "${!COMPREPLY[@]}"; do
            COMPREPLY[i]=--${COMPREPLY[i]}
        done
        return
        ;;
    esac
    case $command in
    help) _groat_offer "$typed" "$(_groat_names command)" ;;
    families) _groat_offer "$typed" "$(_groat_names family)" ;;
    cache | bench | fleet)
        [ "$COMP_CWORD" -gt 2 ] ||
            _groat_offer "$typed" "$(_groat_names subcommand "$command")"
        ;;
    run | draw | build | source | key | explain)
        _groat_spec "$typed"
        case $typed in
        *:*,*)
            # Readline replaces from the last ":" or "=": keep what is between.
            value=${typed##*[:=]}
            case $value in
            *,*)
                for i in "${!COMPREPLY[@]}"; do
                    COMPREPLY[i]=${value%,*},${COMPREPLY[i]}
                done
                ;;
            esac
            ;;
        esac
        ;;
    esac
}

complete -o bashdefault -o default -F _groat groat
