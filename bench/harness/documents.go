package harness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/hotrow/hotrow/internal/demo"
)

// dump writes every generated document to w.docs, as hotrow serves it.
func (w *Fixture) dump(ctx context.Context) error {
	r, err := w.registry.Peers["hotrow"](ctx, w, Free, w.Tmp)
	if err != nil {
		return err
	}
	defer r.Close()
	part := w.Docs + ".part"
	out, err := os.Create(part)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	buffered := bufio.NewWriter(out)
	for done := 0; done < w.Opts.Keys; {
		// A page follows a key: the one before the first that is wanted.
		page, err := fetchPage(ctx, fmt.Sprintf("%s/depts?limit=1000&after=%d", r.Base,
			demo.FirstDept+done-1))
		if err != nil {
			return err
		}
		for _, body := range page {
			_, _ = buffered.Write(append(body, '\n')) // Flush returns the error
		}
		done += len(page)
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	return os.Rename(part, w.Docs)
}

// Fetch returns what is at a URL, if the answer is 200.
func Fetch(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %.200s", url, resp.Status, body)
	}
	return body, err
}

// fetchPage reads one page of a list.
func fetchPage(ctx context.Context, url string) ([]json.RawMessage, error) {
	text, err := Fetch(ctx, url)
	if err != nil {
		return nil, err
	}
	var page []json.RawMessage
	if err := json.Unmarshal(text, &page); err != nil {
		return nil, fmt.Errorf("GET %s: %w", url, err)
	}
	if len(page) == 0 {
		return nil, errors.New("the list ends too early: " + url)
	}
	return page, nil
}

// EachDocument calls f with the number and the bytes of each document of a
// file. An error ends it.
func EachDocument(path string, f func(n int, body []byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for n := 0; lines.Scan(); n++ {
		if err := f(n, bytes.TrimSpace(lines.Bytes())); err != nil {
			return err
		}
	}
	return lines.Err()
}
