// Command orms does the same as orms.py by clients of Go: orms CLIENT URL.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// An author and a post are rows.
type author struct {
	ID          int
	Name, Email string
}

type post struct {
	ID        int
	AuthorID  int
	Title     string
	Body      *string
	Published bool
	Views     int64
	CreatedAt time.Time

	Author *author `gorm:"foreignKey:AuthorID"` // by GORM
}

// A preloaded has posts, and the authors of them if they are not there.
type preloaded struct {
	Posts   []post
	Authors []author
}

// A client does the actions by a number: an id of posts, or the number of an author. No row is nil.
type client interface {
	Connect() error
	Get(k int) (*post, error)
	Unique(email string) (author, error)
	List(k int) ([]post, error)
	Count(k int) (int64, error)
	Exists(k int) (bool, error)
	Preload(upTo int) (preloaded, error)
	Insert(k int) (int, error)
	Update(k int) error
	Delete(k int) error
	Transaction(k int) (*post, error)
}

func main() {
	c, err := open(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var action string
		var k int
		if _, err := fmt.Sscan(in.Text(), &action, &k); err != nil {
			fmt.Fprintf(os.Stderr, "no action: %q\n", in.Text())
			os.Exit(2)
		}
		result, err := act(c, action, k)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", action, err)
			os.Exit(1)
		}
		b, err := json.Marshal(result)
		if err != nil {
			panic(err) // a row that JSON has no text for
		}
		fmt.Println(string(b))
	}
}

func open(name, url string) (client, error) {
	switch name {
	case "pgx":
		return openPgx(url)
	case "lib/pq":
		return openPQ(url)
	case "GORM":
		return openGORM(url)
	}
	return nil, fmt.Errorf("no such client: %s", name)
}

func act(c client, action string, k int) (any, error) {
	switch action {
	case "connect":
		return nil, c.Connect()
	case "get":
		return c.Get(k)
	case "unique":
		return c.Unique(fmt.Sprintf("a%d@example.org", k))
	case "list":
		return c.List(k)
	case "count":
		return c.Count(k)
	case "exists":
		return c.Exists(k)
	case "preload":
		return c.Preload(10 * k)
	case "insert":
		return c.Insert(k)
	case "update":
		return nil, c.Update(k)
	case "delete":
		return nil, c.Delete(k)
	case "transaction":
		return c.Transaction(k)
	}
	return nil, fmt.Errorf("no such action")
}

// idsOf returns the ids of the authors of posts, each once.
func idsOf(posts []post) (ids []int) {
	seen := make(map[int]bool)
	for _, p := range posts {
		if !seen[p.AuthorID] {
			seen[p.AuthorID] = true
			ids = append(ids, p.AuthorID)
		}
	}
	return ids
}
