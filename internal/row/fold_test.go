package row

import "testing"

func TestFold(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "  ": "", "a": "a", "A": "a", "Hello World  ": "hello world",
		" x": " x", "[\\]^_`{|}~": "[\\]^_`{|}~",
		"Post-17": "post-17",
	} {
		if got, ok := Fold(text); !ok || got != want {
			t.Errorf("Fold(%q) = %q, %v, want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{"ä", "a\x00", "a\t", "\x7f", "a\n ", "\xff", "straße", "\u212a"} {
		if got, ok := Fold(text); ok {
			t.Errorf("Fold(%q) = %q: other texts may be equal to it", text, got)
		}
	}
}
