package linksfront

import (
	"net"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/httpserve"
)

// Serve serves the connections of l until Shutdown or Close. It owns l from now
// on.
func (f *Front) Serve(l net.Listener, form httpserve.Options) (*httpserve.Site, error) {
	return httpserve.Serve(l, f, form, front.Limited(eventloop.Config{
		Proto: &Protocol{f}, Scope: f.newScope, Loops: f.Loops, Admit: form.Admit,
	}, httprule.TooMany))
}
