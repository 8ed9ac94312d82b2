package data_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
	"github.com/sinter-go/sinter/tests/patience"
)

// counted returns a dataset of n samples: sample i is [i, -i] with label 10 i.
func counted(t testing.TB, n int) data.Dataset {
	t.Helper()
	x, y := make([]int64, 0, 2*n), make([]int64, 0, n)
	for i := range int64(n) {
		x, y = append(x, i, -i), append(y, 10*i)
	}
	d, err := data.Tensors(tensor.From(x, n, 2), tensor.From(y))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// epoch returns the first column of the first field of each batch of an epoch,
// and checks that the fields belong together.
func epoch(t testing.TB, l *data.Loader) [][]int64 {
	t.Helper()
	var out [][]int64
	for batch, err := range l.Epoch(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		x, y := ints(t, batch[0]), ints(t, batch[1])
		var first []int64
		for i, label := range y {
			if x[2*i] != -x[2*i+1] || label != 10*x[2*i] {
				t.Fatalf("fields do not belong together: %v %v", x, y)
			}
			first = append(first, x[2*i])
		}
		out = append(out, first)
		if d := l.Device.Resolve(); batch[0].Device() != d || batch[1].Device() != d {
			t.Fatalf("batch on %s, want %s", batch[0].Device(), d)
		}
	}
	return out
}

// TestNilContext loops without a context, as with one that does not end.
func TestNilContext(t *testing.T) {
	var none context.Context
	for _, ahead := range []int{0, 2} {
		l := &data.Loader{Dataset: counted(t, 6), BatchSize: 2, Prefetch: ahead}
		batches := 0
		for _, err := range l.Epoch(none) {
			if err != nil {
				t.Fatal(err)
			}
			batches++
		}
		if batches != 3 {
			t.Errorf("%d batches, want 3", batches)
		}
	}
}

func TestLoaderOrder(t *testing.T) {
	for _, c := range []struct {
		name   string
		loader data.Loader
		want   [][]int64
	}{
		{"last batch is short", data.Loader{BatchSize: 3}, [][]int64{{0, 1, 2}, {3, 4, 5}, {6}}},
		{"drop last", data.Loader{BatchSize: 3, DropLast: true}, [][]int64{{0, 1, 2}, {3, 4, 5}}},
		{"prefetch", data.Loader{BatchSize: 4, Prefetch: 1}, [][]int64{{0, 1, 2, 3}, {4, 5, 6}}},
		{"prefetch more than there is", data.Loader{BatchSize: 4, Prefetch: 9}, [][]int64{{0, 1, 2, 3}, {4, 5, 6}}},
		{"one batch", data.Loader{BatchSize: 100}, [][]int64{{0, 1, 2, 3, 4, 5, 6}}},
		{"drop all", data.Loader{BatchSize: 100, DropLast: true, Prefetch: 2}, nil},
		{"on a device", data.Loader{BatchSize: 4, Device: device.Sim(1)}, [][]int64{{0, 1, 2, 3}, {4, 5, 6}}},
		{"prefetch on a device", data.Loader{BatchSize: 4, Device: device.Sim(1), Prefetch: 2}, [][]int64{{0, 1, 2, 3}, {4, 5, 6}}},
		{"pinning without a GPU", data.Loader{BatchSize: 4, Pin: true}, [][]int64{{0, 1, 2, 3}, {4, 5, 6}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.loader.Dataset = counted(t, 7)
			if diff := cmp.Diff(c.want, epoch(t, &c.loader)); diff != "" {
				t.Error(diff)
			}
			if c.loader.Len() != len(c.want) {
				t.Errorf("Len is %d, there are %d batches", c.loader.Len(), len(c.want))
			}
		})
	}
}

func TestLoaderShuffle(t *testing.T) {
	run := func(seed int64, prefetch int) (epochs [][][]int64) {
		random.With(random.New(seed), func() error {
			l := &data.Loader{Dataset: counted(t, 50), BatchSize: 50, Shuffle: true, Prefetch: prefetch}
			epochs = append(epochs, epoch(t, l), epoch(t, l))
			return nil
		})
		return epochs
	}
	one := run(1, 0)
	if diff := cmp.Diff(one, run(1, 3)); diff != "" {
		t.Error("prefetching changes the order:", diff)
	}
	if cmp.Equal(one, run(2, 0)) {
		t.Error("another seed gives the same order")
	}
	if cmp.Equal(one[0], one[1]) {
		t.Error("both epochs have the same order")
	}
	sorted := slices.Sorted(slices.Values(one[0][0]))
	for i, x := range sorted {
		if x != int64(i) {
			t.Fatalf("samples of a shuffled epoch: %v", sorted)
		}
	}
	random.With(random.New(1), func() error {
		before := random.Current().State()
		epoch(t, &data.Loader{Dataset: counted(t, 5), BatchSize: 2})
		if after := random.Current().State(); after != before {
			t.Errorf("an epoch in order changed the generator from %+v to %+v", before, after)
		}
		return nil
	})
}

// noisy is a dataset that draws random numbers.
type noisy struct{}

func (noisy) Len() int { return 6 }
func (noisy) Batch(indices []int) ([]tensor.Tensor, error) {
	return []tensor.Tensor{tensor.Randint([]int{len(indices), 4}, 0, 1<<30)}, nil
}

func TestLoaderRandomDataset(t *testing.T) {
	run := func(prefetch int) (drawn []int64) {
		random.With(random.New(3), func() error {
			l := &data.Loader{Dataset: noisy{}, BatchSize: 2, Shuffle: true, Prefetch: prefetch}
			for range 2 {
				for batch, err := range l.Epoch(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					tensor.Rand([]int{3}) // what a model draws makes no difference
					drawn = append(drawn, ints(t, batch[0])...)
				}
			}
			return nil
		})
		return drawn
	}
	drawn := run(0)
	if diff := cmp.Diff(drawn, run(2)); diff != "" {
		t.Error("prefetching changes what a dataset draws:", diff)
	}
	slices.Sort(drawn)
	if n := len(slices.Compact(drawn)); n != 48 {
		t.Errorf("%d of 48 numbers are distinct", n)
	}
}

// broken is a dataset whose second batch fails.
type broken struct {
	f func() ([]tensor.Tensor, error)
}

func (broken) Len() int { return 9 }
func (b broken) Batch(indices []int) ([]tensor.Tensor, error) {
	if indices[0] == 0 {
		return []tensor.Tensor{tensor.Zeros([]int{len(indices)})}, nil
	}
	return b.f()
}

func TestLoaderErrors(t *testing.T) {
	cause := errors.New("disk on fire")
	zeros := func(shapes ...[]int) func() ([]tensor.Tensor, error) {
		return func() (ts []tensor.Tensor, _ error) {
			for _, s := range shapes {
				ts = append(ts, tensor.Zeros(s))
			}
			return ts, nil
		}
	}
	set := func(f func() ([]tensor.Tensor, error)) data.Loader {
		return data.Loader{Dataset: broken{f}, BatchSize: 3}
	}
	released := tensor.Zeros([]int{3})
	released.Release()
	for _, c := range []struct {
		name    string
		loader  data.Loader
		batches int
		text    string
	}{
		{"dataset", set(func() ([]tensor.Tensor, error) { return nil, cause }), 1, "disk on fire"},
		{"error tensor", set(zeros([]int{3}, []int{-1})), 1, "field 1 of batch 1"},
		{"zero tensor", set(func() ([]tensor.Tensor, error) { return make([]tensor.Tensor, 1), nil }), 1, "zero Tensor"},
		{"released tensor", set(func() ([]tensor.Tensor, error) { return []tensor.Tensor{released}, nil }), 1, "released"},
		{"wrong length", set(zeros([]int{4})), 1, "shape [4] for 3 samples"},
		{"scalar field", set(zeros([]int{})), 1, "shape [] for 3 samples"},
		{"no dataset", data.Loader{BatchSize: 1}, 0, "a loader without a Dataset"},
		{"no batch size", data.Loader{Dataset: counted(t, 3)}, 0, "BatchSize 0, which must be at least 1"},
		{"negative prefetch", data.Loader{Dataset: counted(t, 3), BatchSize: 1, Prefetch: -1}, 0, "Prefetch -1, which must not be negative"},
		{"no such device", data.Loader{Dataset: counted(t, 3), BatchSize: 1, Device: device.Sim(7)}, 0, "sim:7"},
	} {
		for _, prefetch := range []int{0, 2} {
			l := c.loader
			if l.Prefetch == 0 {
				l.Prefetch = prefetch
			}
			batches, failures := 0, 0
			for fields, err := range l.Epoch(t.Context()) {
				if err == nil {
					batches++
					continue
				}
				failures++
				if fields != nil || !strings.Contains(err.Error(), c.text) {
					t.Errorf("%s: error %q, want one with %q", c.name, err, c.text)
				}
			}
			if batches != c.batches || failures != 1 {
				t.Errorf("%s, prefetch %d: %d batches and %d errors, want %d and 1", c.name, prefetch, batches, failures, c.batches)
			}
		}
	}
	if n := (&data.Loader{}).Len(); n != 0 {
		t.Errorf("a loader that cannot work has %d batches", n)
	}
}

// settled waits until there are no more goroutines than before.
func settled(t *testing.T, before int) {
	t.Helper()
	if !patience.Until(t, func() bool { return runtime.NumGoroutine() <= before }) {
		t.Errorf("%d goroutines, there were %d", runtime.NumGoroutine(), before)
	}
}

func TestLoaderEarlyEnd(t *testing.T) {
	l := &data.Loader{Dataset: counted(t, 100), BatchSize: 1, Prefetch: 4, Device: device.Sim(0)}
	epoch(t, l) // starts what stays: pools and streams
	before := runtime.NumGoroutine()
	for range 20 {
		for _, err := range l.Epoch(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	settled(t, before)
	for _, prefetch := range []int{0, 4} {
		l.Prefetch = prefetch
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n, failed := 0, error(nil)
		for _, err := range l.Epoch(ctx) {
			if err != nil {
				failed = err
				continue
			}
			if n++; n == 3 {
				cancel()
			}
		}
		if !errors.Is(failed, context.Canceled) || n > 3+prefetch {
			t.Errorf("prefetch %d: %d batches and %v after a cancel at batch 3", prefetch, n, failed)
		}
	}
	settled(t, before)
	func() {
		defer func() { _ = recover() }()
		for range l.Epoch(t.Context()) {
			panic("in the loop's body")
		}
	}()
	settled(t, before)
}

// TestLoaderMemory checks that what an epoch prepared and nobody saw goes back.
func TestLoaderMemory(t *testing.T) {
	dev := device.Sim(1)
	driver, err := device.DriverOf(device.KindSim)
	if err != nil {
		t.Fatal(err)
	}
	free := func() int64 {
		n, _, err := driver.MemoryInfo(dev.Index)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	l := &data.Loader{Dataset: counted(t, 64), BatchSize: 4, Prefetch: 4, Device: dev}
	pass := func() {
		n := 0
		for batch, err := range l.Epoch(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			for _, field := range batch {
				field.Release()
			}
			if n++; n == 5 {
				break
			}
		}
	}
	pass()
	before := free()
	for range 10 {
		pass()
	}
	if after := free(); after != before {
		t.Errorf("%d bytes are free after ten more epochs, there were %d", after, before)
	}
}

func TestDatasets(t *testing.T) {
	x := tensor.From([]int64{1, 2, 3, 4})
	for _, c := range []struct {
		name string
		f    func() (data.Dataset, error)
		text string
	}{
		{"no tensor", func() (data.Dataset, error) { return data.Tensors() }, "at least one"},
		{"scalar", func() (data.Dataset, error) { return data.Tensors(tensor.FromScalar(1)) }, "scalar"},
		{"lengths", func() (data.Dataset, error) { return data.Tensors(x, tensor.Zeros([]int{3})) }, "field 1 has 3 samples, field 0 has 4"},
		{"error tensor", func() (data.Dataset, error) { return data.Tensors(tensor.Tensor{}) }, "zero Tensor"},
		{"subset", func() (data.Dataset, error) { return data.Subset(counted(t, 3), []int{0, 3}) }, "sample 3 of a dataset of 3"},
	} {
		if _, err := c.f(); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.text)
		}
	}
	d := counted(t, 5)
	if _, err := d.Batch([]int{5}); err == nil {
		t.Error("sample 5 of 5 gives no error")
	}
	sub, err := data.Subset(d, []int{4, 0, 0})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]int64{{4, 0}, {0}}, epoch(t, &data.Loader{Dataset: sub, BatchSize: 2})); diff != "" {
		t.Error(diff)
	}
}

