// Command nethttp serves documents with net/http: ready ones, or encoded by
// encoding/json for each request, which is the shape that many services have.
// Ready ones carry an entity tag and lie behind a cache for their life, so that
// it serves as the backend of caches, too.
package main

import (
	"encoding/json"
	"flag"
	"hash/crc32"
	"log"
	"net/http"
	"strconv"

	"github.com/hotrow/hotrow/bench/peers/document"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	file := flag.String("docs", "", "file with the documents")
	mode := flag.String("mode", "ready", "ready, json or redirect")
	cert := flag.String("cert", "", "file with a certificate, for TLS")
	key := flag.String("key", "", "file with its key")
	flag.Parse()
	if *mode == "redirect" {
		links := map[string]string{"/asdf": "https://davidkroell.github.io"}
		for i := range 100_000 { // a shortener has more than one
			links["/"+strconv.FormatInt(int64(i)+1e9, 36)] = "https://example.com/" + strconv.Itoa(i)
		}
		log.Fatal(http.ListenAndServe(*listen, redirects(links)))
	}
	all, err := document.ReadAll(*file)
	if err != nil {
		log.Fatal(err)
	}
	handler := ready(all)
	if *mode == "json" {
		depts, err := document.Decode(all)
		if err != nil {
			log.Fatal(err)
		}
		handler = encoded(depts)
	}
	if *cert != "" {
		log.Fatal(http.ListenAndServeTLS(*listen, *cert, *key, handler))
	}
	log.Fatal(http.ListenAndServe(*listen, handler))
}

// redirects serves redirects out of a map, and records nothing.
func redirects(links map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		url, ok := links[req.URL.Path]
		if !ok {
			http.NotFound(w, req)
			return
		}
		h := w.Header()
		h.Set("Location", url)
		h.Set("X-Robots-Tag", "noindex")
		h.Set("Cache-Control", "private, max-age=90")
		w.WriteHeader(http.StatusMovedPermanently)
	}
}

// A page is a document with its headers.
type page struct {
	body []byte
	etag []string
	size []string
}

// ready serves documents as they are in the file.
func ready(all map[int64][]byte) http.HandlerFunc {
	pages := make(map[int64]page, len(all))
	for key, body := range all {
		etag := strconv.Quote(strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 36))
		pages[key] = page{body, []string{etag}, []string{strconv.Itoa(len(body))}}
	}
	contentType, maxAge := []string{"application/json"}, []string{"max-age=3600"}
	return func(w http.ResponseWriter, req *http.Request) {
		key, ok := document.Key(req.URL.Path)
		p, found := pages[key]
		if !ok || !found {
			http.NotFound(w, req)
			return
		}
		h := w.Header()
		h["Content-Type"], h["Cache-Control"] = contentType, maxAge
		h["Etag"], h["Content-Length"] = p.etag, p.size
		_, _ = w.Write(p.body)
	}
}

// encoded serves documents that it encodes each time.
func encoded(depts map[int64]*document.Dept) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		key, ok := document.Key(req.URL.Path)
		dept := depts[key]
		if !ok || dept == nil {
			http.NotFound(w, req)
			return
		}
		body, err := json.Marshal(dept)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	}
}
