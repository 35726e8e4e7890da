
# The names of tasks, agents and other values; files beside them, and everything else as above.
function __flagfall_values_of
    set -l words (commandline -opc)
    set -l option $words[2]  # `check-agent` takes its agent without an option
    for word in $words[3..] (commandline -ct)
        string match -q -- '-*' $word; and set option (string split -m 1 = -- $word)[1]
    end
    contains -- "$option" $argv
end

@CASES@