// counting is a dataset of the test's own over another, without the abilities of that.
type counting struct{ data.Dataset }

// TestPinnedBatches: with Pin all batches are page-locked, those of datasets that
// gather there at once as those that are copied there, and equal.
func TestPinnedBatches(t *testing.T) {
	x := tensor.Arange(0, 24, 1).Reshape(8, 3).Transpose(0, 1).Contiguous().Transpose(0, 1) // with gaps in its rows
	whole, err := data.Tensors(x, x.ToType(tensor.Bool), tensor.Empty([]int{8, 0}))
	if err != nil {
		t.Fatal(err)
	}
	part, err := data.Subset(whole, []int{7, 1, 5, 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		of   data.Dataset
		want [][]int64
	}{
		{"tensors", whole, [][]int64{{0, 1, 2, 3, 4, 5, 6, 7, 8}, {9, 10, 11, 12, 13, 14, 15, 16, 17}, {18, 19, 20, 21, 22, 23}}},
		{"subset", part, [][]int64{{21, 22, 23, 3, 4, 5, 15, 16, 17}, {9, 10, 11}}},
		{"another's", counting{part}, [][]int64{{21, 22, 23, 3, 4, 5, 15, 16, 17}, {9, 10, 11}}},
	} {
		for _, prefetch := range []int{0, 2} {
			l := &data.Loader{Dataset: c.of, BatchSize: 3, Pin: true, Prefetch: prefetch, Workers: 2}
			var got [][]int64
			for batch, err := range l.Epoch(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				for k, f := range batch {
					if !f.IsPinned() || f.Device() != device.CPU {
						t.Errorf("%s, prefetch %d: field %d is on %s, pinned %t", c.name, prefetch, k, f.Device(), f.IsPinned())
					}
				}
				got = append(got, ints(t, batch[0]))
				for _, f := range batch {
					f.Release()
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s, prefetch %d (-want +got):\n%s", c.name, prefetch, diff)
			}
		}
	}
}

// TestDatasetOwnsFields checks that neither a scope nor a release of the tensors
// given ends a dataset.
func TestDatasetOwnsFields(t *testing.T) {
	var d data.Dataset
	tensor.Scope(func() error {
		var err error
		if d, err = data.Tensors(tensor.Rand([]int{4}).RequireGrad()); err != nil {
			t.Fatal(err)
		}
		return nil
	})
	batch, err := d.Batch([]int{2})
	if err != nil {
		t.Fatal(err)
	}
	if batch[0].RequiresGrad() {
		t.Error("a batch takes part in differentiation")
	}
}
