package opaque

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda/cublaslt"
	"github.com/sinter-go/sinter/backend/cuda/cudnn"
	"github.com/sinter-go/sinter/backend/cuda/library"
	"github.com/sinter-go/sinter/ir"
)

// TestCovered has kernels of our own serve where the library is missing or has no
// algorithm, and the log say once what is missing; other errors are the call's.
func TestCovered(t *testing.T) {
	var log bytes.Buffer
	old := slog.Default()
	defer slog.SetDefault(old)
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	m := missing{serving: "tests"}
	for _, c := range []struct {
		err  error
		want bool
		logs int
	}{
		{fmt.Errorf("x: %w", cublaslt.ErrUnsupported), true, 0},
		{cudnn.ErrUnsupported, true, 0},
		{errors.New("the device failed"), false, 0},
		{fmt.Errorf("%w: libx.so is missing", library.ErrUnusable), true, 1},
		{fmt.Errorf("%w: libx.so is missing", library.ErrUnusable), true, 1},
	} {
		if got := m.covered(c.err); got != c.want {
			t.Errorf("covered(%v) = %t", c.err, got)
		}
		if got := strings.Count(log.String(), "libx.so is missing"); got != c.logs {
			t.Errorf("after %v the log tells of it %d times, want %d", c.err, got, c.logs)
		}
	}
	if !strings.Contains(log.String(), "tests run on kernels") {
		t.Errorf("the log does not say what is slower: %s", log.String())
	}
}

func TestBiasOfAnotherLength(t *testing.T) {
	out := ir.View{DType: ir.Float32, Shape: []int{2, 4}, Strides: []int{4, 1}}
	for _, shape := range [][]int{{3}, {1, 4}, {}} {
		bias := ir.View{DType: ir.Float32, Shape: shape, Strides: ir.ContiguousStrides(shape)}
		err := MatMulBias(nil, &ir.Call{In: []ir.View{{}, {}, bias}, Out: []ir.View{out}})
		if err == nil || !strings.Contains(err.Error(), "bias") {
			t.Errorf("bias %v: %v", shape, err)
		}
	}
}
