// Command fasthttp serves ready documents with valyala/fasthttp, set up as its
// documentation advises for speed.
package main

import (
	"flag"
	"hash/crc32"
	"log"
	"strconv"

	"github.com/valyala/fasthttp"

	"github.com/hotrow/hotrow/bench/peers/document"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	file := flag.String("docs", "", "file with the documents")
	flag.Parse()
	all, err := document.ReadAll(*file)
	if err != nil {
		log.Fatal(err)
	}
	type page struct{ body, etag []byte }
	pages := make(map[int64]page, len(all))
	for key, body := range all {
		etag := strconv.Quote(strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 36))
		pages[key] = page{body, []byte(etag)}
	}
	contentType := []byte("application/json")
	server := &fasthttp.Server{
		NoDefaultServerHeader:         true,
		DisableHeaderNamesNormalizing: true,
		Concurrency:                   1 << 20,
		Handler: func(ctx *fasthttp.RequestCtx) {
			key, ok := document.Key(string(ctx.Path()))
			p, found := pages[key]
			if !ok || !found {
				ctx.Error("no such document", fasthttp.StatusNotFound)
				return
			}
			ctx.Response.Header.SetContentTypeBytes(contentType)
			ctx.Response.Header.SetBytesV("ETag", p.etag)
			// The body is handed out, not copied: it is never written to.
			ctx.Response.SetBodyRaw(p.body)
		},
	}
	log.Fatal(server.ListenAndServe(*listen))
}
