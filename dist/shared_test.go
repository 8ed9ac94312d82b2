package dist_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/shm"
	"github.com/sinter-go/sinter/runtime/stream"
	"github.com/sinter-go/sinter/tests/patience"
	"github.com/sinter-go/sinter/tests/self"
)

// shareVariable has this program be another process that shares or opens tensors.
const shareVariable = "SINTER_TEST_SHARE"

// other is that process, if the environment says so: it answers each line that it reads, and
// does not return then.
func other() {
	if os.Getenv(shareVariable) == "" {
		return
	}
	var s *dist.Shared
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		answer, err := "done", error(nil)
		switch words[0] {
		case "share":
			if s, err = dist.Share(tensor.Ones([]int{1000}, tensor.On(place(words[1])))); err == nil {
				answer = s.Name()
			}
		case "open":
			s, err = dist.OpenShared(words[1])
		case "sum":
			err = s.Wait()
			if err == nil {
				x, sum := s.Tensor(), 0.0
				if len(words) > 2 { // on another device
					x = x.To(place(words[2]))
				}
				sum, err = x.Sum().Item()
				answer = fmt.Sprint(sum)
			}
		case "add":
			x := s.Tensor()
			if err = x.AddScalarInPlace(1); err == nil {
				err = stream.Current(x.Device()).Synchronize(context.Background())
			}
		case "close":
			err = s.Close()
		}
		if err != nil {
			answer = "error: " + err.Error()
		}
		fmt.Println(answer)
	}
	os.Exit(0)
}

// place returns the device of a name that a test gives.
func place(name string) device.Device {
	return map[string]device.Device{"cpu": device.CPU, "sim": device.Sim(2), "cuda": device.CUDA(0)}[name]
}

// places are the names of the devices whose memory is shared in these tests.
func places(t testing.TB) []string {
	if *kindName == "cuda" {
		accelerators(t, 1)
		return []string{"cuda"}
	}
	return []string{"cpu", "sim"}
}

// A partner is another process.
type partner struct {
	t       testing.TB
	process *exec.Cmd
	in      io.Writer
	out     *bufio.Reader
}

func newPartner(t testing.TB) *partner {
	t.Helper()
	p := &partner{t: t, process: self.Command(t, []string{shareVariable + "=1"})}
	p.process.Stderr = os.Stderr
	in, err := p.process.StdinPipe()
	must(t, err)
	out, err := p.process.StdoutPipe()
	must(t, err)
	p.in, p.out = in, bufio.NewReader(out)
	must(t, p.process.Start())
	t.Cleanup(p.kill)
	return p
}

// ask has the process do something, and returns its answer.
func (p *partner) ask(format string, args ...any) string {
	p.t.Helper()
	_, err := fmt.Fprintf(p.in, format+"\n", args...)
	must(p.t, err)
	answer, err := p.out.ReadString('\n')
	must(p.t, err)
	return strings.TrimSpace(answer)
}

// kill ends the process without notice.
func (p *partner) kill() {
	_ = p.process.Process.Kill() // it may have ended
	_ = p.process.Wait()
}

// sharing skips where memory cannot be shared at all.
func sharing(t testing.TB) {
	t.Helper()
	f, err := shm.Publish(nil)
	if err != nil {
		t.Skip(err)
	}
	must(t, f.Close())
}

// TestShared has two processes write what the other reads.
func TestShared(t *testing.T) {
	sharing(t)
	for _, on := range places(t) {
		t.Run(on, func(t *testing.T) {
			s, err := dist.Share(tensor.Ones([]int{1000}, tensor.On(place(on))))
			must(t, err)
			p := newPartner(t)
			equal(t, "open", p.ask("open %s", s.Name()), "done")
			equal(t, "what the other sees", p.ask("sum"), "1000")
			w := s.Tensor()
			must(t, w.MulScalarInPlace(2))
			must(t, s.Record())
			equal(t, "what the other sees of a change", p.ask("sum"), "2000")
			equal(t, "add", p.ask("add"), "done")
			sum, err := w.Sum().Item()
			must(t, err)
			w.Release() // a later test counts memory
			equal(t, "what the other wrote", sum, 3000.0)
			equal(t, "close", p.ask("close"), "done")
			contains(t, errors.New(p.ask("sum")), "closed")
			must(t, s.Close())
			must(t, s.Close())
			if err := s.Tensor().Err(); !errors.Is(err, dist.ErrCall) {
				t.Errorf("the tensor of what is closed: %v", err)
			}
		})
	}
}

// TestSharedCompiled: a program that captures a shared tensor sees what another process writes
// to it, also where a device would keep other forms of a weight that nobody writes.
func TestSharedCompiled(t *testing.T) {
	sharing(t)
	s, err := dist.Share(tensor.Ones([]int{96, 160}))
	must(t, err)
	w := s.Tensor()
	f := compile.Step(func(x ...tensor.Tensor) (tensor.Tensor, error) {
		y := x[0].MatMul(w)
		return y, y.Err()
	}, compile.Captures())
	defer f.Close()
	p := newPartner(t)
	equal(t, "open", p.ask("open %s", s.Name()), "done")
	for round := 1; round <= 3; round++ {
		for range 3 {
			y, err := f.Call(tensor.Ones([]int{64, 96}))
			must(t, err)
			sum, err := y.Sum().Item()
			must(t, err)
			equal(t, "sum of a product with what the other wrote", sum, float64(64*160*96*round))
		}
		equal(t, "add", p.ask("add"), "done")
	}
	equal(t, "close", p.ask("close"), "done")
	must(t, s.Close())
}

