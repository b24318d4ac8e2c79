package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// linksClient are the flags of every command that asks the server, and the way
// to ask it.
type linksClient struct {
	Server, Key string
	JSON        bool

	trustFlags
}

// add adds them to those of a command.
func (c *linksClient) add(f *pflag.FlagSet) {
	f.Var(newAddress(&c.Server, "http://127.0.0.1:9999"), "server", "`URL` of the shortener.")
	fromEnvironment(f, "server", "HOTROW_LINKS_URL")
	f.StringVar(&c.Key, "key", "", "An API `KEY`; better in the environment.")
	fromEnvironment(f, "key", "HOTROW_LINKS_KEY")
	f.BoolVar(&c.JSON, "json", false, "Print the server's JSON.")
	c.trustFlags.add(f)
}

// request returns a request of a path below /api/v1/.
func (c *linksClient) request(
	ctx context.Context, method, path string, body io.Reader,
) (*http.Request, error) {
	address := strings.TrimRight(c.Server, "/") + "/api/v1/" + path
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, usageError{err}
	}
	req.Header.Set("Accept", "application/json")
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	return req, nil
}

// do sends a request. An answer that is none of 2xx is an error, and its body is
// closed.
func (c *linksClient) do(req *http.Request) (*http.Response, error) {
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		if ctxErr := req.Context().Err(); ctxErr != nil {
			return nil, ctxErr
		}
		return nil, fmt.Errorf("%w (%s)", err, trustHint(err, "is hotrow serving links there?"))
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	return nil, refusal(resp)
}

// A refused is what the server says instead of doing it.
type refused struct {
	status int
	detail string
}

// Error returns what the server says, and how to mend it.
func (r refused) Error() string {
	if r.status == http.StatusUnauthorized {
		return r.detail + " (set HOTROW_LINKS_KEY)"
	}
	return r.detail
}

// refusal reads the problem document of an answer.
func refusal(resp *http.Response) error {
	var problem struct{ Title, Detail string }
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil || json.Unmarshal(text, &problem) != nil || problem.Title == "" {
		return refused{resp.StatusCode, "the server answers " + resp.Status}
	}
	if problem.Detail == "" {
		problem.Detail = problem.Title
	}
	return refused{resp.StatusCode, problem.Detail}
}

// ask sends a JSON document, or none, and reads the answer into into, which may
// be nil. It returns the answer as it came, too.
func (c *linksClient) ask(p *program, method, path string, body, into any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(text)
	}
	req, err := c.request(ctx, method, path, in)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read the server's answer: %w", err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			return nil, fmt.Errorf("read the server's answer: %w", err)
		}
	}
	return text, nil
}

// print writes JSON as one line.
func (c *linksClient) print(p *program, text []byte) error {
	_, err := fmt.Fprintf(p.stdout, "%s\n", bytes.TrimSpace(text))
	return err
}

type linksTailCmd struct {
	Code string

	linksClient
}

// linksTailCommand returns hotrow links tail.
func linksTailCommand(p *program) *cobra.Command {
	c := new(linksTailCmd)
	cmd := p.command("tail", "Print clicks as they come.", c.Run,
		argument{"[<code>]", "Only this link's clicks.", &c.Code})
	c.linksClient.add(cmd.Flags())
	return cmd
}

// Run prints clicks until it is interrupted. When the connection is lost it goes
// on where it was, so that no click is left out that the server still has.
func (c *linksTailCmd) Run(p *program) error {
	path := "clicks/live"
	if c.Code != "" {
		path += "?code=" + url.QueryEscape(c.Code)
	}
	t := &tail{c: c, p: p}
	for wait := time.Second; ; wait = min(2*wait, 30*time.Second) {
		begin := time.Now()
		err := t.follow(path)
		if p.ctx.Err() != nil {
			return nil
		}
		if errors.As(err, new(refused)) || !t.connected {
			return err
		}
		if time.Since(begin) > time.Minute {
			wait = time.Second
		}
		fmt.Fprintf(p.stderr, "hotrow: the connection is lost (%v); again in %v\n", err, wait)
		select {
		case <-p.ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// tail is the following of clicks over one connection after another.
type tail struct {
	c         *linksTailCmd
	p         *program
	connected bool   // once
	last      string // the id of the last event
}

// follow prints events until the connection ends (text/event-stream, HTML
// Living Standard 9.2).
func (t *tail) follow(path string) error {
	req, err := t.c.request(t.p.ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	if t.last != "" {
		req.Header.Set("Last-Event-ID", t.last)
	}
	resp, err := t.c.do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	t.connected = true
	name := ""
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			name = value
		case "data":
			if err := t.event(name, value); err != nil {
				return err
			}
		case "id":
			t.last = value
		case "":
			name = ""
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF
}

// event prints one event: a line for people, or the JSON of it.
func (t *tail) event(name, data string) error {
	if name == "lost" {
		fmt.Fprintf(t.p.stderr, "hotrow: clicks came too fast and were left out: %s\n", data)
		return nil
	}
	if t.c.JSON {
		return t.c.print(t.p, []byte(data))
	}
	var k struct {
		At                                               time.Time
		Code, Kind, Country, Browser, OS, Referrer, Path string
	}
	if err := json.Unmarshal([]byte(data), &k); err != nil {
		return fmt.Errorf("read a click: %w", err)
	}
	what := k.Code
	if what == "" {
		what = k.Path
	}
	_, err := fmt.Fprintf(t.p.stdout, "%s  %-12s %-8s %-2s  %s  %s\n",
		k.At.UTC().Format("15:04:05.000"), what, k.Kind, k.Country,
		strings.Trim(k.Browser+"/"+k.OS, "/"), k.Referrer)
	return err
}
