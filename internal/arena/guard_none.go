//go:build !arena_poison && !arena_protect

package arena

// What a build with a guard does about freed memory: see guard.go.
const (
	guarded    = false
	guardRuns  = false
	systemPage = 0
)

type guard struct{}

func (*guard) taken([]byte) {}

func (*guard) freed([]byte) {}

func (*guard) hides([]byte) bool { return false }

func (*guard) hold(_ *Arena, list []dead) []dead { return list }

func (*guard) drain(*Arena) {}
