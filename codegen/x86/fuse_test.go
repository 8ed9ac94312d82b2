package x86

import (
	"testing"

	"github.com/sinter-go/sinter/codegen/lane"
)

// TestTernary compares the table of fused logic, and of its operands in any order,
// with the program's interpretation.
func TestTernary(t *testing.T) {
	tests := []struct {
		name string
		prog func(p *lane.Prog, a, b, c lane.V) lane.V
	}{
		{"or of and", func(p *lane.Prog, a, b, c lane.V) lane.V { return p.Or(p.And(a, b), c) }},
		{"four operations", func(p *lane.Prog, a, b, c lane.V) lane.V {
			return p.Or(p.And(a, b), p.Xor(p.Or(a, c), b))
		}},
		{"not in the middle", func(p *lane.Prog, a, b, c lane.V) lane.V { return p.AndNot(p.Not(c), p.Xor(a, p.Not(b))) }},
		{"difference", func(p *lane.Prog, a, b, c lane.V) lane.V { return p.AndNot(b, p.AndNot(c, a)) }},
		{"two operands", func(p *lane.Prog, a, b, _ lane.V) lane.V { return p.Or(p.Not(a), b) }},
		{"bits of a constant", func(p *lane.Prog, a, b, _ lane.V) lane.V {
			k := p.ConstI(lane.I32, 0xaa)
			return p.Or(p.AndNot(a, k), p.And(b, k))
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var p lane.Prog
			p.Out(test.prog(&p, p.Arg(0, lane.I32), p.Arg(1, lane.I32), p.Arg(2, lane.I32)))
			s := newSelector(&p, AVX512, 16)
			s.arg = func(i int, ty lane.Type) vreg {
				return s.atHome(vdef{bytes: 64, home: homeArray, at: i, size: 4})
			}
			if err := s.run(); err != nil {
				t.Fatal(err)
			}
			if len(s.insts) != 1 || s.insts[0].form != ternary {
				t.Fatalf("instructions %+v, want one of three operands", s.insts)
			}
			args := []uint64{0xf0, 0xcc, 0xaa}
			want := lane.Eval(&p, args...)[0] & 0xff
			for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
				table := permuted(s.insts[0].imm, order)
				var got uint64
				for bit := range 8 {
					at := 0
					for _, o := range order {
						d := s.defs[s.insts[0].src[o]]
						x := d.value.bits
						if d.home == homeArray {
							x = args[d.at]
						}
						at = at<<1 | int(x>>bit&1)
					}
					got |= uint64(table>>at&1) << bit
				}
				if got != want {
					t.Errorf("operands in order %v: %#x, want %#x", order, got, want)
				}
			}
		})
	}
}
