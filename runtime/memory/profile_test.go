package memory

import (
	"math/rand/v2"
	"testing"
)

// TestProfilePeak compares what sites held at the peak with a copy that is made of
// everything at each new peak.
func TestProfilePeak(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		var p profile
		stacks := make([]*stack, 5)
		for i := range stacks {
			stacks[i] = new(stack)
		}
		type block struct {
			at   *stack
			site *site
			size int64
		}
		var blocks []block
		live, peak := map[*stack]tally{}, map[*stack]tally{}
		held, most := int64(0), int64(0)
		for range 300 {
			if n := len(blocks); n > 0 && r.IntN(2) == 0 {
				i := r.IntN(n)
				b := blocks[i]
				blocks[i] = blocks[n-1]
				blocks = blocks[:n-1]
				p.shrink(b.site, b.size)
				held -= b.size
				live[b.at] = tally{live[b.at].blocks - 1, live[b.at].bytes - b.size}
			} else {
				b := block{at: stacks[r.IntN(len(stacks))], size: 1 + r.Int64N(100)}
				b.site = p.grow(b.at, b.size)
				blocks = append(blocks, b)
				held += b.size
				live[b.at] = tally{live[b.at].blocks + 1, live[b.at].bytes + b.size}
			}
			if held > most {
				most = held
				clear(peak)
				for at, v := range live {
					peak[at] = v
				}
			}
			for at, s := range p.sites {
				if s.live != live[at] || p.peak(s) != peak[at] {
					t.Fatalf("a site holds %v, at the peak %v; want %v and %v", s.live, p.peak(s), live[at], peak[at])
				}
			}
		}
	}
}
