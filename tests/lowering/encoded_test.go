package lowering_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/sinter-go/sinter/codegen/amd64"
	"github.com/sinter-go/sinter/codegen/loops"
	"github.com/sinter-go/sinter/codegen/lower"
	"github.com/sinter-go/sinter/codegen/x86"
	"github.com/sinter-go/sinter/ir"
	irbody "github.com/sinter-go/sinter/ir/body"
	"github.com/sinter-go/sinter/ir/expr"
)

var table = flag.String("table", "", "`file` to which BenchmarkCompile appends a line for each function")

// set is what a body is lowered to for an instruction set.
func (b *body) set(isa x86.ISA) (loops.Set, error) {
	body := loops.Body{Check: b.check, Graph: b.graph, Inputs: lower.Inputs(b.graph)}
	if !slices.ContainsFunc(b.op.In, func(o ir.Operand) bool { return o.Fixed.IsFloat() }) && !b.op.Out[0].DType.IsFloat() {
		for _, d := range []ir.DType{ir.Float16, ir.BFloat16} {
			if b.op.DTypes.Has(d) {
				body.Halves = append(body.Halves, d)
			}
		}
	}
	return body.Loops(isa)
}

func (b *body) check(t ir.DType) (*expr.Graph, error) {
	typed, err := irbody.Of(b.op, b.Variant, t)
	if err != nil {
		return nil, err
	}
	return typed.Expr, nil
}

// A compiled is one function of the standard operators' loops, and what it cost.
type compiled struct {
	name   string
	fn     *x86.Func
	lower  time.Duration // from the expression to a program
	make   time.Duration // from a program to instructions
	encode time.Duration
	bytes  int
}

// compileAll makes each function of the standard operators' loops once, of those that do
// the same the first.
func compileAll(t testing.TB, isa x86.ISA) (list []compiled) {
	seen := map[string]bool{}
	for _, b := range bodies(t) {
		start := time.Now()
		set, err := b.set(isa)
		lowered := time.Since(start)
		if err != nil {
			continue // of one instruction set alone
		}
		for i, l := range []*loops.Loop{set.Main, set.Past, set.Float16, set.BFloat16} {
			if l == nil || seen[l.Key()] {
				continue
			}
			seen[l.Key()] = true
			c := compiled{name: fmt.Sprint(b, " ", i), lower: lowered}
			start := time.Now()
			if c.fn, err = l.Func("f"); loops.Unsupported(err) {
				continue
			} else if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			c.make, start, lowered = time.Since(start), time.Now(), 0
			var a amd64.Assembler
			if err := a.Add(c.fn.Name, amd64.Frame{}, c.fn.Body.Insts); err != nil && !c.fn.Body.Calls() {
				t.Fatalf("%s: %v", c.name, err)
			}
			code := a.Size()
			c.encode, c.bytes = time.Since(start), code
			list = append(list, c)
		}
	}
	return list
}

// BenchmarkCompile times what makes the standard operators' loops, a function at a time.
// With -table it writes a line for each.
func BenchmarkCompile(b *testing.B) {
	for _, isa := range x86.ISAs {
		b.Run(isa.String(), func(b *testing.B) {
			var list []compiled
			for b.Loop() { // the least of several turns: others use the machine, too
				for i, c := range compileAll(b, isa) {
					if i == len(list) {
						list = append(list, c)
					}
					l := &list[i]
					l.lower, l.make, l.encode = min(l.lower, c.lower), min(l.make, c.make), min(l.encode, c.encode)
				}
			}
			var worst, sum [3]time.Duration
			bytes := 0
			for _, c := range list {
				for i, d := range [...]time.Duration{c.lower, c.make, c.encode} {
					worst[i], sum[i] = max(worst[i], d), sum[i]+d
				}
				bytes += c.bytes
			}
			for i, what := range [...]string{"lower", "make", "encode"} {
				b.ReportMetric(worst[i].Seconds()*1e3, what+"-max-ms")
				b.ReportMetric(sum[i].Seconds()*1e3, what+"-ms")
			}
			b.ReportMetric(float64(len(list)), "functions")
			b.ReportMetric(float64(bytes), "code-bytes")
			if *table != "" {
				f, err := os.OpenFile(*table, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
				if err != nil {
					b.Fatal(err)
				}
				for _, c := range list {
					fmt.Fprintf(f, "%s\t%s\t%v\t%v\t%v\t%d\t%d\n", isa, c.name, c.lower, c.make, c.encode, c.bytes, len(c.fn.Body.Insts))
				}
				f.Close()
			}
		})
	}
}
