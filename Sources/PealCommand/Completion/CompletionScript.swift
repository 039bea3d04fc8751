/// What a shell runs when somebody presses Tab behind `peal`. Each script asks the program that is being typed for the words, so it is
/// right after an upgrade too, and looks for files itself. Nothing of it touches the network.
enum CompletionScript {
    /// By the shell's name.
    static let scripts = ["bash": bash, "zsh": zsh, "fish": fish]

    /// Words are put together anew: bash cuts them at `=` and `:`, also within a URL.
    private static let bash = #"""
        # Completions of peal for bash. Made by `peal completions bash`.
        _peal() {
            local line=${COMP_LINE:0:COMP_POINT} words=() before piece index
            for ((index = 0; index <= COMP_CWORD; index++)); do
                before=${line%%[![:space:]]*}
                line=${line#"$before"}
                piece=${COMP_WORDS[index]}
                ((index == COMP_CWORD)) && piece=$line
                if [[ -n $before || $index -eq 0 || ${#words[@]} -eq 0 ]]; then words+=("$piece"); else words[-1]+=$piece; fi
                line=${line#"$piece"}
            done
            local current=${words[-1]} cut=$piece
            [[ $piece == [=:] ]] && cut=
            local prefix=${current%"$cut"} other word
            COMPREPLY=()
            while IFS=$'\t' read -r word _; do
                case $word in
                    :*) other=$word ;;
                    *) COMPREPLY+=("${word#"$prefix"}") ;;
                esac
            done < <("${words[0]/#\~\//$HOME/}" completions words -- "${words[@]:1}" 2>/dev/null)
            case $other in
                :file) compopt -o filenames && mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$cut") ;;
                :directory) compopt -o filenames && mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$cut") ;;
            esac
        }
        complete -F _peal peal

        """#

    private static let zsh = #"""
        #compdef peal
        # Completions of peal for zsh. Made by `peal completions zsh`.
        _peal() {
            local -a answer candidates
            local line
            answer=("${(@f)$("${(Q)words[1]/#\~\//$HOME/}" completions words -- "${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
            for line in "${(@)answer[2,-1]}"; do
                [[ -n $line ]] && candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
            done
            (( $#candidates )) && _describe -t words 'peal' candidates
            case $answer[1] in
                :file) compset -P '--[^=]#='; _files ;;
                :directory) compset -P '--[^=]#='; _files -/ ;;
            esac
            return 0
        }
        if [[ $funcstack[1] = _peal ]]; then _peal "$@"; else compdef _peal peal; fi

        """#

    private static let fish = #"""
        # Completions of peal for fish. Made by `peal completions fish`.
        function __peal_complete
            set -l words (commandline -opc)
            set -l current (commandline -ct)
            set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
            set -l answer ($program completions words -- $words[2..-1] "$current" 2>/dev/null)
            set -l path (string replace -r '^--[^=]*=' '' -- "$current")
            set -l before (string match -r '^--[^=]*=' -- "$current")
            test -n "$before"; or set before ''
            switch "$answer[1]"
                case :file
                    printf '%s\n' $before(__fish_complete_path "$path")
                case :directory
                    printf '%s\n' $before(__fish_complete_directories "$path")
            end
            test (count $answer) -gt 1; and printf '%s\n' $answer[2..-1]
        end
        complete -c peal -f -a '(__peal_complete)'

        """#
}
