// Command redis asks a hotrow by Go's clients of Redis, for a test of cmd/hotrow. It has a
// module of its own so that hotrow depends on none of them.
//
//	redis RESP-ADDRESS HTTP-URL
//
// The server is hotrow's demo. It prints what is wrong, and then exits with 1.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: redis RESP-ADDRESS HTTP-URL")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s := &server{addr: os.Args[1], http: os.Args[2]}
	err := errors.Join(s.goRedis(ctx, 2), s.goRedis(ctx, 3), s.goRedisCache(ctx), s.goRedisFormat(ctx),
		s.rueidis(ctx))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// A server is the hotrow that is asked.
type server struct{ addr, http string }

// do asks by HTTP.
func (s *server) do(method, path, body string) (string, error) {
	req, err := http.NewRequest(method, s.http+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return string(text), err
}

// goRedis reads by every sort of command.
func (s *server) goRedis(ctx context.Context, protocol int) error {
	c := goredis.NewClient(&goredis.Options{Addr: s.addr, Protocol: protocol, DB: 1, ClientName: "interop"})
	defer c.Close()
	want, err := s.do("GET", "/depts/10", "")
	if err != nil {
		return err
	}
	var errs []error
	check := func(what string, got, want any, err error) {
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			errs = append(errs, fmt.Errorf("go-redis, RESP%d: %s = %v, %v; want %v", protocol, what, got, err, want))
		}
	}
	got, err := c.Get(ctx, "depts:10").Result()
	check("GET", got, want, err)
	if _, err := c.Get(ctx, "depts:99").Result(); !errors.Is(err, goredis.Nil) {
		check("GET of no row", err, goredis.Nil, nil)
	}
	many, err := c.MGet(ctx, "depts:10", "depts:99", "depts:20").Result()
	check("MGET", len(many) == 3 && many[0] == want && many[1] == nil && many[2] != nil, true, err)
	row, err := c.HGetAll(ctx, "emps:7839").Result()
	check("HGETALL", row["empName"]+row["sal"], "KING5000", err)
	n, err := c.Exists(ctx, "depts:10", "depts:99").Result()
	check("EXISTS", n, 1, err)
	ttl, err := c.TTL(ctx, "depts:10").Result()
	for range 300 { // while nobody knows what has changed, as on a busy machine, it is 0
		if err != nil || ttl != 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
		ttl, err = c.TTL(ctx, "depts:10").Result()
	}
	check("TTL", ttl, time.Duration(-1), err)
	kind, err := c.Type(ctx, "depts:10").Result()
	check("TYPE", kind, "string", err)
	pipe := c.Pipeline()
	var replies []*goredis.StringCmd
	for i := range 100 {
		replies = append(replies, pipe.HGet(ctx, fmt.Sprintf("depts:%d", (i%10+1)*10), "deptName"))
	}
	_, _ = pipe.Exec(ctx) // nil is the error of some
	for i, r := range replies {
		names := []string{"ACCOUNTING", "RESEARCH", "SALES", "OPERATIONS", "", "", "", "", "", ""}
		check("pipeline", r.Val(), names[i%10], nil)
	}
	keys, seen := c.Scan(ctx, 0, "depts:*", 2).Iterator(), 0
	for keys.Next(ctx) {
		seen++
	}
	check("SCAN", seen >= 4, true, keys.Err())
	_, err = c.TxPipelined(ctx, func(p goredis.Pipeliner) error { p.Get(ctx, "depts:10"); return nil })
	check("MULTI", nil, nil, err)
	check("PING", c.Ping(ctx).Val(), "PONG", nil)
	set, err := c.SetNX(ctx, "depts:75", `{"deptName":"GO"}`, 0).Result()
	check("SET NX", set, true, err)
	set, err = c.SetNX(ctx, "depts:75", `{"deptName":"OTHER"}`, 0).Result()
	check("SET NX again", set, false, err)
	n, err = c.HSet(ctx, "depts:75", "deptLocation", "HERE").Result()
	check("HSET", n, 1, err)
	check("HGET", c.HGet(ctx, "depts:75", "deptLocation").Val(), "HERE", nil)
	n, err = c.Del(ctx, "depts:75", "depts:99").Result()
	check("DEL", n, 1, err)
	err = c.FlushAll(ctx).Err()
	check("FLUSHALL", err != nil && strings.HasPrefix(err.Error(), "NOPERM"), true, nil)
	return errors.Join(errs...)
}

