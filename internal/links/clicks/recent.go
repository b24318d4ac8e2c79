package clicks

// A recent is a map that forgets what has not been asked for lately: when the
// young generation is full it becomes the old one, which is forgotten. What is
// found among the old becomes young again.
type recent[K comparable, V any] struct {
	size       int
	young, old map[K]V
}

// newRecent returns a map that remembers the last size keys at least.
func newRecent[K comparable, V any](size int) *recent[K, V] {
	return &recent[K, V]{size: size, young: make(map[K]V), old: make(map[K]V)}
}

// get returns the value of a key.
func (r *recent[K, V]) get(k K) (V, bool) {
	if v, ok := r.young[k]; ok {
		return v, true
	}
	v, ok := r.old[k]
	if ok {
		r.put(k, v)
	}
	return v, ok
}

// put remembers a value.
func (r *recent[K, V]) put(k K, v V) {
	if len(r.young) >= r.size {
		r.old, r.young = r.young, make(map[K]V, r.size/4)
	}
	r.young[k] = v
}
