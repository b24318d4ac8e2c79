package rows

// Names returns what the payload of a request says of the resource and the keys
// that it is about: what comes first in those of all messages. It is for logs of
// requests that were refused, and stops where a payload cannot be read. The texts
// alias the payload.
func Names(payload []byte) (resource string, keys []string) {
	r := newReader(payload)
	n := r.Array(0, 16)
	if n == 0 {
		return "", nil
	}
	resource = r.Text(MaxName)
	if n == 1 || !r.OK() {
		return resource, nil
	}
	if r.IsArray() {
		for range r.Array(0, MaxKeys) {
			if k := r.Text(maxText); r.OK() {
				keys = append(keys, k)
			}
		}
		return resource, keys
	}
	if k := r.Text(maxText); k != "" {
		keys = []string{k}
	}
	return resource, keys
}
