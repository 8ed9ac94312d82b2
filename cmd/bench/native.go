package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed native/native.c
var nativeSource []byte

// nativeSide runs rows in a C program: loops as gcc compiles them, memcpy, and
// products by OpenBLAS.
type nativeSide struct {
	*process
	asked func(*row) string // what it does of a row
	work  float64           // of a call of what was prepared, where that is a limit
}

// natives are two runs of the program, so that a row's native figure and the limit
// that it is held against can be measured in the same rounds.
type natives struct {
	directory     string // holds the program
	loops, limits *nativeSide
}

// startNative compiles the program with gcc and starts it. The error says why
// there is none.
func startNative(ctx context.Context) (*natives, error) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		return nil, err
	}
	n := &natives{}
	if n.directory, err = os.MkdirTemp("", "sinter-bench"); err != nil {
		return nil, err
	}
	source, program := filepath.Join(n.directory, "native.c"), filepath.Join(n.directory, "native")
	if err := os.WriteFile(source, nativeSource, 0o600); err != nil {
		return nil, errors.Join(err, n.close())
	}
	out, err := exec.CommandContext(ctx, gcc, "-Ofast", "-march=native", "-fopenmp", "-o", program, source, "-ldl", "-lm").CombinedOutput()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("gcc: %w: %.500s", err, out), n.close())
	}
	if n.loops, err = startSideOf(ctx, program, func(r *row) string { return r.native }); err == nil {
		n.limits, err = startSideOf(ctx, program, func(r *row) string { return r.bound })
	}
	if err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

func startSideOf(ctx context.Context, program string, asked func(*row) string) (*nativeSide, error) {
	command := exec.CommandContext(ctx, program)
	// Threads spin between calls, and are parked by the pause between turns: OpenBLAS's
	// spin for 2^24 cycles, not for 2^26, which is longer than the pause.
	command.Env = append(os.Environ(), "OMP_WAIT_POLICY=active", "GOMP_SPINCOUNT=100000", "OPENBLAS_THREAD_TIMEOUT=24")
	p, err := startProcess(command, "the native side")
	if err != nil {
		return nil, err
	}
	return &nativeSide{process: p, asked: asked}, nil
}

// close ends what was started, and removes the program.
func (n *natives) close() error {
	for _, s := range []*nativeSide{n.loops, n.limits} {
		if s != nil {
			s.close()
		}
	}
	return os.RemoveAll(n.directory)
}

func (n *nativeSide) prepare(r *row, _ int) error {
	a, err := n.say("prepare " + n.asked(r))
	n.work = a.Work
	return err
}

func (n *nativeSide) batch(calls int) (float64, error) {
	a, err := n.say(fmt.Sprint("batch ", calls))
	return a.Seconds, err
}

func (n *nativeSide) drop() error {
	_, err := n.say("drop")
	return err
}

// limitOf measures what only the native side has, as a rate in unit u: the best of
// the rounds, since it stands for what the machine can do.
func limitOf(what string, u unit) func(context.Context, *bench) (float64, error) {
	return func(_ context.Context, b *bench) (float64, error) {
		if b.limits == nil {
			return 0, errNone
		}
		calls, err := b.ready(b.limits, &row{bound: what})
		best := 0.0
		for range b.workload.rounds {
			if err != nil {
				return 0, err
			}
			var t float64
			t, err = b.limits.batch(calls)
			best = max(best, b.limits.work*float64(calls)/t/u.scale)
		}
		return best, errors.Join(err, b.limits.drop())
	}
}
