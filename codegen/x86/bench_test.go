package x86_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sinter-go/sinter/codegen/x86"
	"github.com/sinter-go/sinter/codegen/x86/x86test"
)

// BenchmarkLoop times the compilation of programs that need more registers than there
// are, each the least of several turns.
func BenchmarkLoop(b *testing.B) {
	for _, isa := range x86.ISAs {
		b.Run(isa.String(), func(b *testing.B) {
			cases := x86test.Cases()
			least := make([]time.Duration, len(cases))
			worst, weight := time.Duration(0), 0
			for b.Loop() {
				for i, c := range cases {
					start := time.Now()
					if _, err := x86.Loop(c.Name, c.Prog, isa); err != nil && !errors.Is(err, x86.ErrUnsupported) {
						b.Fatal(c.Name, err)
					}
					if d := time.Since(start); least[i] == 0 || d < least[i] {
						least[i] = d
					}
				}
			}
			for i, d := range least {
				if d > worst {
					worst, weight = d, cases[i].Prog.Weight()
				}
			}
			b.ReportMetric(worst.Seconds()*1e3, "max-ms")
			b.ReportMetric(float64(weight), "operations")
		})
	}
}
