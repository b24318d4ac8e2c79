package main

// spareProcessors is how many processors of Go's scheduler there are beside those that
// event loops may take. With none to spare, a loop whose thread has been woken waits for
// the goroutine of a write to leave its processor; with some, the two are threads of
// which the system lets the one that has slept go first. At 6,000 requests a second on
// one core, a tenth of them PUTs, the loop waited for a processor for 102 ms a second
// without, and for 13 with two (by execution traces of two seconds).
//
// It is a number and no share of the cores: Go's collector takes a quarter of the
// processors that it sees.
const spareProcessors = 2
