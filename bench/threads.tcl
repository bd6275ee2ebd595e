# A virtual user in Tcl: calls prepared statements with inputs that were drawn before, and records sums alone.
# Arguments: a connection string, the files of statements and of inputs, the statement whose results with a row are counted.
# Prints "ready"; reads when to begin, and when a window begins and ends, in microseconds since 1970; prints of the window:
# calls, those that are counted, microseconds within calls.
package require Pgtcl
lassign $argv conninfo statements inputs counted

proc fields_of {path} {
    set channel [open $path]
    set lines [split [read $channel] \n]
    close $channel
    return [lmap line $lines {split $line \t}]
}
set connection [pg_connect -conninfo $conninfo]
foreach statement [fields_of $statements] {
    lassign $statement name text
    set result [pg_exec $connection "PREPARE $name AS $text"]
    if {[pg_result $result -status] ne "PGRES_COMMAND_OK"} {error [pg_result $result -error]}
    pg_result $result -clear
}
set calls [fields_of $inputs]
puts ready
flush stdout
lassign [gets stdin] begin first last
after [expr {max(0, ($begin - [clock microseconds]) / 1000)}]

proc run {connection calls first last counted} {
    lassign {0 0 0} done with_row within
    while 1 {
        foreach call $calls {
            set started [clock microseconds]
            set result [pg_exec_prepared $connection {*}$call]
            set ended [clock microseconds]
            if {[pg_result $result -status] ne "PGRES_TUPLES_OK"} {error [pg_result $result -error]}
            set rows [pg_result $result -numTuples]
            pg_result $result -clear
            if {$ended >= $last} {return [list $done $with_row $within]}
            if {$started >= $first} {
                incr done
                incr within [expr {$ended - $started}]
                if {$rows && [lindex $call 0] eq $counted} {incr with_row}
            }
        }
    }
}
puts [run $connection $calls $first $last $counted]
flush stdout
gets stdin
