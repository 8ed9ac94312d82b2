package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// processors are those that a row with a number of threads may run on. All sides
// share the same ones, and they are the least disturbed of the moment: on a virtual
// machine each is half of a core whose other half may work for somebody else.
type processors struct {
	allowed []int // in the order of the last probe, the fastest first
	tasks   []int // process identifiers whose threads are moved
}

// findProcessors returns the processors that this process may use; it and the
// children are moved together.
func findProcessors(children ...int) (*processors, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	p := &processors{tasks: append([]int{os.Getpid()}, children...)}
	for c := 0; len(p.allowed) < set.Count(); c++ {
		if set.IsSet(c) {
			p.allowed = append(p.allowed, c)
		}
	}
	return p, nil
}

// take moves all sides to the processors on which a probe ran fastest: one for a
// row with one thread, some more for several threads, since those of the side whose
// turn it was may still spin; all of them for 0.
func (p *processors) take(threads int) error {
	n := threads
	if n > 1 {
		n *= 3
	}
	if n <= 0 || n >= len(p.allowed) {
		return p.move(p.allowed)
	}
	if err := p.probe(); err != nil {
		return errors.Join(err, p.move(p.allowed))
	}
	return p.move(p.allowed[:n])
}

// probe orders the processors by how long some work takes on them.
func (p *processors) probe() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	took := map[int]time.Duration{}
	for _, c := range p.allowed {
		if err := move(0, []int{c}); err != nil {
			return err
		}
		runtime.KeepAlive(occupy()) // the first time comes with the move
		start := time.Now()
		runtime.KeepAlive(occupy())
		took[c] = time.Since(start)
	}
	slices.SortStableFunc(p.allowed, func(a, b int) int { return cmp.Compare(took[a], took[b]) })
	return nil
}

// occupy fills a processor's units for about a millisecond: what shares them with it
// shows.
//
//go:noinline
func occupy() (sum uint64) {
	a, b, c, d := uint64(1), uint64(2), uint64(3), uint64(4)
	for i := range uint64(1 << 20) {
		a, b, c, d = a^i<<1, b+i^a, c^i>>1, d+c
	}
	return a ^ b ^ c ^ d
}

// move restricts all threads of all sides to some processors.
func (p *processors) move(to []int) error {
	for _, process := range p.tasks {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", process))
		if err != nil {
			return err
		}
		for _, e := range entries {
			thread, err := strconv.Atoi(e.Name())
			if err != nil {
				return err
			}
			if err := move(thread, to); err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
				return err
			}
		}
	}
	return nil
}

// move restricts a thread, 0 for this one.
func move(thread int, to []int) error {
	var set unix.CPUSet
	for _, c := range to {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(thread, &set); err != nil {
		return fmt.Errorf("sched_setaffinity to processors %v: %w", to, err)
	}
	return nil
}

// usedNow returns the time for which processors have worked for this process.
func usedNow() time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
