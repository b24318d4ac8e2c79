package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
)

// A plain codec sends bytes as they are.
type plain struct{}

func (plain) Name() string { return "plain" }

func (plain) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("marshal %T: want *[]byte", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(*b)}, nil
}

func (plain) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("unmarshal %T: want *[]byte", v)
	}
	*b = data.Materialize()
	return nil
}

// The methods of the service.
const (
	service      = "bench.Echo"
	echoMethod   = "/" + service + "/Request"
	streamMethod = "/" + service + "/Stream"
)

// description is the service, as a compiler of protobuf would write it.
var description = grpc.ServiceDesc{
	ServiceName: service,
	HandlerType: (*any)(nil),
	Methods:     []grpc.MethodDesc{{MethodName: "Request", Handler: echo}},
	Streams: []grpc.StreamDesc{
		{StreamName: "Stream", Handler: swallow, ClientStreams: true},
	},
}

// echo answers a request with itself.
func echo(
	_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor,
) (any, error) {
	var b []byte
	if err := decode(&b); err != nil {
		return nil, err
	}
	return &b, nil
}

// swallow takes the messages of a stream and answers its end.
func swallow(_ any, s grpc.ServerStream) error {
	var b []byte
	for {
		err := s.RecvMsg(&b)
		if errors.Is(err, io.EOF) {
			b = nil
			return s.SendMsg(&b)
		}
		if err != nil {
			return err
		}
	}
}

// serve serves until it is stopped.
func serve(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	s := grpc.NewServer(grpc.ForceServerCodecV2(plain{}))
	s.RegisterService(&description, nil)
	return s.Serve(l)
}
