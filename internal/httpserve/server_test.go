package httpserve

import (
	"net/http"
	"testing"
)

func TestServer_SetsEveryBound(t *testing.T) {
	s := Server(http.NotFoundHandler(), Timeouts{}, nil)
	if s.ReadHeaderTimeout <= 0 || s.ReadTimeout <= 0 || s.WriteTimeout <= 0 ||
		s.IdleTimeout <= 0 || s.MaxHeaderBytes <= 0 {
		t.Errorf("a bound is missing: %+v", s)
	}
}
