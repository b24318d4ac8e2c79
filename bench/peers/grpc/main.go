// Command grpc is gRPC-go doing what gofast's perf program does: a server that
// echoes requests and swallows streams, and a client that measures it and prints
// what it has measured as JSON.
//
//	grpc -listen 127.0.0.1:7000
//	grpc -target 127.0.0.1:7000 -kind request -connections 1 -routines 20 -payload 64
//
// Messages are bytes: there is no protobuf around them, which is in gRPC's favour.
// gRPC has no one-way message: a post is a message of a stream that does not end.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	var l load
	listen := flag.String("listen", "", "serve at this `address`")
	flag.StringVar(&l.target, "target", "", "measure the server at this `address`")
	flag.StringVar(&l.kind, "kind", "request", "post, request or stream")
	flag.IntVar(&l.connections, "connections", 1, "connections")
	flag.IntVar(&l.routines, "routines", 1, "callers on each connection")
	flag.IntVar(&l.payload, "payload", 64, "bytes of a message")
	flag.IntVar(&l.messages, "messages", 1, "messages of a stream")
	flag.DurationVar(&l.duration, "duration", 3*time.Second, "what is measured")
	flag.DurationVar(&l.warmup, "warmup", time.Second, "before it")
	flag.Parse()
	var err error
	if *listen != "" {
		err = serve(*listen)
	} else {
		err = l.run(context.Background(), os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "grpc:", err)
		os.Exit(1)
	}
}
