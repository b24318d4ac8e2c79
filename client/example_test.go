package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/hotrow/hotrow/client"
)

func Example() {
	c, err := client.Open("hotrow://127.0.0.1:9900") // or http://127.0.0.1:8080
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	ctx := context.Background()

	doc, err := c.Get(ctx, "depts", "10")
	switch {
	case errors.Is(err, client.ErrNotFound):
		fmt.Println("there is no such department")
		return
	case err != nil:
		log.Fatal(err)
	}
	var dept struct {
		Name string `json:"deptName"`
	}
	if err := doc.Decode(&dept); err != nil {
		log.Fatal(err)
	}
	fmt.Println(dept.Name, doc.Origin == client.FromMemory)
}

func ExampleClient_Put() {
	c, err := client.Open("http://127.0.0.1:8080", client.WithToken("hrt_..."))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	ctx := context.Background()

	doc, err := c.Get(ctx, "depts", "10")
	if err != nil {
		log.Fatal(err)
	}
	// Only if nobody has changed it meanwhile.
	_, err = c.Patch(ctx, "depts", "10", map[string]any{"deptLocation": "BOSTON"},
		client.IfMatch(doc.ETag))
	if errors.Is(err, client.ErrPrecondition) {
		fmt.Println("somebody was faster")
	}
}

func ExampleClient_Watch() {
	c, err := client.Open("hotrow://127.0.0.1:9900")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	w, err := c.Watch(ctx, "depts")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	for event, err := range w.All(ctx) {
		switch {
		case err != nil:
			return
		case event.Kind == client.Reset:
			fmt.Println("anything may have changed")
		default:
			fmt.Println(event.Key, "has changed")
		}
	}
}

func ExampleWithNearCache() {
	c, err := client.Open("hotrow://127.0.0.1:9900",
		client.WithNearCache(client.NearCache{Bytes: 64 << 20, MaxLag: 500 * time.Millisecond}))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for range 2 {
		doc, err := c.Get(context.Background(), "depts", "10")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(doc.Origin == client.FromNear, doc.Lag)
	}
}

func ExampleJoinKey() {
	fmt.Println(client.JoinKey("Tulsa", "OK"))
	fmt.Println(client.JoinKey("a,b", "c"))
	// Output:
	// Tulsa,OK
	// a%2Cb,c
}
