// Command go asks for a document by its key, again and again, by one client of Go: see
// bench/README.md.
//
//	go CLIENT URL FIRST KEYS CALLERS WARMUP SECONDS
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/hotrow/hotrow/client"
)

// An ask returns how long the document of a key is.
type ask func(n int) (int, error)

var ctx = context.Background()

// heap is what a program has besides a client. Without it the garbage collector runs some
// hundred times a second, and who has large buffers, less often.
var heap = make([]byte, 64<<20)

func main() {
	if len(os.Args) != 8 {
		log.Fatal("usage: go CLIENT URL FIRST KEYS CALLERS WARMUP SECONDS")
	}
	number := func(i int) float64 {
		n, err := strconv.ParseFloat(os.Args[i], 64)
		if err != nil {
			log.Fatal(err)
		}
		return n
	}
	r := &runner{first: int(number(3)), keys: int(number(4)), callers: int(number(5))}
	make, known := clients[os.Args[1]]
	if !known {
		log.Fatalf("there is no client %q", os.Args[1])
	}
	var err error
	if r.ask, err = make(os.Args[2], r.callers); err != nil {
		log.Fatal(err)
	}
	for n := range r.keys {
		if _, err := r.ask(r.first + n); err != nil {
			log.Fatal(err)
		}
	}
	before := r.keys + r.run(number(6), nil)
	var times []float64
	user, system := used()
	began := time.Now()
	answers := r.run(number(7), &times)
	took := time.Since(began)
	userNow, systemNow := used()
	runtime.KeepAlive(heap)
	slices.Sort(times)
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"answers": answers, "all": before + answers, "failed": r.failed, "seconds": took.Seconds(),
		"user_us": userNow - user, "system_us": systemNow - system,
		"p50_us": times[len(times)/2], "p99_us": times[len(times)*99/100],
	})
}

// used returns the CPU time of the process, in µs.
func used() (user, system float64) {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()) / 1e3, float64(u.Stime.Nano()) / 1e3
}

// A runner asks for random keys.
type runner struct {
	ask                  ask
	first, keys, callers int

	mu     sync.Mutex // guards what follows
	failed int
}

// run asks for some time and returns how often. times gets how long an answer took, in µs,
// each the mean of sixteen.
func (r *runner) run(seconds float64, times *[]float64) (sum int) {
	until := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	var group sync.WaitGroup
	for range r.callers {
		group.Go(func() {
			var took []float64
			n, failed := 0, 0
			for began := time.Now(); began.Before(until); {
				for range 16 {
					if size, err := r.ask(r.first + rand.IntN(r.keys)); err != nil || size < 1000 {
						failed++
					}
				}
				n += 16
				now := time.Now()
				took = append(took, float64(now.Sub(began).Nanoseconds())/16e3)
				began = now
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if sum, r.failed = sum+n, r.failed+failed; times != nil {
				*times = append(*times, took...)
			}
		})
	}
	group.Wait()
	return sum
}

// clients make ways to ask for so many callers.
var clients = map[string]func(target string, callers int) (ask, error){
	"go-redis": func(target string, callers int) (ask, error) {
		return goRedis(target, callers, nil)
	},
	"go-redis-cached": func(target string, callers int) (ask, error) {
		return goRedis(target, callers, &goredis.ClientSideCacheConfig{})
	},
	"rueidis": func(target string, _ int) (ask, error) {
		c, err := ofRueidis(target)
		return func(n int) (int, error) {
			text, err := c.Do(ctx, c.B().Get().Key(key(n)).Build()).ToString()
			return len(text), err
		}, err
	},
	"rueidis-cached": func(target string, _ int) (ask, error) {
		c, err := ofRueidis(target)
		return func(n int) (int, error) {
			text, err := c.DoCache(ctx, c.B().Get().Key(key(n)).Cache(), time.Hour).ToString()
			return len(text), err
		}, err
	},
	"gomemcache": func(target string, callers int) (ask, error) {
		u, err := url.Parse(target)
		if err != nil {
			return nil, err
		}
		c := memcache.New(u.Host)
		c.MaxIdleConns = callers
		return func(n int) (int, error) {
			it, err := c.Get(key(n))
			if err != nil {
				return 0, err
			}
			return len(it.Value), nil
		}, nil
	},
	"wire": func(target string, _ int) (ask, error) {
		c, err := client.Open(target)
		return func(n int) (int, error) {
			d, err := c.Get(ctx, "depts", strconv.Itoa(n))
			return len(d.Body), err
		}, err
	},
	"net/http": func(target string, callers int) (ask, error) {
		c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}
		return func(n int) (int, error) {
			resp, err := c.Get(target + "/depts/" + strconv.Itoa(n))
			if err != nil {
				return 0, err
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			return len(text), err
		}, nil
	},
	"pgx": func(target string, callers int) (ask, error) {
		c, err := pgxpool.ParseConfig(target)
		if err != nil {
			return nil, err
		}
		c.MaxConns, c.ConnConfig.DefaultQueryExecMode = int32(callers), pgx.QueryExecModeCacheStatement
		pool, err := pgxpool.NewWithConfig(ctx, c)
		return func(n int) (int, error) {
			var text string
			err := pool.QueryRow(ctx, "SELECT doc FROM docs WHERE id = $1", n).Scan(&text)
			return len(text), err
		}, err
	},
}

func key(n int) string { return fmt.Sprintf("depts:%d", n) }

// goRedis returns a way to ask by go-redis.
func goRedis(target string, callers int, cache *goredis.ClientSideCacheConfig) (ask, error) {
	o, err := goredis.ParseURL(target)
	if err != nil {
		return nil, err
	}
	o.PoolSize, o.Protocol, o.ClientSideCacheConfig = callers, 3, cache
	c := goredis.NewClient(o)
	return func(n int) (int, error) {
		text, err := c.Get(ctx, key(n)).Result()
		return len(text), err
	}, nil
}

// ofRueidis returns a client of rueidis.
func ofRueidis(target string) (rueidis.Client, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	return rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{u.Host}, ForceSingleClient: true})
}