// TestSharedMemoryStays closes in the maker what another process has open: its memory goes
// back when that one is killed, and what handles keep before that does not.
func TestSharedMemoryStays(t *testing.T) {
	sharing(t)
	onSimulated(t)
	drv, err := device.DriverOf(device.KindSim)
	must(t, err)
	free := func() int64 {
		n, _, err := drv.MemoryInfo(place("sim").Index)
		must(t, err)
		return n
	}
	if !patience.Until(t, func() bool { return dist.InLimbo() == 0 }) { // of tests before this one
		t.Fatal("memory that was shared before does not go back")
	}
	x := tensor.Ones([]int{1000}, tensor.On(place("sim")))
	before := free()
	s, err := dist.Share(x)
	must(t, err)
	p := newPartner(t)
	equal(t, "open", p.ask("open %s", s.Name()), "done")
	kept := s.Tensor()
	must(t, s.Close())
	equal(t, "memory that a handle keeps", before-free(), int64(4000))
	kept.Release()
	equal(t, "memory that another process has open", before-free(), int64(4000))
	equal(t, "another process after it was closed", strings.Contains(p.ask("sum"), dist.ErrGone.Error()), true)
	p.kill()
	if !patience.Until(t, func() bool { return free() == before }) {
		t.Errorf("%d bytes did not go back", before-free())
	}
}

// TestSharedMakerGone kills the process that shared a tensor.
func TestSharedMakerGone(t *testing.T) {
	sharing(t)
	for _, on := range places(t) {
		t.Run(on, func(t *testing.T) {
			p := newPartner(t)
			name := p.ask("share %s", on)
			s, err := dist.OpenShared(name)
			must(t, err)
			must(t, s.Wait())
			sum, err := s.Tensor().Sum().Item()
			must(t, err)
			equal(t, "sum", sum, 1000.0)
			p.kill()
			for what, err := range map[string]error{"Tensor": s.Tensor().Err(), "Wait": s.Wait()} {
				if !errors.Is(err, dist.ErrGone) {
					t.Errorf("%s: %v", what, err)
				}
				contains(t, err, fmt.Sprintf("process %d", p.process.Process.Pid))
			}
			if _, err := dist.OpenShared(name); !errors.Is(err, dist.ErrGone) {
				t.Errorf("opening it: %v", err)
			}
			must(t, s.Close())
		})
	}
}

// TestSharedRefuses shares and opens what does not serve.
func TestSharedRefuses(t *testing.T) {
	sharing(t)
	if _, err := dist.Share(tensor.Ones([]int{0})); !errors.Is(err, dist.ErrCall) {
		t.Errorf("no elements: %v", err)
	}
	if _, err := dist.Share(tensor.Ones([]int{2}).Add(tensor.Ones([]int{3}))); err == nil {
		t.Error("an error was shared")
	}
	s, err := dist.Share(tensor.Ones([]int{2}))
	must(t, err)
	defer s.Close()
	if _, err := dist.OpenShared(s.Name()); !errors.Is(err, dist.ErrCall) {
		t.Errorf("in the process that shared it: %v", err)
	}
	if err := s.Wait(); !errors.Is(err, dist.ErrCall) {
		t.Errorf("the maker waits: %v", err)
	}
	for _, name := range []string{"", "/etc/hostname", "/proc/1/fd/0", "/proc/0/fd/0", "/proc/999999999/fd/3"} {
		if _, err := dist.OpenShared(name); err == nil {
			t.Errorf("%q was opened", name)
		}
	}
}

// TestSharedDropped has the last handle on a shared tensor be found dead while the ranks of a
// group wait for one that allocates: giving the memory back waits for its device, which waits
// for that rank.
func TestSharedDropped(t *testing.T) {
	sharing(t)
	onSimulated(t)
	devices := accelerators(t, 3)
	drv, err := device.DriverOf(device.KindSim)
	must(t, err)
	free := func() int64 {
		n, _, err := drv.MemoryInfo(devices[2].Index)
		must(t, err)
		return n
	}
	x := tensor.Ones([]int{1000}, tensor.On(devices[2]))
	before := free()
	var shared *dist.Shared
	core.OutsideScope(func() {
		shared, err = dist.Share(x)
		must(t, err)
		shared.Tensor() // nobody releases it
	})
	must(t, shared.Close())
	must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
		x := tensor.Ones([]int{4}, tensor.On(g.Device()))
		if g.Rank() == 0 {
			time.Sleep(10 * time.Millisecond) // for the others to wait
			for range 5 {
				runtime.GC()
				x = tensor.Ones([]int{4}, tensor.On(g.Device()))
			}
		}
		return g.AllReduce(x, dist.Sum).Synchronize(context.Background())
	})...))
	if !patience.Until(t, func() bool {
		runtime.GC()
		tensor.Ones([]int{4}, tensor.On(devices[0])).Release()
		return free() >= before
	}) {
		t.Errorf("%d bytes did not go back", before-free())
	}
}
