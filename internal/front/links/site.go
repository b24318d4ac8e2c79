package linksfront

import (
	"net"

	"github.com/hotrow/hotrow/internal/httpserve"
	"github.com/hotrow/hotrow/internal/lane"
)

// Serve serves the connections of l until Shutdown or Close. It owns l from now
// on.
func (f *Front) Serve(l net.Listener, form httpserve.Form) (*httpserve.Site, error) {
	return httpserve.Serve(l, f, form, lane.Config{
		Proto: &Lane{f}, Scope: f.newScope, Loops: f.Loops,
	})
}
