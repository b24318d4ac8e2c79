package rows

import "github.com/hotrow/hotrow/internal/row"

// Names returns what the payload of a request says of the resource and the keys
// that it is about: what comes first in those of all messages. It is for logs of
// requests that were refused, and stops where a payload cannot be read. The texts
// alias the payload.
func Names(payload []byte) (resource string, keys []string) {
	r := reader{b: payload}
	n := r.array(0, 16)
	if n == 0 {
		return "", nil
	}
	resource = r.text(MaxName)
	if n == 1 || r.problem != "" {
		return resource, nil
	}
	if r.pos < len(payload) && payload[r.pos]&^31 == row.CBORArray {
		for range r.array(0, MaxKeys) {
			if k := r.text(maxText); r.problem == "" {
				keys = append(keys, k)
			}
		}
		return resource, keys
	}
	if k := r.text(maxText); k != "" {
		keys = []string{k}
	}
	return resource, keys
}
