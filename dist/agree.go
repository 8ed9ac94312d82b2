package dist

import (
	"context"
	"fmt"
	"strings"

	"github.com/sinter-go/sinter/generated/tensor"
)

// gatherBytes returns what every rank has, by rank.
func (g *Group) gatherBytes(mine []byte) (all [][]byte, err error) {
	err = tensor.Scope(func() error {
		on := tensor.On(g.Device())
		sizes := tensor.Zeros([]int{g.Size()}, on, tensor.OfType(tensor.Int64))
		size := tensor.FromSlice([]int64{int64(len(mine))}, []int{1}, on)
		if err := g.AllGather(sizes, size).Wait(context.Background()); err != nil {
			return err
		}
		n, err := tensor.Data[int64](sizes)
		if err != nil {
			return err
		}
		longest := int64(1)
		for _, k := range n {
			longest = max(longest, k)
		}
		padded := make([]uint8, longest)
		copy(padded, mine)
		out := tensor.Zeros([]int{g.Size(), int(longest)}, on, tensor.OfType(tensor.Uint8))
		if err := g.AllGather(out, tensor.FromSlice(padded, []int{int(longest)}, on)).Wait(context.Background()); err != nil {
			return err
		}
		raw, err := tensor.Data[uint8](out)
		for r, k := range n {
			if err == nil {
				all = append(all, raw[int64(r)*longest:int64(r)*longest+k])
			}
		}
		return err
	})
	if err == nil {
		err = g.Err()
	}
	return all, err
}

// agree returns an error, on every rank, where a text of lines is not the same on all.
// It names the first line that differs.
func (g *Group) agree(text string) error {
	all, err := g.gatherBytes([]byte(text))
	if err != nil {
		return err
	}
	want := strings.Split(string(all[0]), "\n")
	for r, b := range all {
		for i, have := range strings.Split(string(b), "\n") {
			if i >= len(want) || have != want[i] {
				return fmt.Errorf("%w: rank %d has %s, rank 0 %s", ErrMismatch, r, line(have), line(at(want, i)))
			}
		}
	}
	return nil
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

func line(s string) string {
	if s == "" {
		return "nothing more"
	}
	return s
}

// any returns which of the flags are set on any rank.
func (g *Group) any(flags []bool) ([]bool, error) {
	out := flags
	err := tensor.Scope(func() error {
		t := tensor.FromSlice(flags, []int{len(flags)}, tensor.On(g.Device()))
		if err := g.AllReduce(t, Max).Wait(context.Background()); err != nil {
			return err
		}
		var err error
		out, err = tensor.Data[bool](t)
		return err
	})
	return out, err
}
