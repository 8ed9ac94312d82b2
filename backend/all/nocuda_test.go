//go:build !linux || android || !(amd64 || arm64) || nocuda

package all

import (
	"errors"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestMissing asks for a GPU where the program has no part for it.
func TestMissing(t *testing.T) {
	Install()
	if n := device.Count(device.KindCUDA); n != 0 {
		t.Errorf("%d GPUs", n)
	}
	_, _, err := device.Find(device.CUDA(0))
	if !errors.Is(err, device.ErrUnavailable) || !errors.Is(err, dl.ErrUnsupported) {
		t.Errorf("the error does not say why there is no GPU: %v", err)
	}
	if _, _, err := device.Find(device.CPU); err != nil {
		t.Error(err)
	}
}
