# Completion of handrail for fish: handrail completion fish | source
function __handrail_next
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] __complete $words[2..] 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path (commandline -ct)
            case :dirs
                __fish_complete_directories (commandline -ct)
            case '*'
                echo $line
        end
    end
end
complete -c handrail -f -a '(__handrail_next)'
