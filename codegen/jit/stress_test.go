//go:build linux && amd64

package jit_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/codegen/amd64"
	"github.com/sinter-go/sinter/codegen/jit"
	"github.com/sinter-go/sinter/codegen/x86"
	"github.com/sinter-go/sinter/codegen/x86/x86test"
	"github.com/sinter-go/sinter/tests/self"
)

var stress = flag.Duration("stress", 2*time.Second, "how long TestStress calls functions")

// TestStress calls functions from many goroutines, whose stacks grow below them, while
// the collector runs all the time, the profiler and signals interrupt, and blocks come and
// go. The results are those of a quiet call. With -stress=3m, and once more with the race
// detector, it is what says that made code can be trusted.
func TestStress(t *testing.T) {
	for _, isa := range x86.ISAs {
		t.Run(isa.String(), func(t *testing.T) { stressed(t, isa) })
	}
}

func stressed(t *testing.T, isa x86.ISA) {
	b := functions(t, isa)
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	if err := pprof.StartCPUProfile(io.Discard); err == nil {
		defer pprof.StopCPUProfile()
	}
	var c x86test.Case
	for _, c = range x86test.Cases() {
		if c.Name == "callF32" {
			break
		}
	}
	f := loopOf(t, b, c, "", isa)
	const n = 4099
	want := make([]float32, n)
	apply(f, input(n), want)
	var calls, blocks, signals atomic.Int64
	var wait sync.WaitGroup
	long := *stress
	if testing.Short() {
		long = min(long, 50*time.Millisecond)
	}
	end := time.Now().Add(long)
	for g := range 8 {
		wait.Go(func() {
			x, y := input(n), make([]float32, n)
			for depth := g; time.Now().Before(end); depth = (depth + 37) % 400 {
				grown := make(chan struct{})
				go func() { // on a stack that is small, and grows
					deep(depth, func() { apply(f, x, y) })
					close(grown)
				}()
				<-grown
				if calls.Add(1); !slices.Equal(y, want) {
					t.Errorf("goroutine %d: a result differs", g)
					return
				}
			}
		})
	}
	wait.Go(func() { // blocks that come and go
		list, err := x86test.Functions(isa)
		for err == nil && time.Now().Before(end) {
			_, err = jit.Load(list[:10]...)
			blocks.Add(1)
			runtime.GC()
		}
		if err != nil {
			t.Error(err)
		}
	})
	wait.Go(func() { signals.Add(interrupt(end)) })
	wait.Wait()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("%d calls, %d blocks, %d signals, %d collections so far", calls.Load(), blocks.Load(), signals.Load(), m.NumGC)
}

// interrupt sends the process signals that a handler takes until end, and returns how many.
func interrupt(end time.Time) (sent int64) {
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGUSR1)
	defer signal.Stop(got)
	for ; time.Now().Before(end); sent++ {
		syscall.Kill(os.Getpid(), syscall.SIGUSR1)
		<-got
	}
	return sent
}

// input is n numbers that differ.
func input(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i%97)*0.125 - 6
	}
	return x
}

// apply calls a loop of one operand.
func apply(f loop, x, y []float32) {
	p := []unsafe.Pointer{unsafe.Pointer(&y[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&x[0])}
	f(len(x), p, nil, 0)
}

// deep calls f below some frames of a kibibyte.
func deep(frames int, f func()) byte {
	var pad [1024]byte
	if frames == 0 {
		f()
		return pad[0]
	}
	pad[frames%len(pad)] = 1
	return deep(frames-1, f) + pad[(frames+1)%len(pad)]
}

// TestSwitchedOff sees that SINTER_JIT=0 is an error that callers can tell.
func TestSwitchedOff(t *testing.T) {
	if os.Getenv("SINTER_JIT") == "0" {
		if _, err := jit.Load(); err == nil || !strings.Contains(err.Error(), "SINTER_JIT is 0") {
			t.Errorf("error is %v", err)
		}
		return
	}
	if out, err := self.Command(t, []string{"SINTER_JIT=0"}, "-test.run=^TestSwitchedOff$").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestPerfMap sees that functions are named for perf.
func TestPerfMap(t *testing.T) {
	if os.Getenv("SINTER_PERF_MAP") == "1" {
		functions(t, x86.AVX2)
		file := "/tmp/perf-" + strconv.Itoa(os.Getpid()) + ".map"
		text, err := os.ReadFile(file)
		os.Remove(file)
		if err != nil || !bytes.Contains(text, []byte(" sinter·callF32AVX2\n")) {
			t.Errorf("map of perf: %v, %d bytes", err, len(text))
		}
		return
	}
	if out, err := self.Command(t, []string{"SINTER_PERF_MAP=1"}, "-test.run=^TestPerfMap$").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestRefusals sees that what cannot run here is an error.
func TestRefusals(t *testing.T) {
	if err := jit.Available(); err != nil {
		t.Skip(err)
	}
	block := func(text string) amd64.Block {
		var b amd64.Block
		b.Asm("%s", text)
		return b
	}
	for _, c := range []struct {
		f    x86.Func
		want string
	}{
		{x86.Func{Name: "·f", Params: "n int", Frame: 1 << 20, Body: block("RET")}, "a frame of 1048576 bytes"},
		{x86.Func{Name: "·f", Params: "n int", Body: block("JMP nowhere\nRET")}, "no label nowhere"},
		{x86.Func{Name: "·f", Params: "n int", Body: block("CALL ·g(SB)\nRET")}, "no function ·g"},
		{x86.Func{Name: "·f", Params: "n int", Body: block("VFOO X0, X1\nRET")}, "no instruction VFOO"},
		{x86.Func{Name: "·f", Params: "n int", Body: block("VADDPS K1, X1, X2\nRET")}, "no encoding of VADDPS K1, X1, X2"},
	} {
		if _, err := jit.Load(&c.f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// BenchmarkCall times the call of a loop over nothing.
func BenchmarkCall(b *testing.B) {
	block := functions(b, x86.AVX2)
	f, err := block.Func("sumF32AVX2")
	if err != nil {
		b.Fatal(err)
	}
	x := input(8)
	p := []unsafe.Pointer{unsafe.Pointer(&x[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&x[0])}
	for b.Loop() {
		f.Loop(0, p, nil, 0)
	}
}

// BenchmarkLoad times encoding and mapping all programs of x86test.
func BenchmarkLoad(b *testing.B) {
	list, err := x86test.Functions(x86.AVX2)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := jit.Load(list...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(list)), "us/function")
}
