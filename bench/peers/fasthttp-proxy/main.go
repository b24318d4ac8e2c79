// Command fasthttp-proxy relays every request to one upstream with
// valyala/fasthttp, set up as its documentation advises for speed.
package main

import (
	"crypto/tls"
	"flag"
	"log"

	"github.com/valyala/fasthttp"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	upstream := flag.String("upstream", "", "address")
	secure := flag.Bool("tls", false, "the upstream speaks TLS; its certificate is not checked")
	flag.Parse()
	client := &fasthttp.HostClient{
		Addr: *upstream, IsTLS: *secure, MaxConns: 1 << 16,
		NoDefaultUserAgentHeader: true, DisableHeaderNamesNormalizing: true,
		DisablePathNormalizing: true, TLSConfig: &tls.Config{InsecureSkipVerify: true},
	}
	server := &fasthttp.Server{
		NoDefaultServerHeader: true, NoDefaultDate: true, NoDefaultContentType: true,
		DisableHeaderNamesNormalizing: true, Concurrency: 1 << 20,
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Request.Header.Del("Connection")
			if *secure { // the client compares it with IsTLS
				ctx.Request.URI().SetScheme("https")
			}
			if err := client.Do(&ctx.Request, &ctx.Response); err != nil {
				ctx.Error("the upstream does not answer", fasthttp.StatusBadGateway)
				return
			}
			ctx.Response.Header.Del("Connection")
		},
	}
	log.Fatal(server.ListenAndServe(*listen))
}