// changes changes a row over HTTP, and returns its salary of then.
func (s *server) changes(to int) error {
	_, err := s.do("PATCH", "/emps/7839", fmt.Sprintf(`{"sal":%d}`, to))
	return err
}

// shows polls f until it returns a text with part, for a second.
func shows(part string, f func() (string, error)) error {
	var got string
	var err error
	for begin := time.Now(); time.Since(begin) < time.Second; time.Sleep(time.Millisecond) {
		if got, err = f(); err == nil && strings.Contains(got, part) {
			return nil
		}
	}
	return fmt.Errorf("%s, %v; want %s within 1 s", got, err, part)
}

// goRedisCache keeps copies by go-redis.
func (s *server) goRedisCache(ctx context.Context) error {
	c := goredis.NewClient(&goredis.Options{Addr: s.addr, Protocol: 3,
		ClientSideCacheConfig: &goredis.ClientSideCacheConfig{}})
	defer c.Close()
	for i := range 10 {
		if err := s.changes(6000 + i); err != nil {
			return err
		}
		err := shows(fmt.Sprintf(`"sal":%d,`, 6000+i), func() (string, error) { return c.Get(ctx, "emps:7839").Result() })
		if err != nil {
			return fmt.Errorf("go-redis with copies: %w", err)
		}
	}
	return s.changes(5000)
}

// goRedisFormat has each of its connections say the format of documents.
func (s *server) goRedisFormat(ctx context.Context) error {
	c := goredis.NewClient(&goredis.Options{Addr: s.addr, OnConnect: func(ctx context.Context, c *goredis.Conn) error {
		return c.Do(ctx, "HOTROW.FORMAT", "cbor").Err()
	}})
	defer c.Close()
	req, err := http.NewRequest(http.MethodGet, s.http+"/depts/10", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/cbor")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	want, err := io.ReadAll(resp.Body)
	if err != nil || resp.Header.Get("Content-Type") != "application/cbor" {
		return fmt.Errorf("over HTTP: %s: %w", resp.Header.Get("Content-Type"), err)
	}
	if got, err := c.Get(ctx, "depts:10").Result(); err != nil || got != string(want) {
		return fmt.Errorf("go-redis, CBOR: %q, %v; want %q", got, err, want)
	}
	if err := c.Do(ctx, "HOTROW.FORMAT", "xml").Err(); err == nil {
		return errors.New("go-redis: HOTROW.FORMAT xml is no error")
	}
	return nil
}

// rueidis keeps copies, and is told of changes.
func (s *server) rueidis(ctx context.Context) error {
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.addr}, ForceSingleClient: true})
	if err != nil {
		return err
	}
	defer c.Close()
	get := func() rueidis.RedisResult {
		return c.DoCache(ctx, c.B().Get().Key("emps:7839").Cache(), time.Minute)
	}
	local := 0
	for i := range 20 {
		if err := s.changes(7000 + i); err != nil {
			return err
		}
		if err := shows(fmt.Sprintf(`"sal":%d,`, 7000+i), func() (string, error) { return get().ToString() }); err != nil {
			return fmt.Errorf("rueidis with copies: %w", err)
		}
		for range 10 {
			if get().IsCacheHit() {
				local++
			}
		}
	}
	if local < 100 {
		return fmt.Errorf("rueidis: %d of 200 second reads were of a copy", local)
	}
	if text, err := c.Do(ctx, c.B().Get().Key("depts:99").Build()).ToString(); !rueidis.IsRedisNil(err) {
		return fmt.Errorf("rueidis: GET of no row = %q, %v", text, err)
	}
	return s.changes(5000)
}
