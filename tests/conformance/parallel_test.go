package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/precision"
	"github.com/sinter-go/sinter/runtime/random"
	"github.com/sinter-go/sinter/runtime/stream"
	"github.com/sinter-go/sinter/tests/patience"
)

// concurrently calls f for every device at once, on a goroutine each.
func concurrently(t testing.TB, list []device.Device, f func(i int, d device.Device) error) {
	t.Helper()
	errs := make([]error, len(list))
	var all sync.WaitGroup
	for i, d := range list {
		all.Go(func() { errs[i] = f(i, d) })
	}
	all.Wait()
	must(t, errors.Join(errs...))
}

// network returns the same model each time, on d.
func network(d device.Device) (m *nn.Sequential, err error) {
	random.With(random.New(11), func() error {
		m = nn.NewSequential(nn.NewLinear(3, 5), nn.Func(T.Tanh), nn.NewLinear(5, 2))
		err = nn.To(m, d)
		return nil
	})
	return m, err
}

// gradients returns the gradients of a model's parameters, copied to dev.
func gradients(m *nn.Sequential, dev device.Device) (out []T, err error) {
	for name, p := range nn.Named(m) {
		g, ok := p.Grad()
		if !ok {
			return nil, fmt.Errorf("%s has no gradient", name)
		}
		out = append(out, g.To(dev))
	}
	return out, nil
}

// wholeFloat32 turns TF32 off until the test ends, so that a GPU's products are as
// exact as the CPU's.
func wholeFloat32(t testing.TB) {
	t.Helper()
	was := precision.MatmulTF32()
	precision.SetMatmulTF32(false)
	t.Cleanup(func() { precision.SetMatmulTF32(was) })
}

