package scenarios

import "testing"

func TestQuantile(t *testing.T) {
	if got := quantile([]float64{1, 2, 3, 4}, 0.99); got != 4 {
		t.Errorf("p99 = %v", got)
	}
	if got := quantile(nil, 0.99); got != 0 {
		t.Errorf("p99 of none = %v", got)
	}
}
