// Command page asks for pages of 12 SELECTs by pgx: page URL FILE CALLERS SECONDS. FILE has the
// statements as pgbench has them. It prints pages a second.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// A statement has its text, and the names of its parameters.
type statement struct {
	sql   string
	names []string
}

var parameter = regexp.MustCompile(`:(post|author)\b`)

func main() {
	rate, err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(rate)
}

func run(url, file, callers, seconds string) (rate float64, err error) {
	list, err := read(file)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(callers)
	if err != nil {
		return 0, err
	}
	limit, err := time.ParseDuration(seconds + "s")
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	var pages atomic.Int64
	errs := make([]error, n)
	var under sync.WaitGroup
	for i := range n {
		under.Go(func() { errs[i] = call(url, list, begin.Add(limit), &pages) })
	}
	under.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return float64(pages.Load()) / time.Since(begin).Seconds(), nil
}

func read(file string) (list []statement, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "SELECT") {
			continue
		}
		var s statement
		s.sql = parameter.ReplaceAllStringFunc(strings.TrimRight(line, ";\n"), func(name string) string {
			s.names = append(s.names, name[1:])
			return "$" + strconv.Itoa(len(s.names))
		})
		list = append(list, s)
	}
	return list, nil
}

// call asks for pages over a connection of its own.
func call(url string, list []statement, until time.Time, pages *atomic.Int64) error {
	ctx := context.Background()
	db, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(ctx) }()
	for ; time.Now().Before(until); pages.Add(1) {
		keys := map[string]int{"post": 1 + rand.IntN(200), "author": 1 + rand.IntN(5)}
		for _, s := range list {
			args := make([]any, len(s.names))
			for i, name := range s.names {
				args[i] = keys[name]
			}
			rows, err := db.Query(ctx, s.sql, args...)
			if err == nil {
				rows.Close()
				err = rows.Err()
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
