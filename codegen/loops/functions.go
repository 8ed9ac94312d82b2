package loops

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/sinter-go/sinter/codegen/amd64"
	"github.com/sinter-go/sinter/codegen/lane"
	"github.com/sinter-go/sinter/codegen/mathlib"
	"github.com/sinter-go/sinter/codegen/x86"
)

// called are the functions that programs call.
func called(programs ...*lane.Prog) []mathlib.Func {
	var list []mathlib.Func
	seen := map[string]bool{}
	for _, p := range programs {
		for i, live := range p.Live() {
			n := p.Node(lane.V(i))
			if key := n.Name + n.Type.String(); live && n.Op == lane.OpCall && !seen[key] {
				seen[key] = true
				if f, ok := mathlib.Lookup(n.Name, n.Type); ok {
					list = append(list, f)
				}
			}
		}
	}
	return list
}

// Functions makes the subroutines that a loop calls.
func (l *Loop) Functions() ([]*x86.Func, error) {
	if l.Prog == nil {
		return nil, nil
	}
	return functions(l.ISA, l.Prog)
}

// functions makes the subroutines that programs call.
func functions(isa x86.ISA, programs ...*lane.Prog) ([]*x86.Func, error) {
	var list []*x86.Func
	for _, f := range called(programs...) {
		parts, err := Function(f, isa)
		if err != nil {
			return nil, err
		}
		list = append(list, parts...)
	}
	return list, nil
}

// Function makes the subroutine of a function. One with a fast program is three: one that
// tests its argument and goes on in one of the two others.
func Function(fn mathlib.Func, isa x86.ISA) ([]*x86.Func, error) {
	full, err := fn.Prog(mathSets[isa])
	if err != nil {
		return nil, err
	}
	fast, limit, err := fn.Fast(mathSets[isa])
	if err != nil {
		return nil, err
	}
	if fast == nil {
		f, err := x86.Subroutine(fn.Name, full, isa)
		return []*x86.Func{f}, err
	}
	quick, err := x86.Subroutine(fn.Name+"Fast", fast, isa)
	if err != nil {
		return nil, err
	}
	whole, err := x86.Subroutine(fn.Name+"Full", full, isa)
	return []*x86.Func{quick, whole, below(fn, limit, isa)}, err
}

// below makes the subroutine that goes on in the fast one if the magnitude of the first
// argument is below limit in all lanes. It uses registers that no argument is in.
func below(fn mathlib.Func, limit float64, isa x86.ISA) *x86.Func {
	suffix, lanes, test := "PS", 8, "KORTESTW"
	abs, bits := binary.LittleEndian.AppendUint32(nil, 1<<31-1), binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(limit)))
	if fn.Type == lane.F64 {
		suffix, lanes, test = "PD", 4, "KORTESTB"
		abs, bits = binary.LittleEndian.AppendUint64(nil, 1<<63-1), binary.LittleEndian.AppendUint64(nil, math.Float64bits(limit))
	}
	data := func(b []byte) amd64.Arg { return amd64.Arg{Kind: amd64.Data, Name: string(b)} }
	var b amd64.Block
	wide := "VBROADCASTS" + suffix[1:]
	if isa == x86.AVX512 {
		b.Add(wide, data(abs), b.Arg("Z15"))
		b.Asm("VAND%s Z15, Z0, Z15", suffix)
		b.Add("VCMP"+suffix+".BCST", b.Arg("$17"), data(bits), b.Arg("Z15"), b.Arg("K1"))
		b.Asm("%s K1, K1\nJCC full", test)
	} else {
		b.Add(wide, data(abs), b.Arg("Y9"))
		b.Asm("VAND%s Y9, Y0, Y9", suffix)
		b.Add(wide, data(bits), b.Arg("Y8"))
		b.Asm("VCMP%s $17, Y8, Y9, Y9\nVMOVMSK%s Y9, R12\nCMPL R12, $%d\nJNE full", suffix, suffix, 1<<lanes-1)
	}
	b.Asm("JMP %s\nfull:\nJMP %s", x86.Symbol(fn.Name+"Fast", fn.Type, isa), x86.Symbol(fn.Name+"Full", fn.Type, isa))
	return &x86.Func{Name: strings.TrimSuffix(x86.Symbol(fn.Name, fn.Type, isa), "(SB)"), Body: b,
		About: fmt.Sprintf("// %s of %v lanes, by their magnitude.\n", fn.Name, fn.Type)}
}
