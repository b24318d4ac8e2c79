package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hotrow/hotrow/internal/row"
)

func TestCodings_AreInTheOrderOfTheFile(t *testing.T) {
	tests := []struct {
		text string
		want []row.Coding
	}{
		{"", []row.Coding{row.Zstd, row.Gzip}},
		{"http: {compression: [gzip]}", []row.Coding{row.Gzip}},
		{"http: {compression: [gzip, zstd]}", []row.Coding{row.Gzip, row.Zstd}},
		{"http: {compression: []}", []row.Coding{}},
	}
	for _, tt := range tests {
		c := mustLoad(t, tt.text)
		if diff := cmp.Diff(tt.want, c.HTTP.Codings()); diff != "" {
			t.Errorf("%q: %s", tt.text, diff)
		}
	}
	c := mustLoad(t, "", "HOTROW_HTTP_COMPRESSION=gzip,zstd")
	if diff := cmp.Diff([]row.Coding{row.Gzip, row.Zstd}, c.HTTP.Codings()); diff != "" {
		t.Errorf("by the environment: %s", diff)
	}
	if got := NeedsRestart(mustLoad(t, ""), mustLoad(t, "http: {compression: []}")); len(got) != 0 {
		t.Errorf("a change needs a restart: %v", got)
	}
}
