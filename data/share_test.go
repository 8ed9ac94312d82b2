package data_test

import (
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/random"
)

// TestShare: the ranks visit every sample once, apart from those that make the shares
// equal, in as many batches each.
func TestShare(t *testing.T) {
	for _, c := range []struct {
		n, ranks, batch int
		shuffle, drop   bool
	}{{12, 3, 2, false, false}, {13, 3, 2, true, false}, {14, 4, 3, true, true}, {2, 3, 1, false, false}, {7, 1, 2, true, false}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			set, err := data.Tensors(tensor.Arange(0, c.n, 1))
			if err != nil {
				t.Fatal(err)
			}
			times, batches := make([]int, c.n), map[int]bool{}
			for rank := range c.ranks {
				l := &data.Loader{Dataset: set, BatchSize: c.batch, Shuffle: c.shuffle, DropLast: c.drop,
					Random: random.New(5), Share: data.Share{Rank: rank, Ranks: c.ranks}}
				n := 0
				for b, err := range l.Epoch(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					v, err := tensor.Data[int64](b[0].ToType(tensor.Int64))
					if err != nil {
						t.Fatal(err)
					}
					for _, i := range v {
						times[i]++
					}
					n++
				}
				if n != l.Len() {
					t.Errorf("%d batches, Len says %d", n, l.Len())
				}
				batches[n] = true
			}
			if len(batches) != 1 {
				t.Errorf("ranks have %v batches", batches)
			}
			visits := 0
			for i, k := range times {
				visits += k
				if k == 0 && !c.drop || k > 2 || k > 1 && c.n%c.ranks == 0 {
					t.Errorf("sample %d is visited %d times", i, k)
				}
			}
			if most := (c.n + c.ranks - 1) / c.ranks * c.ranks; visits > most {
				t.Errorf("%d visits, want no more than %d", visits, most)
			}
		})
	}
}

func TestShareRefused(t *testing.T) {
	set, err := data.Tensors(tensor.Zeros([]int{4}))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []data.Share{{Rank: 2, Ranks: 2}, {Rank: -1, Ranks: 2}, {Rank: 1}, {Ranks: -1}} {
		l := &data.Loader{Dataset: set, BatchSize: 1, Share: s}
		for _, err := range l.Epoch(t.Context()) {
			if err == nil {
				t.Errorf("%v: no error", s)
			}
		}
	}
}
