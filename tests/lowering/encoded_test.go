//go:build unix

package lowering_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/cpu/made"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/codegen/amd64"
	"github.com/sinter-go/sinter/codegen/jit"
	"github.com/sinter-go/sinter/codegen/loops"
	"github.com/sinter-go/sinter/codegen/x86"
)

var table = flag.String("table", "", "`file` to which BenchmarkCompile appends a line for each function")

// set is what a body is lowered to for an instruction set.
func (b *body) set(isa x86.ISA) (loops.Set, error) {
	shape, err := made.Body(b.op, b.Variant, b.DType)
	if err != nil {
		return loops.Set{}, err
	}
	return shape.Loops(isa)
}

var isas = map[simd.Level]x86.ISA{simd.AVX2: x86.AVX2, simd.AVX512: x86.AVX512}

// TestEncoded holds what the encoder makes of every loop to the linked one, to the bit: odd
// lengths at odd places, past the caches, and with operands of 16 bits.
func TestEncoded(t *testing.T) {
	if err := jit.Available(); err != nil {
		t.Skip(err)
	}
	atLevels(t, 500, func(t *testing.T, b *body, level simd.Level) int {
		linked := b.only(level)
		if linked == nil {
			return 0
		}
		shape, err := made.Body(b.op, b.Variant, b.DType)
		if err != nil {
			t.Fatal(err)
		}
		set, err := shape.Loops(isas[level.Vectors()])
		if err != nil {
			t.Errorf("%s: %v", b, err)
			return 0
		}
		make := func(l *loops.Loop) vector.Func {
			if l == nil {
				return nil
			}
			f, err := made.Loop(l, shape)
			if err != nil && !loops.Unsupported(err) {
				t.Errorf("%s: %v", b, err)
			}
			return f
		}
		main, past, half, brain := make(set.Main), make(set.Past), make(set.Float16), make(set.BFloat16)
		for i, pair := range [][2]vector.Func{{main, linked}, {past, b.Past.At(level)}, {half, b.Float16.At(level)}, {brain, b.BFloat16.At(level)}} {
			if (pair[0] == nil) != (pair[1] == nil) {
				t.Errorf("%s: loop %d is encoded %t, linked %t", b, i, pair[0] != nil, pair[1] != nil)
				return 0
			}
		}
		for i, n := range []int{1, 31, 257, 1093} {
			b.compareEncoded(t, main, linked, n, i)
		}
		if past != nil {
			b.compareEncoded(t, past, b.Past.At(level), 3*vector.Group/b.DType.Size(), 1)
		}
		for i, f := range []vector.Func{half, brain} {
			if f != nil {
				b.compareStored(t, f, b.at(level), formats[i])
			}
		}
		return 1
	})
}

// compareEncoded runs an encoded loop and the linked one on n elements.
func (b *body) compareEncoded(t *testing.T, encoded, linked vector.Func, n, seed int) {
	t.Helper()
	s := b.scalars()[seed%len(b.scalars())]
	in := b.samples(n, uint64(seed))
	want := b.run(t, linked, in, n, s, 1<<33-17, false, seed%2 == 0)
	got := b.run(t, encoded, in, n, s, 1<<33-17, false, seed%2 == 0)
	if !bytes.Equal(got, want) {
		t.Errorf("%s: %d elements: element %d is not the linked loop's", b, n, b.firstDifference(got, want, n))
	}
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
