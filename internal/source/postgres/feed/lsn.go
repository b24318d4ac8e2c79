package feed

import (
	"fmt"
	"strconv"
	"strings"
)

// LSN is a place in PostgreSQL's write-ahead log.
type LSN uint64

// String returns the text that PostgreSQL uses: "16/B374D848".
func (l LSN) String() string { return fmt.Sprintf("%X/%X", uint32(l>>32), uint32(l)) }

// ParseLSN reads the text of an LSN.
func ParseLSN(s string) (LSN, error) {
	high, low, _ := strings.Cut(s, "/")
	hi, err := strconv.ParseUint(high, 16, 32)
	lo, errLow := strconv.ParseUint(low, 16, 32)
	if err != nil || errLow != nil {
		return 0, fmt.Errorf("%q is not a log position", s)
	}
	return LSN(hi)<<32 | LSN(lo), nil
}
