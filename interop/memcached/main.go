// Command memcached asks a hotrow by Go's client of memcached, for a test of cmd/hotrow. It
// has a module of its own so that hotrow depends on none of it.
//
//	memcached ADDRESS HTTP-URL
//
// The server is hotrow's demo. It prints what is wrong, and then exits with 1.
package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: memcached ADDRESS HTTP-URL")
		os.Exit(2)
	}
	c := memcache.New(os.Args[1])
	c.Timeout = 10 * time.Second
	if err := errors.Join(reads(c, os.Args[2]), writes(c)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// document returns a row as it is over HTTP.
func document(url string) (string, error) {
	resp, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

func reads(c *memcache.Client, http string) error {
	want, err := document(http + "/depts/10")
	if err != nil {
		return err
	}
	var errs []error
	check := func(what string, got, want any, err error) {
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			errs = append(errs, fmt.Errorf("%s = %v, %v; want %v", what, got, err, want))
		}
	}
	errs = append(errs, c.Ping())
	it, err := c.Get("depts:10")
	if err != nil {
		return err
	}
	check("Get", string(it.Value), want, err)
	check("its flags", it.Flags, 0, nil)
	if _, err := c.Get("depts:99"); !errors.Is(err, memcache.ErrCacheMiss) {
		check("Get of no row", err, memcache.ErrCacheMiss, nil)
	}
	many, err := c.GetMulti([]string{"depts:10", "depts:99", "depts:20"})
	check("GetMulti", len(many), 2, err)
	check("Touch", nil, nil, c.Touch("depts:10", 60))
	if err := c.Touch("depts:99", 60); !errors.Is(err, memcache.ErrCacheMiss) {
		check("Touch of no row", err, memcache.ErrCacheMiss, nil)
	}
	it, err = c.GetAndTouch("depts:20", 60)
	check("GetAndTouch", it != nil, true, err)
	return errors.Join(errs...)
}

func writes(c *memcache.Client) error {
	var errs []error
	check := func(what string, got, want error) {
		if !errors.Is(got, want) {
			errs = append(errs, fmt.Errorf("%s = %v, want %v", what, got, want))
		}
	}
	value := func(loc string) []byte { return fmt.Appendf(nil, `{"deptName":"TOOLS","deptLocation":%q}`, loc) }
	row := &memcache.Item{Key: "depts:77", Value: value("A")}
	check("Replace of no row", c.Replace(row), memcache.ErrNotStored)
	check("Add", c.Add(row), nil)
	check("Add again", c.Add(row), memcache.ErrNotStored)
	old, err := c.Get("depts:77")
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	check("Set", c.Set(&memcache.Item{Key: "depts:77", Value: value("B")}), nil)
	old.Value = value("C")
	check("CompareAndSwap of what has changed", c.CompareAndSwap(old), memcache.ErrCASConflict)
	if old, err = c.Get("depts:77"); err != nil {
		return errors.Join(append(errs, err)...)
	}
	old.Value = value("C")
	check("CompareAndSwap", c.CompareAndSwap(old), nil)
	check("Replace", c.Replace(&memcache.Item{Key: "depts:77", Value: value("D")}), nil)
	check("Delete", c.Delete("depts:77"), nil)
	check("Delete again", c.Delete("depts:77"), memcache.ErrCacheMiss)
	if _, err := c.Increment("depts:10", 1); err == nil {
		errs = append(errs, errors.New("Increment of a row does not fail"))
	}
	check("Get afterwards", c.Ping(), nil)
	return errors.Join(errs...)
}
