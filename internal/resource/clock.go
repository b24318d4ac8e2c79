package resource

import "time"

// start is where the clock of last resort begins.
var start = time.Now()
