package cublaslt

import (
	"errors"
	"testing"
	"time"

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
		addr, lent, err := w.lend(g, bytes)
		must(t, err)
		lent.back()
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

// TestWorkspaceIsLentToOne: while a product that works in a stream's workspace is
// being enqueued, no other product of the stream is given it, and it is not given
// back to the allocator.
func TestWorkspaceIsLentToOne(t *testing.T) {
	t.Setenv(WorkspaceVariables[0], ":64:2")
	var w workspaces
	w.limit(90)
	g := &keeping{stream: 1}
	addr, lent, err := w.lend(g, 1000)
	must(t, err)
	other, theirs, err := w.lend(&keeping{stream: 2}, 1000)
	must(t, err)
	theirs.back()
	if lent == theirs {
		t.Errorf("streams 1 and 2 share the workspace at %d, %d", addr, other)
	}

	type loan struct {
		addr uint64
		err  error
	}
	second, cleared := make(chan loan), make(chan error)
	go func() {
		addr, lent, err := w.lend(g, 1000)
		lent.back()
		second <- loan{addr, err}
	}()
	select {
	case l := <-second:
		t.Fatalf("a second product works at %d while the first at %d is being enqueued", l.addr, addr)
	case <-time.After(20 * time.Millisecond):
	}
	go func() { cleared <- w.clear() }()
	select {
	case err := <-cleared:
		t.Fatalf("cleared while a product is being enqueued: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	lent.back()
	must(t, <-cleared)
	if l := <-second; l.err != nil || l.addr == 0 {
		t.Errorf("the second product: %+v", l)
	}
	if want := len(g.kept); g.released != 1 || want > 2 {
		t.Errorf("%d workspaces made on the stream, %d released", want, g.released)
	}
}
