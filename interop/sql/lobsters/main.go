// Command lobsters is a fixed script of pages of a site of links: the shapes of Lobsters' statements
// as ActiveRecord writes them, by the mix of requests that Lobsters has published (the weights of
// trawler). Two runs ask for the same pages in the same order.
//
//	lobsters -url URL -server PID [-ops URL] [-pages N] [-skip N] [-warm N] [-callers N]
//		[-signed PERCENT]
//
// It prints what it did as JSON: also the processor time of the server with this process id, and
// what the hotrow with this operator's port has answered from memory.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// A result is what was done, and what it took.
type result struct {
	Pages   int     `json:"pages"`
	Selects int64   `json:"selects"`
	Writes  int64   `json:"writes"` // statements
	Rows    int64   `json:"rows"`
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu"`  // seconds of the server
	Hits    int64   `json:"hits"` // SELECTs that memory answered
}

// A site is what all callers share.
type site struct {
	signed int    // percent of pages that somebody looks at who is signed in
	ops    string // URL of the operator's port; "": there is none
	counts struct{ selects, writes, rows atomic.Int64 }
}

func main() {
	url := flag.String("url", "", "of the database")
	server := flag.Int("server", 0, "process id of the server")
	ops := flag.String("ops", "", "URL of hotrow's operator's port")
	pages := flag.Int("pages", 20_000, "pages that count")
	skip := flag.Int("skip", 0, "pages of the script before them, which are not asked for")
	warm := flag.Int("warm", 0, "pages asked for before them, which do not count")
	callers := flag.Int("callers", 16, "at a time")
	signed := flag.Int("signed", 10, "percent of pages for somebody who is signed in")
	flag.Parse()
	s := &site{signed: *signed, ops: *ops}
	r, err := s.run(*url, *server, *skip, *warm, *pages, *callers)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run asks for pages by callers that stay connected.
func (s *site) run(url string, server, skip, warm, pages, callers int) (*result, error) {
	list := make([]*caller, callers)
	for i := range list {
		db, err := pgx.Connect(context.Background(), url)
		if err != nil {
			return nil, err
		}
		defer func() { _ = db.Close(context.Background()) }()
		list[i] = &caller{site: s, db: db}
	}
	if err := ask(list, skip, skip+warm); err != nil {
		return nil, err
	}
	selects, writes, rows := s.counts.selects.Load(), s.counts.writes.Load(), s.counts.rows.Load()
	before, err := processorTime(server)
	if err != nil {
		return nil, err
	}
	hits, err := s.hits()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := ask(list, skip+warm, skip+warm+pages); err != nil {
		return nil, err
	}
	took := time.Since(begin)
	after, err := processorTime(server)
	if err != nil {
		return nil, err
	}
	now, err := s.hits()
	return &result{Hits: now - hits, Pages: pages, Selects: s.counts.selects.Load() - selects,
		Writes: s.counts.writes.Load() - writes, Rows: s.counts.rows.Load() - rows,
		Seconds: took.Seconds(), CPU: (after - before).Seconds()}, err
}

// hits returns what memory has answered by now.
func (s *site) hits() (int64, error) {
	if s.ops == "" {
		return 0, nil
	}
	answer, err := http.Get(s.ops + "/metrics")
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), `hotrow_sql_groups_total{result="hit"} `)
		if ok {
			return strconv.ParseInt(text, 10, 64)
		}
	}
	return 0, errors.Join(errors.New("it does not say what memory has answered"), lines.Err())
}

// ask asks for the pages of the script from one to another.
func ask(list []*caller, from, to int) error {
	var next atomic.Int64
	next.Store(int64(from))
	errs := make([]error, len(list))
	var under sync.WaitGroup
	for i, c := range list {
		under.Go(func() {
			for n := int(next.Add(1)) - 1; n < to && errs[i] == nil; n = int(next.Add(1)) - 1 {
				errs[i] = c.page(n)
			}
		})
	}
	under.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
