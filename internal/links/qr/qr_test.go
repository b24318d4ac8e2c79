package qr

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

func TestText(t *testing.T) {
	tests := []struct {
		base, code string
		fold       bool
		want       string
	}{
		{"https://s.example", "x7kq2mz", true, "HTTPS://S.EXAMPLE/X7KQ2MZ"},
		{"https://s.example/", "x7kq2mz", true, "HTTPS://S.EXAMPLE/X7KQ2MZ"},
		{"https://s.example", "x7Kq2mz", false, "https://s.example/x7Kq2mz"},
		{"http://127.0.0.1:9999", "spring-sale", true, "HTTP://127.0.0.1:9999/SPRING-SALE"},
		{"https://s.example", "a_b", true, "https://s.example/a_b"},
		{"https://example.com/go", "x", true, "https://example.com/go/x"},
	}
	for _, tt := range tests {
		if got := Text(tt.base, tt.code, tt.fold); got != tt.want {
			t.Errorf("Text(%q, %q, %v) = %q, want %q", tt.base, tt.code, tt.fold, got, tt.want)
		}
	}
}

// TestNew_UpperCaseIsSmaller is why short URLs are said in upper case.
func TestNew_UpperCaseIsSmaller(t *testing.T) {
	sizes := map[bool]int{}
	for _, fold := range []bool{true, false} {
		s, err := New(Text("https://links.example.com", "x7kq2mzx7kq2", fold))
		if err != nil {
			t.Fatal(err)
		}
		sizes[fold] = s.Size()
	}
	if sizes[true] >= sizes[false] {
		t.Errorf("folded %d modules, exact %d", sizes[true], sizes[false])
	}
}

// TestZbar_ReadsWhatIsDrawn has another program read the pictures.
func TestZbar_ReadsWhatIsDrawn(t *testing.T) {
	zbar := dbtest.Program(t, "zbarimg", "zbar-tools")
	for _, text := range []string{
		"HTTPS://S.EXAMPLE/X7KQ2MZ", "https://s.example/x7Kq2mz",
		"http://127.0.0.1:9999/" + strings.Repeat("aB3_-", 12),
	} {
		for _, size := range []int{150, 264, 1000} {
			picture, _, err := draw(text, "png", size, Quiet)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(zbar, "--quiet", "--raw", "-")
			cmd.Stdin = bytes.NewReader(picture)
			got, err := cmd.Output()
			if err != nil || strings.TrimSpace(string(got)) != text {
				t.Errorf("%d pixels: read %q (%v), drew %q", size, got, err, text)
			}
		}
	}
}

// TestSVG_SaysWhatThePNGSays draws the runs of the SVG's path on paper of its own
// and compares that with the PNG.
func TestSVG_SaysWhatThePNGSays(t *testing.T) {
	s, err := New("HTTPS://S.EXAMPLE/X7KQ2MZ")
	if err != nil {
		t.Fatal(err)
	}
	const quiet = 3
	across := s.Size() + 2*quiet
	picture, err := s.PNG(across, quiet) // a pixel a module
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	if img.Bounds() != image.Rect(0, 0, across, across) {
		t.Fatalf("the picture is %v", img.Bounds())
	}
	var svg struct {
		ViewBox string `xml:"viewBox,attr"`
		Paths   []struct {
			D string `xml:"d,attr"`
		} `xml:"path"`
	}
	if err := xml.Unmarshal(s.AppendSVG(nil, 264, quiet), &svg); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("0 0 %d %d", across, across); svg.ViewBox != want {
		t.Errorf("viewBox %q, want %q", svg.ViewBox, want)
	}
	dark := map[image.Point]bool{}
	for run := range strings.SplitSeq(strings.TrimSuffix(svg.Paths[1].D, "z"), "z") {
		var x, y, width, back int
		if _, err := fmt.Sscanf(run, "M%d %dh%dv1h-%d", &x, &y, &width, &back); err != nil || width != back {
			t.Fatalf("run %q: %v", run, err)
		}
		for i := range width {
			dark[image.Pt(x+i, y)] = true
		}
	}
	for y := range across {
		for x := range across {
			black := isBlack(img.At(x, y))
			if black != dark[image.Pt(x, y)] {
				t.Fatalf("module %d,%d: PNG %v, SVG %v", x, y, black, dark[image.Pt(x, y)])
			}
		}
	}
}

func isBlack(c color.Color) bool {
	r, g, b, _ := c.RGBA()
	return r+g+b == 0
}

func TestHandler_Answers(t *testing.T) {
	h := &Handler{BaseURL: "https://s.example", Fold: true}
	tests := []struct {
		method, url string
		status      int
		mediaType   string
	}{
		{"GET", "/spring.svg", 200, "image/svg+xml"},
		{"GET", "/spring.png?size=100&margin=0", 200, "image/png"},
		{"HEAD", "/spring.png", 200, "image/png"},
		{"GET", "/spring.gif", 404, ""},
		{"GET", "/.svg", 404, ""},
		{"GET", "/-x.svg", 404, ""},
		{"GET", "/a/b.svg", 404, ""},
		{"GET", "/" + strings.Repeat("x", 65) + ".svg", 404, ""},
		{"GET", "/%3Cscript%3E.svg", 404, ""},
		{"POST", "/spring.svg", 405, ""},
		{"GET", "/spring.png?size=31", 400, ""},
		{"GET", "/spring.png?size=2049", 400, ""},
		{"GET", "/spring.png?size=big", 400, ""},
		{"GET", "/spring.svg?margin=17", 400, ""},
	}
	for _, tt := range tests {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(tt.method, tt.url, nil))
		if w.Code != tt.status {
			t.Errorf("%s %s: %d, want %d", tt.method, tt.url, w.Code, tt.status)
		}
		if tt.mediaType != "" && w.Header().Get("Content-Type") != tt.mediaType {
			t.Errorf("%s %s: %q", tt.method, tt.url, w.Header().Get("Content-Type"))
		}
		if tt.method == "HEAD" && w.Body.Len() != 0 {
			t.Errorf("HEAD has a body of %d bytes", w.Body.Len())
		}
	}
}

func TestHandler_ComparesEntityTags(t *testing.T) {
	srv := httptest.NewServer(&Handler{BaseURL: "https://s.example"})
	defer srv.Close()
	tags := map[string]string{}
	for _, url := range []string{"/a.svg", "/a.png", "/a.svg?size=100", "/a.svg?margin=1", "/b.svg"} {
		resp, err := http.Get(srv.URL + url)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		tag := resp.Header.Get("ETag")
		if other := tags[tag]; other != "" {
			t.Errorf("%s and %s have the tag %s", url, other, tag)
		}
		tags[tag] = url
		req, _ := http.NewRequest("GET", srv.URL+url, nil)
		req.Header.Set("If-None-Match", `"other", W/`+tag)
		if resp, err = http.DefaultClient.Do(req); err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusNotModified {
			t.Errorf("%s with its tag: %d", url, resp.StatusCode)
		}
	}
}
