package eventloop

import (
	"flag"
	"os"
	"testing"
)

// benchForm makes this test binary a server for benchmarks.
const benchForm = "LANE_BENCH_FORM"

// TestMain lets every test find whoever looks at a buffer that is not its own.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(benchForm) == "" && flag.Lookup("test.bench").Value.String() == "" {
		PoisonBuffers()
	}
	os.Exit(m.Run())
}
