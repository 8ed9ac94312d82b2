package gpu_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A part is one of of equal parts of a list, counted from zero: every of-th member
// from the index-th on, so that neighbours, which take alike long, go to different
// parts. It is a flag.Value, written index/of.
type part struct{ index, of int }

func (p *part) String() string { return fmt.Sprintf("%d/%d", p.index, p.of) }

// Set takes "2/8": the third of eight parts.
func (p *part) Set(s string) error {
	var set part
	n, err := fmt.Sscanf(s, "%d/%d", &set.index, &set.of)
	if err != nil || n != 2 || set.String() != s || set.index < 0 || set.index >= set.of {
		return fmt.Errorf("%q is no part; want i/n with 0 <= i < n", s)
	}
	*p = set
	return nil
}

// has reports whether the member at an index belongs to the part.
func (p part) has(at int) bool { return at%p.of == p.index }

// dealt returns the members of list that belong to the part.
func dealt[E any](p part, list []E) []E {
	var out []E
	for i, e := range list {
		if p.has(i) {
			out = append(out, e)
		}
	}
	return out
}

func TestShardsAreAPartition(t *testing.T) {
	list := []int{10, 11, 12, 13, 14, 15, 16}
	for _, of := range []int{1, 2, 3, 8} {
		times := map[int]int{}
		for i := range of {
			var p part
			must(t, p.Set(fmt.Sprintf("%d/%d", i, of)))
			mine := dealt(p, list)
			if least := len(list) / of; len(mine) < least || len(mine) > least+1 {
				t.Errorf("part %d of %d has %d members of %d", i, of, len(mine), len(list))
			}
			for _, e := range mine {
				times[e]++
			}
		}
		want := map[int]int{10: 1, 11: 1, 12: 1, 13: 1, 14: 1, 15: 1, 16: 1}
		if diff := cmp.Diff(want, times); diff != "" {
			t.Errorf("how often %d parts have each member (-want +got):\n%s", of, diff)
		}
	}
}

func TestShardRefuses(t *testing.T) {
	for _, s := range []string{"", "1", "2/2", "-1/2", "0/0", "1/2/3", "a/b", "0/-1", " 0/1", "+0/1"} {
		p := part{1, 3}
		if err := p.Set(s); err == nil {
			t.Errorf("%q is taken as %v", s, &p)
		}
		if want := (part{1, 3}); p != want {
			t.Errorf("%q, refused, left %v", s, &p)
		}
	}
}
