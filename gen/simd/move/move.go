// Package move holds the programs of the kernels that move numbers: conversions
// between element types, transposing copies, copies past the caches, and rows that
// an index names, which may be added up where they arrive. It knows nothing of shapes and strides beyond those of
// one block.
package move

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/sinter-go/sinter/gen/simd/asm"
)

// Files returns the assembly of package backend/cpu/move.
func Files(by string) ([]asm.File, error) {
	var all []asm.File
	for _, u := range []struct {
		name  string
		build func(*build.Context)
	}{
		{"convert", conversions},
		{"transpose", transpositions},
		{"uncached", uncached},
		{"rows", rows},
	} {
		files, err := asm.Unit{Dir: "backend/cpu/move", Pkg: "move", Name: u.name, By: by}.Build(u.build)
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	table, err := converters(by)
	return append(all, table), err
}

// A function is one function being written.
type function struct {
	c    *build.Context // named, as in wide.Kit
	wide bool           // AVX-512, else AVX2
}

// begin writes the function that body writes, less its return.
func begin(c *build.Context, name, signature, doc string, wide bool, body func(f function)) {
	f := function{c, wide}
	c.Function(name + f.suffix())
	c.Attributes(attr.NOSPLIT)
	c.Pragma("noescape")
	c.Doc(name + f.suffix() + " " + doc)
	c.SignatureExpr(signature)
	body(f)
	c.VZEROUPPER()
	c.RET()
}

func (f function) suffix() string {
	if f.wide {
		return "AVX512"
	}
	return "AVX2"
}

// arg loads an integer or pointer parameter.
func (f function) arg(name string) reg.GPVirtual {
	return f.c.Load(f.c.Param(name), f.c.GP64()).(reg.GPVirtual)
}

// at returns the operand disp bytes after base.
func at(base reg.Register, disp int) operand.Mem { return operand.Mem{Base: base, Disp: disp} }

// vector returns a new register of the widest kind.
func (f function) vector() reg.VecVirtual {
	if f.wide {
		return f.c.ZMM()
	}
	return f.c.YMM()
}

// bits32 and bits64 return a register that holds the bits in every lane.
func (f function) bits32(b uint32) reg.VecVirtual {
	g, x, v := f.c.GP32(), f.c.XMM(), f.vector()
	f.c.MOVL(operand.U32(b), g)
	f.c.VMOVD(g, x)
	f.c.VPBROADCASTD(x, v)
	return v
}

func (f function) bits64(b uint64) reg.VecVirtual {
	g, x, v := f.c.GP64(), f.c.XMM(), f.vector()
	f.c.MOVQ(operand.U64(b), g)
	f.c.VMOVQ(g, x)
	f.c.VPBROADCASTQ(x, v)
	return v
}
