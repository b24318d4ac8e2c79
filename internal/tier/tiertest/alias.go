package tiertest

import (
	"unsafe"

	"github.com/hotrow/hotrow/internal/row"
)

// alias returns a key that shares buf's bytes, as one does that a front has
// just read. It is valid until buf is written to.
func alias(buf []byte) row.Key { return row.Key(unsafe.String(unsafe.SliceData(buf), len(buf))) }
