package row

import "testing"

func TestSameKeyPart(t *testing.T) {
	wide := KeyPart{Wide: true}
	tests := []struct {
		v    Value
		part KeyPart
		text string
		want bool
	}{
		{IntValue(10), KeyPart{}, "10", true},
		{IntValue(10), KeyPart{}, "11", false},
		{Value{}, KeyPart{}, "", false},
		{TextValue(Text, "ab"), KeyPart{}, "AB", false},
		{TextValue(Text, "ab"), wide, "AB ", true},
		{TextValue(Text, "ab"), wide, "AC", false},
		{TextValue(Decimal, "1.50"), wide, "1.5", true},
		{TextValue(Decimal, "1.50"), wide, "1.51", false},
		{TextValue(Decimal, "1.50"), KeyPart{}, "1.5", false},
	}
	for _, tt := range tests {
		if got := sameKeyPart(tt.v, tt.part, tt.text); got != tt.want {
			t.Errorf("sameKeyPart(%+v, %q) = %v, want %v", tt.v, tt.text, got, tt.want)
		}
	}
}
