package policy

import "testing"

// unsafeRooms are the packages that may import unsafe: those whose hit path or
// file mapping pays for it, and the suites below them. Each keeps it in one file.
var unsafeRooms = []string{
	"internal/arena", "internal/eventloop", "internal/links/clicklog", "internal/tier",
	"internal/row", "client/wire/cbor",
}

func TestUnsafe_IsInOneFileOfAFewPackages(t *testing.T) {
	first := map[string]string{}
	for _, f := range goFiles(t) {
		for _, spec := range f.ast.Imports {
			if spec.Path.Value != `"unsafe"` || f.test {
				continue
			}
			if !covers(unsafeRooms, f.dir()) {
				t.Errorf("%s imports unsafe; only %v may", f.path, unsafeRooms)
			}
			if other := first[f.dir()]; other != "" {
				t.Errorf("%s and %s import unsafe; one file of a package may", other, f.path)
			}
			first[f.dir()] = f.path
		}
	}
}
