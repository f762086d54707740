# Completion of edged's and edgectl's arguments for bash: commands and options as --help has them,
# the words of some options, else files.

_edged()
{
    local program=$1 word=$2 before=$3 help=()

    COMPREPLY=()
    if [[ ${program##*/} == edgectl ]]; then
        if ((COMP_CWORD == 1)); then
            mapfile -t COMPREPLY < <(compgen -W "$("$program" --help | sed -n 's/^  \([a-z-]*\) .*/\1/p')" -- "$word")
            return
        fi
        help=("${COMP_WORDS[1]}")
    fi
    case $before in
    --role) mapfile -t COMPREPLY < <(compgen -W "viewer operator admin" -- "$word") ;;
    --flip) mapfile -t COMPREPLY < <(compgen -W "none rotate-90 rotate-180 rotate-270 horizontal vertical" -- "$word") ;;
    --backend) mapfile -t COMPREPLY < <(compgen -W "auto cpu cuda" -- "$word") ;;
    --view)
        mapfile -t COMPREPLY < <(compgen -W "camera gray edges binary canny motion overlay direction split custom" -- "$word")
        ;;
    *)
        if [[ ${help[0]} == @(set|unset) && $word != -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$("$program" diff --all 2>/dev/null | sed -n 's/^\([a-z][a-z0-9_]*\.[^ ]*\) .*/\1/p')" -- "$word")
        elif [[ ${help[0]} == clips && $COMP_CWORD == 2 && $word != -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "list show keep unkeep delete export" -- "$word")
        elif [[ $word == -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$("$program" "${help[@]}" --help | grep -oE '^ +.*--[a-z-]+' | grep -oE -- '--[a-z-]+')" -- "$word")
        else
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
        fi
        ;;
    esac
}

complete -o filenames -F _edged edged edgectl
