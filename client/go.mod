module github.com/hotrow/hotrow/client

go 1.26.0

require (
	github.com/fxamacker/cbor/v2 v2.9.6
	github.com/google/go-cmp v0.7.0
	github.com/klauspost/compress v1.20.3
	github.com/vmihailenco/msgpack/v5 v5.4.1
	go.uber.org/goleak v1.3.0
)

require (
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
	github.com/x448/float16 v0.8.4 // indirect
)
