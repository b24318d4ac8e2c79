package ops

import (
	"net/http"
	"sync"
)

// A checker answers whether the cache holds what it says of itself.
type checker struct {
	check func() error

	mu sync.Mutex // held while it looks at everything
}

// ServeHTTP answers "ok", or 500 with what is wrong, a line each.
func (c *checker) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if c.check == nil {
		writeText(w, http.StatusNotFound, "there is nothing to check\n")
		return
	}
	if err := c.looks(); err != nil {
		writeText(w, http.StatusInternalServerError, err.Error()+"\n")
		return
	}
	writeText(w, http.StatusOK, "ok\n")
}

func (c *checker) looks() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.check()
}
