package waittest

import (
	"flag"
	"strconv"
)

// SideBySide has n parallel tests of a package run at one time, unless -parallel says another
// number. A TestMain calls it whose tests wait for most of their time: as many as processors
// would leave those idle.
func SideBySide(n int) {
	// It fails for a flag that does not exist, and in a test binary this one does.
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic("BUG: " + err.Error())
	}
}
