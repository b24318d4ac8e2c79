package waittest

import "os"

// longEnv asks for the long forms of tests.
const longEnv = "HOTROW_TEST_LONG"

// Long reports whether tests do all that they can (make test-long), in place of what is enough
// before each change (make test).
func Long() bool { return os.Getenv(longEnv) != "" }
