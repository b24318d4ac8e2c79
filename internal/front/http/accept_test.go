package httpfront

import (
	"net/http/httptest"
	"testing"
)

func TestMedia(t *testing.T) {
	const jsonName, vnd = "application/json", "application/vnd.msgpack"
	tests := []struct {
		name   string
		accept []string // nil for no Accept header
		format string
		want   string // "" when nothing fits
	}{
		{"no header", nil, "", jsonName},
		{"empty", []string{""}, "", jsonName},
		{"anything", []string{"*/*"}, "", jsonName},
		{"any application", []string{"application/*"}, "", jsonName},
		{"exact", []string{vnd}, "", vnd},
		{"answered under the name asked for", []string{"application/x-msgpack"}, "",
			"application/x-msgpack"},
		{"the short name", []string{"application/msgpack"}, "", "application/msgpack"},
		{"case does not count", []string{"Application/VND.MsgPack"}, "", vnd},
		{"parameters ignored", []string{"application/json; charset=utf-8"}, "", jsonName},
		{"higher q wins", []string{"application/json;q=0.5, " + vnd}, "", vnd},
		{"q in capitals", []string{"application/json;Q=0.5, " + vnd}, "", vnd},
		{"equal q: the first named", []string{vnd + ", application/json"}, "", vnd},
		{"exact before wildcard", []string{"*/*, application/msgpack"}, "", "application/msgpack"},
		{"wildcard of higher q", []string{"*/*, application/msgpack;q=0.9"}, "", jsonName},
		{"q=0 refuses", []string{"application/json;q=0, " + vnd}, "", vnd},
		{"q=0 beats the wildcard", []string{"application/json;q=0, */*"}, "", vnd},
		{"two headers", []string{"text/html", vnd}, "", vnd},
		{"a browser", []string{"text/html,application/xml;q=0.9,*/*;q=0.8"}, "", jsonName},
		{"unknown only", []string{"text/html"}, "", ""},
		{"all refused", []string{"*/*;q=0"}, "", ""},
		{"garbage", []string{";;;,,="}, "", ""},
		{"bad q ignored", []string{"application/json;q=2, application/msgpack;q=0.1"}, "",
			"application/msgpack"},
		{"slash in a wildcard", []string{"application/json/*"}, "", ""},
		{"format beats Accept", []string{vnd}, "json", jsonName},
		{"format for curl", []string{"*/*"}, "msgpack", vnd},
		{"CBOR", []string{"application/cbor"}, "", "application/cbor"},
		{"CBOR for curl", []string{"*/*"}, "cbor", "application/cbor"},
		{"what front ends prepare is not a format", nil, "prepared", ""},
		{"unknown format", nil, "xml", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			of := httptest.NewRequest("GET", "/?format="+tt.format, nil)
			if tt.format == "" {
				of.URL.RawQuery = ""
			}
			of.Header["Accept"] = tt.accept
			m, err := new(memo).media(newRequest(of))
			name := ""
			if m != nil {
				name = m.name
			}
			if name != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("Accept %q, format %q: %q, %v; want %q",
					tt.accept, tt.format, name, err, tt.want)
			}
		})
	}
}
