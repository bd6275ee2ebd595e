# A loop of calls as a Tcl client makes them; prints calls a second. Arguments: connection string, seconds.
package require Pgtcl
set connection [pg_connect -conninfo [lindex $argv 0]]
pg_result [pg_exec $connection "PREPARE noop AS SELECT 1"] -clear
proc calls {connection until} {
    set done 0
    while {[clock milliseconds] < $until} {
        for {set i 0} {$i < 100} {incr i} {
            set result [pg_exec_prepared $connection noop]
            pg_result $result -status
            pg_result $result -clear
        }
        incr done 100
    }
    return $done
}
set seconds [lindex $argv 1]
puts [expr {[calls $connection [expr {[clock milliseconds] + int($seconds * 1000)}]] / double($seconds)}]
