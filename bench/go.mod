// The benchmarks: a module of their own, so that who installs hotrow downloads nothing of them.
// Nobody takes this module, so it may name its siblings by their folders.
module github.com/hotrow/hotrow/bench

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/hotrow/hotrow v0.0.0
	github.com/hotrow/hotrow/client v0.2.0
	go.uber.org/goleak v1.3.0
	golang.org/x/sys v0.50.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dustin/go-humanize v1.1.0 // indirect
	github.com/fxamacker/cbor/v2 v2.9.6 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/ncruces/go-strftime v1.1.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/x448/float16 v0.8.4 // indirect
	go.etcd.io/bbolt v1.5.0 // indirect
	golang.org/x/sync v0.25.0 // indirect
	modernc.org/libc v1.79.0 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
	modernc.org/sqlite v1.61.1 // indirect
)

replace (
	github.com/hotrow/hotrow => ../
	github.com/hotrow/hotrow/client => ../client
)
