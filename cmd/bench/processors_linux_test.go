package main

import (
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// allowedTo returns the processors of a process's first thread.
func allowedTo(t *testing.T, process int) (out []int) {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(process, &set); err != nil {
		t.Fatal(err)
	}
	for c := 0; len(out) < set.Count(); c++ {
		if set.IsSet(c) {
			out = append(out, c)
		}
	}
	return out
}

func TestSidesShareProcessors(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Skipf("no process to move: %v", err)
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	pid := child.Process.Pid
	all := allowedTo(t, pid)
	p, err := findProcessors(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.take(0); err != nil {
			t.Error(err)
		}
	}()
	for _, threads := range []int{1, len(all), 1, 0, len(all) + 1} {
		if err := p.take(threads); err != nil {
			t.Fatal(err)
		}
		got := allowedTo(t, pid)
		want := len(all)
		if threads == 1 {
			want = 1
		} else if threads > 1 {
			want = min(want, 3*threads)
		}
		if len(got) != want {
			t.Errorf("%d threads run on processors %v of %v", threads, got, all)
		}
		fastest := slices.Sorted(slices.Values(p.allowed[:len(got)]))
		if diff := cmp.Diff(fastest, got); diff != "" {
			t.Errorf("%d threads: not on the fastest processors (-fastest +got):\n%s", threads, diff)
		}
	}
}
