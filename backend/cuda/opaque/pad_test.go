package opaque_test

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/opaque"
	"github.com/sinter-go/sinter/ir"
)

// A padder is a recorder with scratch at an address of its own.
type padder struct{ *recorder }

func (padder) Dense(v ir.View, _ ir.DType) (ir.View, error) { return v, nil }

func (padder) Scratch(int64) (uint64, error) { return 0xa000, nil }

func (p padder) Copy(dst, src uint64, bytes int64) error {
	p.launch = append(p.launch, fmt.Sprintf("copy %x to %x, %d bytes", src, dst, bytes))
	return nil
}

// TestPadEdges checks that elements are surrounded wherever they lie without gaps, be what
// an axis of extent 1 has for a stride as it may, and the result where it may.
func TestPadEdges(t *testing.T) {
	const kernel = "pad pad_b4 "
	x := deviceView(0x1000, 1, 1, 4, 4)
	channel := x // of three
	channel.Strides = []int{48, 16, 4, 1}
	halves := []string{kernel + "[1048577 1 1] [256 1 1] 0", "copy a000 to 2000, 4294967316 bytes"}
	halves = append(halves, halves[0], "copy a000 to 100002014, 4294967316 bytes")
	for _, c := range []struct {
		name    string
		x       ir.View
		to      uint64
		padding []int
		want    []string
	}{
		{"dense", x, 0x2000, []int{1, 1, 1, 1}, []string{kernel + "[1 1 1] [256 1 1] 0"}},
		{"extent 1", channel, 0x2000, []int{1, 1, 1, 1}, []string{kernel + "[1 1 1] [256 1 1] 0"}},
		{"not at a vector", x, 0x2004, []int{1, 1, 1, 1}, []string{kernel + "[1 1 1] [256 1 1] 0", "copy a000 to 2004, 144 bytes"}},
		{"large odd planes", deviceView(0x1000, 2, 1, 1, 1<<30+3), 0x2000, []int{1, 1}, halves},
	} {
		if bits.UintSize == 32 && c.name == "large odd planes" {
			continue // more than an int counts
		}
		shape := append([]int(nil), c.x.Shape...)
		for i, n := range c.padding {
			shape[len(shape)-1-i/2] += n
		}
		r := &recorder{}
		err := opaque.PadEdges(padder{r}, &ir.Call{In: []ir.View{c.x}, Out: []ir.View{deviceView(c.to, shape...)}, Attrs: []ir.Value{{Ints: c.padding}, {Int: 0}}})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if d := cmp.Diff(c.want, r.launch); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}
