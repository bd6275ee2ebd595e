# A virtual user in Tcl: makes calls with inputs that were drawn before, and records sums alone.
# Arguments: postgresql or mysql, connection arguments of Pgtcl or mysqltcl, the files of statements and of inputs,
# the statement whose results with a row are counted. mysqltcl cannot send two commands at once: a CALL and the SELECT of
# what it returned are two requests.
# Prints "ready"; reads when to begin, and when a window begins and ends, in microseconds since 1970; prints of the window:
# calls, those that are counted, microseconds within calls.
lassign $argv protocol arguments statements inputs counted

proc fields_of {path} {
    set channel [open $path]
    set lines [split [read $channel] \n]
    close $channel
    return [lmap line $lines {split $line \t}]
}
namespace eval on_postgresql {
    proc connected {arguments statements} {
        package require Pgtcl
        set connection [pg_connect -conninfo $arguments]
        foreach statement [fields_of $statements] {
            lassign $statement name text
            set result [pg_exec $connection "PREPARE $name AS $text"]
            if {[pg_result $result -status] ne "PGRES_COMMAND_OK"} {error [pg_result $result -error]}
            pg_result $result -clear
        }
        return $connection
    }
    proc rows {connection call} {
        set result [pg_exec_prepared $connection {*}$call]
        if {[pg_result $result -status] ne "PGRES_TUPLES_OK"} {error [pg_result $result -error]}
        set rows [pg_result $result -numTuples]
        pg_result $result -clear
        return $rows
    }
}
namespace eval on_mysql {
    proc connected {arguments statements} {
        package require mysqltcl
        return [::mysql::connect {*}$arguments]
    }
    proc rows {connection call} {
        lassign $call name call question
        if {[catch {::mysql::exec $connection $call} message]} {
            if {$::mysqlstatus(code) != 30001} {error $message}
            ::mysql::exec $connection ROLLBACK
            return 0
        }
        return [llength [::mysql::sel $connection $question -list]]
    }
}
set connection [on_${protocol}::connected $arguments $statements]
set calls [fields_of $inputs]
puts ready
flush stdout
lassign [gets stdin] begin first last
after [expr {max(0, ($begin - [clock microseconds]) / 1000)}]

proc run {rows connection calls first last counted} {
    lassign {0 0 0} done with_row within
    while 1 {
        foreach call $calls {
            set started [clock microseconds]
            set found [$rows $connection $call]
            set ended [clock microseconds]
            if {$ended >= $last} {return [list $done $with_row $within]}
            if {$started >= $first} {
                incr done
                incr within [expr {$ended - $started}]
                if {$found && [lindex $call 0] eq $counted} {incr with_row}
            }
        }
    }
}
puts [run on_${protocol}::rows $connection $calls $first $last $counted]
flush stdout
gets stdin
