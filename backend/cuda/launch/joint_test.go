package launch

import (
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// threeLists is the struct Lists of joint.cuh, which Go lays out as C does, and the
// functor behind it.
type threeLists struct {
	elements [64]int64
	at       [3][64]uint64
	first    [65]int32
	count    int32
	rate     float32
	nesterov bool
}

// momentumOp writes two of three lists.
func momentumOp() *ir.Op {
	return &ir.Op{
		Name: "momentum", Kind: ir.Joint, Switch: -1, DTypes: ir.ClassFloat, Bodies: []ir.Body{{Exprs: []string{"p - rate*v", "g"}}},
		Out: []ir.Result{{Name: "p"}, {Name: "v"}}, In: []ir.Operand{{Name: "g"}},
		Attrs: []ir.Attr{{Name: "rate", Kind: ir.AttrFloat}, {Name: "nesterov", Kind: ir.AttrBool}},
		Code:  []ir.Code{{For: "cuda", Of: &code.Kernels{Module: "m", Symbol: "momentum"}}},
	}
}

// listsOf reads a launch's parameters as the kernel would.
func listsOf(t *testing.T, l launched) *threeLists {
	t.Helper()
	p := new(threeLists)
	if len(l.params) != int(unsafe.Sizeof(*p)) {
		t.Fatalf("%d bytes of parameters, the kernel has %d", len(l.params), unsafe.Sizeof(*p))
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(p)), len(l.params)), l.params)
	return p
}

// TestJointLaunches has 130 tensors changed in launches of 64 at most; one of them
// has no elements.
func TestJointLaunches(t *testing.T) {
	const n, empty = 130, 70
	c := &ir.Call{Kernel: momentumOp().Kernel(0, ir.Float32), Scalars: []ir.Scalar{ir.FloatScalar(0.25), ir.BoolScalar(true)}}
	size := func(k int) int {
		switch k {
		case empty:
			return 0
		case 2:
			return 3*4096 + 1
		}
		return k + 1
	}
	for list := range 3 {
		for k := range n {
			v := deviceView(uint64(list*n+k+1)<<20, ir.Float32, []int{size(k)}, nil)
			if list < 2 {
				c.Out = append(c.Out, v)
			} else {
				c.In = append(c.In, v)
			}
		}
	}
	f, d := newFake(t)
	must(t, d.Run(0, c))
	var grids []driver.Dim3
	k := 0 // the next tensor
	for i, l := range f.launches {
		grids = append(grids, l.grid)
		p := listsOf(t, l)
		if l.name != "momentum_float32" || l.block != (driver.Dim3{X: 256, Y: 1, Z: 1}) || p.rate != 0.25 || !p.nesterov || p.first[0] != 0 {
			t.Errorf("launch %d: %s, blocks of %v, rate %v, nesterov %v, begins at block %d", i, l.name, l.block, p.rate, p.nesterov, p.first[0])
		}
		for j := range p.count {
			if k == empty {
				k++
			}
			blocks := p.first[j+1] - p.first[j]
			if p.elements[j] != int64(size(k)) || int(blocks) != (size(k)+4095)/4096 {
				t.Fatalf("tensor %d has %d elements and %d blocks", k, p.elements[j], blocks)
			}
			for list := range 3 {
				if got := p.at[list][j]; got != uint64(list*n+k+1)<<20 {
					t.Fatalf("tensor %d: list %d is at %x", k, list, got)
				}
			}
			k++
		}
	}
	if diff := cmp.Diff([]driver.Dim3{{X: 67, Y: 1, Z: 1}, {X: 64, Y: 1, Z: 1}, {X: 1, Y: 1, Z: 1}}, grids); diff != "" || k != n {
		t.Errorf("%d tensors were changed, want %d; grids (-want +got):\n%s", k, n, diff)
	}
}