// near compares numbers that were rounded in different orders.
func near(t testing.TB, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d numbers, want %d", what, len(got), len(want))
		return
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-5*(1+math.Abs(want[i])) {
			t.Errorf("%s: element %d is %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

// One process drives several devices at once: dist.DataParallel scatters a batch,
// runs a replica on each device and gathers the outputs, which are what one device gives for
// the whole batch, and the gradients are those of the whole batch.
//
// Differs: the reference document weighs this against the interpreter's lock, which Go
// does not have. dist.Run with dist.DistributedDataParallel is the better way in one process,
// too: it does not copy the parameters in every pass.
func TestS72(t *testing.T) {
	list := devices(t, 2)
	wholeFloat32(t)
	x, y := tensor.Randn([]int{8, 3}), tensor.Randn([]int{8, 2})
	whole, err := network(device.CPU)
	must(t, err)
	out := whole.Forward(x)
	must(t, out.Sub(y).Square().Mean().Backward())
	want, err := gradients(whole, device.CPU)
	must(t, err)
	several, err := dist.NewDataParallel(list, func() (nn.Module, error) { return network(device.CPU) })
	must(t, err)
	gathered := several.Forward(x.To(list[0]))
	equal(t, "where the outputs are gathered", gathered.Device(), list[0])
	near(t, "outputs", values(t, gathered), values(t, out))
	must(t, gathered.Sub(y.To(list[0])).Square().Mean().Backward())
	got, err := gradients(several.Model.(*nn.Sequential), device.CPU)
	must(t, err)
	for k := range want {
		near(t, fmt.Sprintf("gradient %d", k), values(t, got[k]), values(t, want[k]))
	}
}

// All devices of the machine work at the same time in one process: a device
// that is busy holds up none of the others.
//
// Differs: the document's limit of eight GPUs was of its time; there is none here.
func TestS73(t *testing.T) {
	list := devices(t, 2)
	list = devices(t, device.Count(list[0].Kind))
	work := func(d device.Device) (float64, error) {
		x := tensor.Ones([]int{16}, tensor.On(d))
		return x.AddScalar(float64(d.Index)).Sum().Item()
	}
	concurrently(t, list, func(_ int, d device.Device) error { _, err := work(d); return err })
	release := hold(t, stream.Default(list[0]))
	done := make(chan struct{})
	go func() {
		defer close(done)
		concurrently(t, list[1:], func(_ int, d device.Device) error {
			sum, err := work(d)
			if err == nil && sum != float64(16*(1+d.Index)) {
				err = fmt.Errorf("%s sums to %v", d, sum)
			}
			return err
		})
	}()
	select {
	case <-done:
	case <-time.After(patience.Left(t)):
		t.Errorf("the other devices wait for %s", list[0])
	}
	release()
	<-done
}

// Replicas in dist.DistributedDataParallel, each of which is given a part of the
// batch, stay equal to the bit without their parameters being sent again, and are what one
// device makes of whole batches.
//
// Differs: the ranks may be goroutines of one process (dist.Run) as well as processes
// (dist.Init).
func TestS74(t *testing.T) {
	list := devices(t, 2)
	wholeFloat32(t)
	x, y := tensor.Randn([]int{8, 3}), tensor.Randn([]int{8, 2})
	step := func(m nn.Module, params []*nn.Parameter, x, y T) error {
		if err := m.Forward(x).Sub(y).Square().Mean().Backward(); err != nil {
			return err
		}
		for _, p := range params {
			g, _ := p.Grad()
			err := tensor.NoGrad(func() error { return p.SubInPlace(g.MulScalar(0.1)) })
			if err = errors.Join(err, p.ZeroGrad()); err != nil {
				return err
			}
		}
		return nil
	}
	const steps = 3
	whole, err := network(device.CPU)
	must(t, err)
	for range steps {
		must(t, step(whole, nn.Parameters(whole), x, y))
	}
	replicas := make([][][]float64, len(list))
	must(t, dist.Run(list, func(g *dist.Group) error {
		m, err := network(g.Device())
		if err != nil {
			return err
		}
		d, err := dist.NewDistributedDataParallel(g, m)
		if err != nil {
			return err
		}
		part := func(whole T) T { return whole.Narrow(0, 4*g.Rank(), 4).To(g.Device()) }
		for range steps {
			if err := step(d, nn.Parameters(m), part(x), part(y)); err != nil {
				return err
			}
		}
		for _, p := range nn.Parameters(m) {
			replicas[g.Rank()] = append(replicas[g.Rank()], values(t, p.Tensor))
		}
		return d.Close()
	}))
	equal(t, "the second replica", replicas[1], replicas[0])
	for k, p := range nn.Parameters(whole) {
		near(t, fmt.Sprintf("parameter %d", k), replicas[0][k], values(t, p.Tensor))
	}
}

// Goroutines that drive devices of one process run in parallel, and share
// nothing but what the program shares: each has its own current device, and the figures
// of a device count its own work alone.
//
// Differs: PyTorch takes a process for each GPU because threads share the interpreter;
// goroutines do not, so a goroutine for each is no slower.
func TestS75(t *testing.T) {
	list := devices(t, 2)
	for _, d := range list {
		live(t, d)
	}
	taken := func(d device.Device) int64 { return memory.StatsOf(d).AllocatedBytes.All.Allocated }
	before := []int64{taken(list[0]), taken(list[1])}
	current := device.Device{Kind: kind, Index: device.CurrentIndex}
	meet := make(chan struct{}, 2)
	concurrently(t, list, func(i int, d device.Device) error {
		var err error
		outer := device.With(d, func() error {
			x := tensor.Zeros([]int{256 * (i + 1)}, tensor.On(current))
			meet <- struct{}{}
			for len(meet) < 2 { // both are in their guards
				time.Sleep(time.Millisecond)
			}
			if n := taken(d) - before[i]; x.Device() != d || n != int64(1024*(i+1)) {
				err = fmt.Errorf("%s: the tensor is on %s, and %d bytes were allocated", d, x.Device(), n)
			}
			x.Release()
			return nil
		})
		return errors.Join(outer, err)
	})
}

// sum is what a child process does: it fills a tensor on the device that its launcher's
// environment gives it, and prints the device and the sum.
func sum(t *testing.T) {
	e, err := dist.FromEnvironment()
	must(t, err)
	d := device.Device{Kind: kind, Index: e.LocalRank}
	v, err := tensor.Full([]int{8}, float64(e.Rank+1), tensor.On(d)).Sum().Item()
	must(t, err)
	fmt.Println(d, v)
}

// A launcher starts a process for each device: each learns its rank and its device
// from its environment (dist.FromEnvironment) and works on it alone.
//
// Differs: torchrun, mpiexec, srun and indexed jobs of Kubernetes are understood, and
// dist.Spawn starts the program itself; there is no launcher beside it.
func TestS76(t *testing.T) {
	list := devices(t, 2)
	for i, d := range list {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			equal(t, "child", child(t, "sum", fmt.Sprint("RANK=", i), fmt.Sprint("LOCAL_RANK=", i), "WORLD_SIZE=2"), fmt.Sprintf("%s %d", d, 8*(i+1)))
		})
	}
}

// seen is what a child process does with a tensor that its parent shared: it prints the sum,
// and adds 1 to each element.
func seen(t *testing.T) {
	s, err := dist.OpenShared(os.Getenv(sharedVariable))
	must(t, err)
	defer s.Close()
	must(t, s.Wait())
	x := s.Tensor()
	sum, err := x.Sum().Item()
	must(t, err)
	must(t, x.AddScalarInPlace(1))
	must(t, stream.Current(x.Device()).Synchronize(context.Background()))
	fmt.Println(x.Device(), sum)
}

const sharedVariable = "SINTER_CONFORMANCE_SHARED"

// A child process uses the devices on its own after its parent used them, and
// neither sees the other's tensors or figures. What they share is said: a tensor of
// dist.Share, which the child opens by its name, has its elements in one memory of the device.
//
// Differs: Go starts processes by running a program anew and never by fork alone, so
// there is no state of a driver to inherit, and none of the ways in which PyTorch's
// children go wrong. A tensor is shared by what it is told, not by being sent through a queue.
func TestS77(t *testing.T) {
	dev := one(t)
	x := tensor.Ones([]int{1 << 10}, tensor.On(dev))
	before := memory.StatsOf(dev).Allocation.All.Allocated
	equal(t, "child", child(t, "sum", "RANK=0", "WORLD_SIZE=1"), dev.String()+" 8")
	if n := memory.StatsOf(dev).Allocation.All.Allocated - before; n != 0 {
		t.Errorf("a child's %d allocations are in its parent's figures", n)
	}
	total, err := x.Sum().Item()
	must(t, err)
	equal(t, "the parent's tensor", total, 1024.0)
	shared, err := dist.Share(x)
	must(t, err)
	equal(t, "child", child(t, "seen", sharedVariable+"="+shared.Name()), dev.String()+" 1024")
	total, err = shared.Tensor().Sum().Item()
	must(t, err)
	equal(t, "the shared tensor", total, 2048.0)
	must(t, shared.Close())
}
