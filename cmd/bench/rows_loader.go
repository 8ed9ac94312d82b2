package main

import (
	"context"
	"fmt"
	"math"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
)

// What an epoch of the loader's rows is.
const (
	loaderBatches = 16
	loaderWorkers = 4
)

// loaderRows are epochs over a dataset in host memory whose batches a GPU works on:
// with batches prepared and copied when they are asked for, and with both done ahead,
// beside the work. That is one product a batch, after which its loss is read: with
// more of it than preparation there would be little to gain.
func (w *workload) loaderRows() []row {
	const serial = "loader, serial"
	rows, columns := w.side/8, w.side/2
	ahead := fmt.Sprintf(", num_workers=%d, persistent_workers=True", loaderWorkers)
	return grouped(fmt.Sprintf("An epoch of %d batches of %d x %d float32, a product each", loaderBatches, rows, columns),
		measured(wallTime, milliseconds, []row{
			{name: serial, ours: epochs(rows, columns, data.Loader{Pin: true}), setup: torchLoader(rows, columns, ""), torch: "epoch()"},
			{name: "loader, pinned and overlapped", setup: torchLoader(rows, columns, ahead), torch: "epoch()",
				ours:    epochs(rows, columns, data.Loader{Pin: true, Prefetch: 2 * loaderWorkers, Workers: loaderWorkers}),
				targets: []target{atMost(0.75, serial), atMost(1, byPyTorch)}},
		}))
}

// torchLoader is Python that defines the same epoch, with more options of its loader.
func torchLoader(rows, columns int, options string) string {
	return fmt.Sprintf(`
from torch.utils.data import BatchSampler, DataLoader, SequentialSampler, TensorDataset
samples = TensorDataset(torch.rand(%[1]d * %[3]d, %[2]d))
batches = BatchSampler(SequentialSampler(samples), %[1]d, False)
w = torch.randn(%[2]d, %[2]d, device=device) / %[2]d**0.5
loader = DataLoader(samples, sampler=batches, batch_size=None, pin_memory=True%[4]s)

def epoch():
    for x, in loader:
        (x.to(device, non_blocking=True) @ w).sum().item()
`, rows, columns, loaderBatches, options)
}

// epochs makes passes with loader over batches of rows x columns random numbers.
func epochs(rows, columns int, loader data.Loader) maker {
	return func(o *ourSide) (call, error) {
		samples, err := data.Tensors(tensor.Rand([]int{rows * loaderBatches, columns}))
		if err != nil {
			return nil, err
		}
		l := loader
		l.Dataset, l.BatchSize, l.Device = samples, rows, o.dev
		w := tensor.Randn([]int{columns, columns}, tensor.On(o.dev)).DivScalar(math.Sqrt(float64(columns)))
		return func([]T) error {
			for batch, err := range l.Epoch(context.Background()) {
				if err != nil {
					return err
				}
				if err := work(batch[0], w); err != nil {
					return err
				}
			}
			return nil
		}, w.Err()
	}
}

// work multiplies x by w and reads the sum; it releases x.
func work(x, w T) error {
	_, err := tensor.ScopeValue(func() (float64, error) { return x.MatMul(w).Sum().Item() })
	x.Release()
	return err
}