// TestJointWithGaps works on copies of what is not dense, and repeats an operand
// without axes.
func TestJointWithGaps(t *testing.T) {
	shape := []int{2, 3}
	dense := func(addr uint64) ir.View { return deviceView(addr, ir.Float32, shape, nil) }
	gaps := deviceView(0x2000, ir.Float32, shape, []int{1, 2})
	one := float32(0.5)
	c := &ir.Call{
		Kernel: momentumOp().Kernel(0, ir.Float32), Scalars: []ir.Scalar{ir.FloatScalar(0.25), ir.BoolScalar(false)},
		Out: []ir.View{dense(0x1000), dense(0x1100), gaps, dense(0x2100)},
		In:  []ir.View{dense(0x3000), hostNumber(&one, ir.Float32, nil)},
	}
	before := slices.Clone(c.Out)
	f, d := newFake(t)
	must(t, d.Run(0, c))
	var names []string
	var p *threeLists
	for _, l := range f.launches {
		names = append(names, l.name)
		if l.name == "momentum_float32" {
			p = listsOf(t, l)
		}
	}
	if at := slices.Index(names, "momentum_float32"); at < 1 || at == len(names)-1 {
		t.Fatalf("launches %s, want copies before and after the kernel", strings.Join(names, ", "))
	}
	if p.count != 2 || p.elements[1] != 6 || p.first[1] != 1 || p.first[2] != 2 {
		t.Errorf("%d tensors, the second of %d elements in blocks %d to %d", p.count, p.elements[1], p.first[1], p.first[2])
	}
	if p.at[0][0] != 0x1000 || p.at[0][1] != 0x1100 || p.at[1][0] == 0x2000 || p.at[1][1] != 0x2100 || p.at[2][0] != 0x3000 || p.at[2][1] == 0 {
		t.Errorf("addresses %x", p.at)
	}
	if diff := cmp.Diff(before, c.Out); diff != "" {
		t.Errorf("the call was changed (-before +after):\n%s", diff)
	}
}

// TestJointNarrow launches the loops for operands of 16 bits beside results in float32, and refuses
// what no loop reads.
func TestJointNarrow(t *testing.T) {
	op := momentumOp()
	op.Tags = ir.TagNarrow
	call := func(params ir.DType, grads ...ir.DType) *ir.Call {
		c := &ir.Call{Kernel: op.Kernel(0, params), Scalars: []ir.Scalar{ir.FloatScalar(0.25), ir.BoolScalar(false)}}
		for i, d := range grads {
			at := uint64(i+1) << 20
			c.Out = append(c.Out, deviceView(at, params, []int{3}, nil))
			c.In = append(c.In, deviceView(at+0x400, d, []int{3}, nil))
		}
		for i := range grads {
			c.Out = append(c.Out, deviceView(uint64(i+9)<<20, params, []int{3}, nil))
		}
		return c
	}
	for name, c := range map[string]*ir.Call{
		"momentum_float32":          call(ir.Float32, ir.Float32, ir.Float32),
		"momentum_float32_float16":  call(ir.Float32, ir.Float16, ir.Float16),
		"momentum_float32_bfloat16": call(ir.Float32, ir.BFloat16, ir.BFloat16),
		"momentum_bfloat16":         call(ir.BFloat16, ir.BFloat16),
	} {
		f, d := newFake(t)
		must(t, d.Run(0, c))
		if len(f.launches) != 1 || f.launches[0].name != name {
			t.Fatalf("launches %v, want %s", f.launches, name)
		}
		p := listsOf(t, f.launches[0])
		for i := range int(p.count) {
			if p.at[0][i] != c.Out[i].Addr || p.at[2][i] != c.In[i].Addr || p.elements[i] != 3 {
				t.Errorf("%s: tensor %d has %d elements at %x and %x", name, i, p.elements[i], p.at[0][i], p.at[2][i])
			}
		}
	}
	for text, c := range map[string]*ir.Call{
		"operand 1 is float16, others are bfloat16": call(ir.Float32, ir.BFloat16, ir.Float16),
		"operand 0 is bfloat16":                     call(ir.Float64, ir.BFloat16),
		"operand 0 is float32":                      call(ir.Float16, ir.Float32),
	} {
		f, d := newFake(t)
		if err := d.Run(0, c); err == nil || !strings.Contains(err.Error(), text) || len(f.launches) > 0 {
			t.Errorf("%v; want %q", err, text)
		}
	}
}

// TestJointOfNothing launches nothing, and refuses what no launch can have.
func TestJointOfNothing(t *testing.T) {
	f, d := newFake(t)
	empty := deviceView(0x1000, ir.Float32, []int{0}, nil)
	must(t, d.Run(0, &ir.Call{Kernel: momentumOp().Kernel(0, ir.Float32)}))
	must(t, d.Run(0, &ir.Call{Kernel: momentumOp().Kernel(0, ir.Float32), Out: []ir.View{empty, empty}, In: []ir.View{empty}}))
	if len(f.launches) > 0 {
		t.Errorf("%d launches", len(f.launches))
	}
	if err := d.Run(0, &ir.Call{Kernel: momentumOp().Kernel(0, ir.Float32), Out: []ir.View{empty, empty}}); err == nil || !strings.Contains(err.Error(), "momentum") {
		t.Errorf("an operand is missing: %v", err)
	}
}
