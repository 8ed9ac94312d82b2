package x86_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/codegen/lane"
	"github.com/sinter-go/sinter/codegen/x86"
	"github.com/sinter-go/sinter/codegen/x86/x86test"
	"github.com/sinter-go/sinter/tests/brief"
)

// TestRegisters holds the generated code to the registers that its callers and Go
// leave it.
func TestRegisters(t *testing.T) {
	var funcs []*x86.Func
	for _, isa := range x86.ISAs {
		list, err := x86test.Functions(isa)
		if err != nil {
			t.Fatal(err)
		}
		funcs = append(funcs, list...)
	}
	if len(funcs) < 100 {
		t.Fatalf("%d functions", len(funcs))
	}
	never := regexp.MustCompile(`\b(BP|R14|R15)\b`)
	beyondAVX2 := regexp.MustCompile(`\b(Z\d+|[XY](1[6-9]|2\d|3[01])|K[0-7])\b`)
	preserved := map[string]*regexp.Regexp{
		"AVX2":   regexp.MustCompile(`\b[XY]1\d\b|\b(AX|BX|CX|DX|SI|DI|R8|R9|R10|R11)\b`),
		"AVX512": regexp.MustCompile(`\b[XYZ](1[6-9]|2\d|3[01])\b|\b(AX|BX|CX|DX|SI|DI|R8|R9|R10|R11|K5|K6|K7)\b`),
	}
	for i, fn := range funcs {
		if brief.Skip(i) {
			continue
		}
		var b strings.Builder
		if err := fn.Body.Print(&b, func(string) string { return "data" }); err != nil {
			t.Fatal(err)
		}
		name, text := fn.Name, b.String()
		if r := never.FindString(text); r != "" {
			t.Errorf("%s uses %s", name, r)
		}
		isa := "AVX512"
		if strings.HasSuffix(name, "AVX2") {
			isa = "AVX2"
			if r := beyondAVX2.FindString(text); r != "" {
				t.Errorf("%s uses %s", name, r)
			}
		}
		subroutine := fn.Params == ""
		if r := preserved[isa].FindString(text); subroutine && r != "" {
			t.Errorf("%s changes %s", name, r)
		}
		if !subroutine && !strings.HasSuffix(text, "\tVZEROUPPER\n\tRET\n") {
			t.Errorf("%s returns without VZEROUPPER", name)
		}
	}
}

func TestErrors(t *testing.T) {
	prog := func(build func(p *lane.Prog)) *lane.Prog {
		var p lane.Prog
		build(&p)
		return &p
	}
	misused := prog(func(p *lane.Prog) { p.Out(p.Shl(p.Arg(0, lane.F32), 1)) })
	exponent := prog(func(p *lane.Prog) { p.Out(p.GetExp(p.Arg(0, lane.F32))) })
	table := prog(func(p *lane.Prog) { p.Out(p.Lookup(p.Arg(0, lane.I32), lane.F32, make([]uint64, 32))) })
	same := prog(func(p *lane.Prog) { p.Out(p.Arg(0, lane.F32)) })
	sum := prog(func(p *lane.Prog) { p.Out(p.Add(p.Arg(0, lane.F32), p.Arg(1, lane.F32))) })
	zero := prog(func(p *lane.Prog) { p.Out(p.ConstF32(0)) })
	wide := prog(func(p *lane.Prog) { p.Out(p.Widen(p.Arg(0, lane.F32), lane.F64)) })
	tests := []struct {
		name        string
		add         func(f *x86.File) error
		want        string
		unsupported bool
	}{
		{"misuse", func(f *x86.File) error { return f.Loop("l", misused, x86.AVX2) }, "l: lane: shl: f32 by 1", false},
		{"no instruction", func(f *x86.File) error { return f.Loop("l", exponent, x86.AVX2) }, "l: x86: AVX2: getexp of f32", true},
		{"no instruction for a table", func(f *x86.File) error { return f.Loop("l", table, x86.AVX2) }, "l: x86: AVX2: lookup of f32", true},
		{"no results", func(f *x86.File) error { return f.Loop("l", &lane.Prog{}, x86.AVX2) }, "without results", false},
		{"subroutine of two types", func(f *x86.File) error { return f.Subroutine("s", wide, x86.AVX2) }, "input 0 is f32, not f64", false},
		{"subroutine that calls", func(f *x86.File) error {
			return f.Subroutine("s", prog(func(p *lane.Prog) { p.Out(p.Call("exp", p.Arg(0, lane.F32))) }), x86.AVX512)
		}, "calls another", true},
		{"fold of another type", func(f *x86.File) error {
			return f.Fold("f", x86.Fold{Init: zero, Map: wide, Combine: sum}, x86.AVX2)
		}, "f: lane: bits: f64 as f32", false},
		{"fold without identity", func(f *x86.File) error {
			return f.Rows("f", x86.Fold{Init: same, Map: same, Combine: sum}, x86.AVX2)
		}, "want results of no, one and two inputs", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := x86.NewFile("d", "p", "n", "test")
			err := test.add(f)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
			if errors.Is(err, x86.ErrUnsupported) != test.unsupported {
				t.Errorf("%v: ErrUnsupported is %v", err, !test.unsupported)
			}
			if !f.Empty() {
				t.Error("the file is not empty")
			}
		})
	}
}
