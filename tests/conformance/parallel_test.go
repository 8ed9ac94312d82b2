package conformance_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

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
	random.With(random.New(11), func() {
		m = nn.NewSequential(nn.NewLinear(3, 5), nn.Func(T.Tanh), nn.NewLinear(5, 2))
		err = nn.To(m, d)
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

// replicas trains one step on a batch scattered over the devices: the outputs,
// gathered on the first device, and every replica's gradients, reduced there.
func replicas(t testing.TB, list []device.Device, x, y T) (gathered T, reduced [][]float64) {
	t.Helper()
	outs, grads := make([]T, len(list)), make([][]T, len(list))
	size := x.Size(0) / len(list)
	concurrently(t, list, func(i int, d device.Device) error {
		m, err := network(d)
		if err != nil {
			return err
		}
		share := m.Forward(x.Narrow(0, i*size, size).To(d))
		// The mean over the whole batch is the sum of the shares' parts of it.
		loss := share.Sub(y.Narrow(0, i*size, size).To(d)).Square().Sum().DivScalar(y.NumElements())
		if err := loss.Backward(); err != nil {
			return err
		}
		outs[i] = share.Detach().To(list[0])
		if err := outs[i].Err(); err != nil {
			return err
		}
		grads[i], err = gradients(m, list[0])
		return err
	})
	for k := range grads[0] {
		sum := grads[0][k]
		for _, other := range grads[1:] {
			sum = sum.Add(other[k])
		}
		reduced = append(reduced, values(t, sum))
	}
	return tensor.Cat(outs, 0), reduced
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

// One process drives several devices at once: goroutines that scatter a batch,
// run a replica each and gather the outputs give what one device gives for the whole
// batch, and the reduced gradients are those of the whole batch.
//
// Differs: the reference document calls this DataParallel and weighs it against the
// interpreter's lock, which Go has not. A module that does the same as these lines is
// not part of the library yet.
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
	gathered, reduced := replicas(t, list, x, y)
	equal(t, "where the outputs are gathered", gathered.Device(), list[0])
	near(t, "outputs", values(t, gathered), values(t, out))
	for k := range want {
		near(t, fmt.Sprintf("gradient %d", k), reduced[k], values(t, want[k]))
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

// Replicas whose gradients are averaged and that then step alike stay equal
// without their parameters being sent again, which is what distributed data parallel
// training rests on.
//
// Differs: training over several processes is not part of the library yet.
func TestS74(t *testing.T) {
	list := devices(t, 2)
	x, y := tensor.Randn([]int{8, 3}), tensor.Randn([]int{8, 2})
	models := make([]*nn.Sequential, len(list))
	for i, d := range list {
		var err error
		models[i], err = network(d)
		must(t, err)
	}
	for range 3 {
		grads := make([][]T, len(list))
		concurrently(t, list, func(i int, d device.Device) (err error) {
			if err := nn.ZeroGrad(models[i]); err != nil {
				return err
			}
			loss := models[i].Forward(x.Narrow(0, 4*i, 4).To(d)).Sub(y.Narrow(0, 4*i, 4).To(d)).Square().Mean()
			if err := loss.Backward(); err != nil {
				return err
			}
			grads[i], err = gradients(models[i], list[0])
			return err
		})
		concurrently(t, list, func(i int, d device.Device) error {
			for k, p := range nn.Parameters(models[i]) {
				mean := grads[0][k].Add(grads[1][k]).DivScalar(2).To(d)
				var err error
				tensor.NoGrad(func() { err = p.SubInPlace(mean.MulScalar(0.1)) })
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	first, err := network(device.CPU)
	must(t, err)
	for k, p := range nn.Parameters(models[0]) {
		equal(t, "parameter of the second replica", values(t, nn.Parameters(models[1])[k].Tensor), values(t, p.Tensor))
		if v := values(t, p.Tensor); fmt.Sprint(v) == fmt.Sprint(values(t, nn.Parameters(first)[k].Tensor)) {
			t.Errorf("parameter %d did not change", k)
		}
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
		outer := device.With(d, func() {
			x := tensor.Zeros([]int{256 * (i + 1)}, tensor.On(current))
			meet <- struct{}{}
			for len(meet) < 2 { // both are in their guards
				time.Sleep(time.Millisecond)
			}
			if n := taken(d) - before[i]; x.Device() != d || n != int64(1024*(i+1)) {
				err = fmt.Errorf("%s: the tensor is on %s, and %d bytes were allocated", d, x.Device(), n)
			}
			x.Release()
		})
		return errors.Join(outer, err)
	})
}

// sum is what a child process does: it fills a tensor on the device whose index is
// in its environment, and prints the device and the sum.
func sum(t *testing.T) {
	rank, err := strconv.Atoi(os.Getenv("RANK"))
	must(t, err)
	d := device.Device{Kind: kind, Index: rank}
	v, err := tensor.Full([]int{8}, float64(rank+1), tensor.On(d)).Sum().Item()
	must(t, err)
	fmt.Println(d, v)
}

// A program can start a process for each device: each child learns its device
// from its environment and works on it alone.
//
// Differs: this takes os/exec and an environment variable; a launcher is not part of
// the library yet.
func TestS76(t *testing.T) {
	list := devices(t, 2)
	for i, d := range list {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			equal(t, "child", child(t, "sum", fmt.Sprint("RANK=", i)), fmt.Sprintf("%s %d", d, 8*(i+1)))
		})
	}
}

// A child process uses the devices on its own after its parent used them, and
// neither sees the other's tensors or figures.
//
// Differs: Go starts processes by running a program anew and never by fork alone, so
// there is no state of a driver to inherit, and none of the ways in which PyTorch's
// children go wrong. Tensors are not shared between processes.
func TestS77(t *testing.T) {
	dev := one(t)
	x := tensor.Ones([]int{1 << 10}, tensor.On(dev))
	before := memory.StatsOf(dev).Allocation.All.Allocated
	equal(t, "child", child(t, "sum", "RANK=0"), dev.String()+" 8")
	if n := memory.StatsOf(dev).Allocation.All.Allocated - before; n != 0 {
		t.Errorf("a child's %d allocations are in its parent's figures", n)
	}
	total, err := x.Sum().Item()
	must(t, err)
	equal(t, "the parent's tensor", total, 1024.0)
}
