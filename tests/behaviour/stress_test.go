package behaviour_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/random"
)

var stressFor = flag.Duration("stress", 2*time.Second, "how long TestStress runs")

// stressGoroutines share the operands.
const stressGoroutines = 12

// A shared call has operands that all goroutines read, and what comes of it.
type sharedCall struct {
	name string
	trial
	want [][]byte
}

// small are calls that take the shortest ways there are: in calls of hardly any work
// a stack that moves at the wrong moment shows most.
var small = []struct {
	name string
	make func(r *rand.Rand) trial
}{
	{"add few", func(r *rand.Rand) trial {
		x, y := tensor.Randn([]int{1 + r.IntN(40)}), tensor.Randn([]int{1})
		return trial{in: []T{x, x.Mul(y)}, call: func(x []T) []T { return []T{x[0].Add(x[1]).Mul(x[0]).AddScalar(1)} }}
	}},
	{"convert turned", func(r *rand.Rand) trial {
		x := floats(r, []int{1 + r.IntN(90), 1 + r.IntN(90)})
		return trial{in: []T{x}, call: func(x []T) []T {
			return []T{x[0].Transpose(0, 1).ToType(tensor.Float32), x[0].Transpose(0, 1).ToType(tensor.BFloat16).Contiguous()}
		}}
	}},
	{"gradient", func(r *rand.Rand) trial {
		x, w := tensor.Randn([]int{1 + r.IntN(8), 12}), tensor.Randn([]int{12, 3})
		return trial{in: []T{x, w}, call: func(x []T) []T {
			w := x[1].Detach().RequireGrad()
			loss := x[0].MatMul(w).Tanh().Sum()
			if err := loss.Backward(); err != nil {
				return []T{loss}
			}
			g, _ := w.Grad()
			return []T{loss, g}
		}}
	}},
}

// atDepth calls f so many frames down, each of which has something on the stack that
// must still be there when f has returned.
func atDepth(depth int, f func()) int {
	var room [64]int
	room[depth%64] = depth
	below := 0
	if depth == 0 {
		f()
	} else {
		below = atDepth(depth-1, f)
	}
	return below + room[depth%64]
}

// TestStress runs calls on shared operands from many goroutines, on stacks that grow
// and shrink, while the collector runs all the time. Every result is the same to the
// bit as alone. With the race detector it also finds addresses that point where they
// must not. Its length is that of the flag -stress:
//
//	go test -race -run '^TestStress$' ./tests/behaviour -timeout 0 -stress 1h
func TestStress(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var calls []*sharedCall
	add := func(name string, i int, make func(r *rand.Rand) trial) {
		random.With(random.New(int64(i)), func() error {
			c := &sharedCall{name: name, trial: make(rand.New(rand.NewPCG(seed, uint64(i))))}
			c.want = bytesOf(t, c.call(c.in))
			calls = append(calls, c)
			return nil
		})
	}
	for i := range 3 {
		for k, s := range small {
			add(s.name, 1000*i+k, s.make)
		}
	}
	for i, s := range trials {
		add(s.name, 100+i, s.make)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	long := *stressFor
	if testing.Short() {
		long = min(long, 300*time.Millisecond)
	}
	end := time.Now().Add(long)
	var wg sync.WaitGroup
	for g := range stressGoroutines {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(g)))
			for time.Now().Before(end) && !t.Failed() {
				some := make([]*sharedCall, 8)
				for i := range some {
					some[i] = calls[r.IntN(len(calls))]
					if r.IntN(2) == 0 {
						some[i] = calls[r.IntN(3*len(small))]
					}
				}
				depths := []int{r.IntN(200), r.IntN(8), r.IntN(60)}
				var fresh sync.WaitGroup // a goroutine begins with a small stack
				fresh.Go(func() { stress(t, some, depths) })
				fresh.Wait()
			}
		})
	}
	wg.Wait()
}

func stress(t *testing.T, calls []*sharedCall, depths []int) {
	for i, c := range calls {
		depth := depths[i%len(depths)]
		var wrong error
		sum := atDepth(depth, func() {
			tensor.Scope(func() error { wrong = c.check(); return nil })
		})
		if wrong == nil && sum != depth*(depth+1)/2 {
			wrong = fmt.Errorf("the stack was overwritten")
		}
		if wrong != nil {
			t.Errorf("%s, %d frames down: %v", c.name, depth, wrong)
			return
		}
	}
}

func (c *sharedCall) check() error {
	for i, x := range c.call(c.in) {
		got, err := x.Contiguous().Bytes()
		if err != nil {
			return err
		}
		if !bytes.Equal(got, c.want[i]) {
			return fmt.Errorf("result %d is another than alone", i)
		}
	}
	return nil
}
