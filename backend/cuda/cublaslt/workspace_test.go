package cublaslt

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/library"
)

// keeping is a GPU whose memory is numbers.
type keeping struct {
	library.GPU
	stream    driver.Stream
	recording bool
	full      error
	kept      []int64
	scratch   []int64
	released  int
}

func (g *keeping) Stream() driver.Stream { return g.stream }
func (g *keeping) Recording() bool       { return g.recording }

func (g *keeping) Scratch(bytes int64) (uint64, error) {
	g.scratch = append(g.scratch, bytes)
	return uint64(len(g.scratch)), nil
}

func (g *keeping) Keep(bytes int64) (uint64, func() error, error) {
	if g.full != nil {
		return 0, nil, g.full
	}
	g.kept = append(g.kept, bytes)
	return 100 + uint64(len(g.kept)), func() error { g.released++; return nil }, nil
}

func TestWorkspaceOfStream(t *testing.T) {
	t.Setenv(WorkspaceVariables[0], ":64:2")
	var w workspaces
	if got := w.limit(90); got != 128<<10 {
		t.Fatalf("limit: %d", got)
	}
	g := &keeping{stream: 1}
	var got []uint64
	ask := func(bytes int64) {
		t.Helper()
		addr, err := w.of(g, bytes)
		must(t, err)
		got = append(got, addr)
	}
	ask(0)
	ask(1000)
	ask(2000) // the same
	g.stream = 2
	ask(1000) // another stream's
	g.recording = true
	ask(1000) // a recording's own
	g.recording = false
	ask(1 << 20) // too large for it
	must(t, w.clear())
	ask(1000) // made again
	g.stream, g.full = 3, errors.New("out of memory")
	ask(1000)
	if diff := cmp.Diff([]uint64{0, 101, 101, 102, 1, 2, 103, 3}, got); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{128 << 10, 128 << 10, 128 << 10}, g.kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{1000, 1 << 20, 1000}, g.scratch); diff != "" {
		t.Errorf("scratch (-want +got):\n%s", diff)
	}
	if g.released != 2 {
		t.Errorf("%d released, want 2", g.released)
	}
}
