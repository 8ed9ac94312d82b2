package dist

import (
	"context"
	"errors"
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
		if err := g.ready(sizes, size); err != nil {
			return err
		}
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
		in := tensor.FromSlice(padded, []int{int(longest)}, on)
		if err := g.ready(out, in); err != nil {
			return err
		}
		if err := g.AllGather(out, in).Wait(context.Background()); err != nil {
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

// ready returns what is wrong with tensors that a call of all ranks is to be of. The others wait for that call: where this
// rank cannot make it, as it has no memory, they are told.
func (g *Group) ready(list ...tensor.Tensor) error {
	for _, t := range list {
		if err := t.Err(); err != nil {
			g.Abort(err)
			return err
		}
	}
	return nil
}

// together returns nil where it is on all ranks, and otherwise the errors of all, on every rank. All ranks call it.
func (g *Group) together(own error) error {
	if g.Size() == 1 {
		return own
	}
	bad, err := g.any([]bool{own != nil})
	if err != nil || !bad[0] {
		return errors.Join(own, err)
	}
	text := ""
	if own != nil {
		text = own.Error()
	}
	all, err := g.gatherBytes([]byte(text))
	for r, b := range all {
		if len(b) > 0 && r != g.Rank() {
			err = errors.Join(err, fmt.Errorf("rank %d: %s", r, b))
		}
	}
	return errors.Join(own, err)
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
		if err := g.ready(t); err != nil {
			return err
		}
		if err := g.AllReduce(t, Max).Wait(context.Background()); err != nil {
			return err
		}
		var err error
		out, err = tensor.Data[bool](t)
		return err
	})
	return out, err
}
