package ir

import (
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

// kernelOps are operators of all kinds, by name.
func kernelOps() map[string]*Op {
	x, y := Operand{Name: "x"}, Operand{Name: "y"}
	out := []Result{{Name: "out"}}
	ops := []*Op{
		{Name: "add", In: []Operand{x, y}, Out: out, DTypes: ClassAll, Promote: PromoteArith, Switch: -1, Bodies: []Body{{Exprs: []string{"x + y"}}}},
		{Name: "lt", In: []Operand{x, y}, Out: out, DTypes: ClassReal, Promote: PromoteCompare, Switch: -1, Bodies: []Body{{Exprs: []string{"x < y"}}}},
		{Name: "where", In: []Operand{{Name: "c", Fixed: Bool}, x}, Out: out, DTypes: ClassAll, Promote: PromoteArith, Switch: -1, Bodies: []Body{{Exprs: []string{"where(c, x, 0)"}}}},
		{Name: "round", In: []Operand{x}, Out: out, DTypes: ClassFloat, Promote: PromoteArithFloat, Switch: 0,
			Attrs: []Attr{{Name: "how", Kind: AttrEnum, Enum: []string{"up", "down"}}}, Bodies: []Body{{Exprs: []string{"ceil(x)"}}, {Exprs: []string{"floor(x)"}}}},
		{Name: "copy", In: []Operand{x}, Out: out, DTypes: ClassAll, Switch: -1, Bodies: []Body{{Exprs: []string{"x"}, Identity: true}}},
		{Name: "draw", Out: out, DTypes: ClassFloat, Switch: -1, Bodies: []Body{{Exprs: []string{"random(seed, offset)"}, Indexed: true}},
			Attrs: []Attr{{Name: "p", Kind: AttrFloat}, {Name: "first", Kind: AttrInt, Draws: DrawsSeed}, {Name: "second", Kind: AttrInt, Draws: DrawsOffset}}},
		{Name: "sum", Kind: Reduction, In: []Operand{x}, Out: out, DTypes: ClassAll, Promote: PromoteSumAcc, Switch: -1,
			Bodies: []Body{{Init: "0", Map: "x", Combine: "a + b", Finish: "a"}}},
		{Name: "step", Kind: Joint, In: []Operand{{Name: "g"}}, Out: []Result{{Name: "p"}, {Name: "m"}}, DTypes: ClassFloat, Switch: -1,
			Bodies: []Body{{Exprs: []string{"p - m", "m + g"}}}},
		{Name: "sort", Kind: Opaque, In: []Operand{x}, Out: []Result{{Name: "values"}, {Name: "indices", DType: Int64}}, DTypes: ClassAll, Switch: -1},
		{Name: "matmul_wide", Kind: Opaque, In: []Operand{x, y}, Out: []Result{{Name: "out", Acc: true}}, DTypes: ClassNum, Switch: -1},
	}
	byName := map[string]*Op{}
	for _, op := range ops {
		byName[op.Name] = op
	}
	return byName
}

func TestKernelString(t *testing.T) {
	ops := kernelOps()
	for _, tt := range []struct {
		op      string
		variant int
		dt      DType
		want    string
	}{
		{"add", 0, Float32, "add(x float32, y float32) -> (out float32): x + y"},
		{"add", 0, Float16, "add(x float16, y float16) -> (out float16) in float32: x + y"},
		{"lt", 0, BFloat16, "lt(x bfloat16, y bfloat16) -> (out bool) in float32: x < y"},
		{"where", 0, Int8, "where(c bool, x int8) -> (out int8): where(c, x, 0)"},
		{"round", 1, Float64, "round.down(x float64) -> (out float64): floor(x)"},
		{"sum", 0, Int64, "sum(x int64) -> (out int64): init 0, map x, combine a + b, finish a"},
		{"step", 0, Float32, "step(g float32) -> (p float32, m float32): p = p - m; m = m + g"},
		{"sort", 0, Float16, "sort(x float16) -> (values float16, indices int64) in float32: opaque"},
		{"matmul_wide", 0, BFloat16, "matmul_wide(x bfloat16, y bfloat16) -> (out float32) in float32: opaque"},
	} {
		k := ops[tt.op].Kernel(tt.variant, tt.dt)
		if got := k.String(); got != tt.want {
			t.Errorf("%s\nwant %s", got, tt.want)
		}
		if err := k.Verify(); err != nil {
			t.Errorf("%v: %v", k, err)
		}
	}
}

// TestKernelFacts has what calls are decided by.
func TestKernelFacts(t *testing.T) {
	type facts struct {
		Identity        int
		Indexed, Direct bool
		Seed, Offset    int
	}
	ops := kernelOps()
	for _, tt := range []struct {
		op   string
		dt   DType
		want facts
	}{
		{"add", Float32, facts{Identity: -1, Direct: true, Seed: -1, Offset: -1}},
		{"copy", Int8, facts{Direct: true, Seed: -1, Offset: -1}},
		{"round", Int32, facts{Identity: -1, Seed: -1, Offset: -1}},
		{"sum", Int8, facts{Identity: -1, Seed: -1, Offset: -1}},
		{"sum", Float16, facts{Identity: -1, Direct: true, Seed: -1, Offset: -1}},
		{"draw", Float32, facts{Identity: -1, Indexed: true, Direct: true, Seed: 1, Offset: 2}},
	} {
		k := ops[tt.op].Kernel(0, tt.dt)
		if diff := cmp.Diff(tt.want, facts{k.Identity, k.Indexed, k.Direct, k.Seed, k.Offset}); diff != "" {
			t.Errorf("%s of %v (-want +got):\n%s", tt.op, tt.dt, diff)
		}
	}
}

func TestKernelVerify(t *testing.T) {
	ops := kernelOps()
	changed := func(op string, change func(k *Kernel)) *Kernel {
		k := newKernel(ops[op], 0, Float32)
		change(k)
		return k
	}
	for want, k := range map[string]*Kernel{
		"a kernel of no operator":                                    {},
		"add: no body 1 of 1":                                        ops["add"].Kernel(1, Float32),
		"add: no body -1 of 1":                                       ops["add"].Kernel(-1, Float32),
		"lt: not implemented for bool (have ":                        ops["lt"].Kernel(0, Bool),
		"sort: no variant 1: it is opaque":                           ops["sort"].Kernel(1, Bool),
		"add: operands of float32 are computed in float32, not":      changed("add", func(k *Kernel) { k.Compute = Float64 }),
		"add: operands x float32, want x float32, y float32":         changed("add", func(k *Kernel) { k.In = k.In[:1] }),
		"lt: results out float32, want out bool":                     changed("lt", func(k *Kernel) { k.Out[0].DType = Float32 }),
		"view: operators of this kind are not launched":              (&Op{Name: "view", Kind: ViewBody}).Kernel(0, Float32),
		"none: 0 expressions for 0 results":                          (&Op{Name: "none", Bodies: make([]Body, 1)}).Kernel(0, Float32),
		"few: 1 expressions for 2 results":                           (&Op{Name: "few", Kind: Joint, Out: make([]Result, 2), Bodies: []Body{{Exprs: []string{"p"}}}}).Kernel(0, Float32),
		`fold: a fold starts with an expression and combines by one`: (&Op{Name: "fold", Kind: Scan, Bodies: []Body{{Init: "0"}}}).Kernel(0, Float32),
	} {
		if err := k.Verify(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestStored chooses among the kernels of a 16-bit float and of what it computes in.
func TestStored(t *testing.T) {
	ops, host := kernelOps(), new(float64)
	at := func(d DType) View { return View{Addr: 1 << 20, DType: d} }
	number := View{DType: Float64, Ptr: unsafe.Pointer(host)}
	for _, tt := range []struct {
		op      string
		dt, out DType
		in      []View
		want    DType
	}{
		{"add", Float16, Float16, []View{at(Float16), at(Float16)}, Float16},
		{"add", Float16, Float16, []View{at(Float16), number}, Float16},
		{"add", Float16, Float16, []View{at(Float16), at(Float32)}, Float32},
		{"add", Float16, Float32, []View{at(Float16), at(Float16)}, Float32},
		{"lt", Float16, Float32, []View{at(Float16), at(Float16)}, Float16},
		{"where", BFloat16, BFloat16, []View{at(Int8), at(BFloat16)}, BFloat16},
		{"add", Float32, Float64, []View{at(Float16), at(Float16)}, Float32},
		{"sort", Float16, Float16, []View{at(Float16)}, Float16},
	} {
		if got := ops[tt.op].Stored(0, tt.dt, []View{at(tt.out)}, tt.in); got.DType != tt.want || got != ops[tt.op].Kernel(0, tt.want) {
			t.Errorf("%s of %v: %v", tt.op, tt.dt, got)
		}
	}
}

// TestSlots has many goroutines ask for kernels and for what is derived from them: all
// get the same.
func TestSlots(t *testing.T) {
	type derived struct{ name string }
	var list []*Slot[derived]
	for range maxSlots + 2 { // some beyond those that kernels have room for
		list = append(list, NewSlot(func(k *Kernel) *derived { return &derived{k.String()} }))
	}
	op := kernelOps()["add"]
	var wg sync.WaitGroup
	got := make([][]*derived, 8)
	for g := range got {
		wg.Go(func() {
			for _, s := range list {
				got[g] = append(got[g], s.Of(op.Kernel(0, Float32)), s.Of(op.Kernel(0, Float16)))
			}
		})
	}
	wg.Wait()
	for g := range got {
		for i, d := range got[g] {
			if want := op.Kernel(0, []DType{Float32, Float16}[i%2]).String(); d != got[0][i] || d.name != want {
				t.Fatalf("goroutine %d: %q at %p, goroutine 0: %p", g, d.name, d, got[0][i])
			}
		}
	}
	if got[0][0] == got[0][2] {
		t.Error("two slots hold one value")
	}
}
