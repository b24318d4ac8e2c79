package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/hotrow/hotrow/client"
)

// The examples run with these, which are those of a server with departments:
//
//	HOTROW_URL=hotrow://127.0.0.1:9900 # or http://127.0.0.1:8080
//	HOTROW_TOKEN=hrt_...

func Example() {
	c, err := client.Open(os.Getenv("HOTROW_URL"))
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
	fmt.Println(dept.Name)
	// Output: ACCOUNTING
}

func ExampleOpen_http() {
	c, err := client.Open(os.Getenv("HOTROW_HTTP_URL"), // http://127.0.0.1:8080
		client.WithToken(os.Getenv("HOTROW_TOKEN")), client.WithFormat(client.CBOR),
		client.WithTimeout(2*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = c.Close() }()

	doc, err := c.Get(context.Background(), "cities", client.JoinKey("Tulsa", "OK"))
	if err != nil {
		log.Fatal(err)
	}
	var city map[string]any
	if err := doc.Decode(&city); err != nil {
		log.Fatal(err)
	}
	fmt.Println(city["city"], city["people"], doc.Format)
	// Output: Tulsa 413066 cbor
}

func ExampleClient_GetMany() {
	c, err := client.Open(os.Getenv("HOTROW_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = c.Close() }()

	docs, err := c.GetMany(context.Background(), "depts", []string{"30", "99"})
	if err != nil {
		log.Fatal(err)
	}
	for _, doc := range docs { // in the order of the keys
		fmt.Println(doc.Key, doc.Missing)
	}
	// Output:
	// 30 false
	// 99 true
}

func ExampleClient_List() {
	c, err := client.Open(os.Getenv("HOTROW_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = c.Close() }()

	for o := (client.ListOptions{Limit: 3}); ; {
		page, err := c.List(context.Background(), "depts", o)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(page.Documents))
		if page.Next == "" {
			break
		}
		o.After = page.Next
	}
	// Output:
	// 3
	// 1
}

func ExampleIfMatch() {
	c, err := client.Open(os.Getenv("HOTROW_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	ctx := context.Background()

	doc, err := c.Get(ctx, "depts", "10")
	if err != nil {
		log.Fatal(err)
	}
	for _, place := range []string{"BOSTON", "DALLAS"} {
		// Only if nobody has changed it since it was read.
		_, err := c.Patch(ctx, "depts", "10", map[string]any{"deptLocation": place},
			client.IfMatch(doc.ETag))
		switch {
		case errors.Is(err, client.ErrPrecondition):
			fmt.Println("somebody was faster")
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Println("now in", place)
		}
	}
	// Output:
	// now in BOSTON
	// somebody was faster
}

func ExampleClient_Watch() {
	c, err := client.Open(os.Getenv("HOTROW_URL"))
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
	if _, err := c.Patch(ctx, "depts", "20", map[string]any{"deptLocation": "X"}); err != nil {
		log.Fatal(err)
	}
	for event, err := range w.All(ctx) {
		switch {
		case err != nil:
			log.Fatal(err)
		case event.Kind == client.Reset:
			fmt.Println("anything may have changed")
		default:
			fmt.Println(event.Key, "has changed")
		}
		break
	}
	// Output: 20 has changed
}

func ExampleClient_See() {
	writer, err := client.Open(os.Getenv("HOTROW_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = writer.Close() }()
	reader, err := client.Open(os.Getenv("HOTROW_HTTP_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	ctx := context.Background()

	doc, err := writer.Patch(ctx, "depts", "30", map[string]any{"deptLocation": "OSLO"})
	if err != nil {
		log.Fatal(err)
	}
	reader.See(doc.Position) // as it came in a message: what follows is as new as that
	doc, err = reader.Get(ctx, "depts", "30")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(doc.Body))
	// Output: {"deptNumber":30,"deptName":"SALES","deptLocation":"OSLO"}
}

func ExampleWithNearCache() {
	c, err := client.Open(os.Getenv("HOTROW_URL"),
		client.WithNearCache(client.NearCache{Bytes: 64 << 20, MaxLag: 500 * time.Millisecond}))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = c.Close() }()

	for { // a copy is kept once the server tells of changes
		doc, err := c.Get(context.Background(), "depts", "10")
		if err != nil {
			log.Fatal(err)
		}
		if doc.Origin == client.FromNear {
			fmt.Println("from the program's own memory:", doc.Key)
			return
		}
	}
	// Output: from the program's own memory: 10
}

func ExampleJoinKey() {
	fmt.Println(client.JoinKey("Tulsa", "OK"))
	fmt.Println(client.JoinKey("a,b", "c"))
	// Output:
	// Tulsa,OK
	// a%2Cb,c
}
