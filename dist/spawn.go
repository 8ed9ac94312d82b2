package dist

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"

	"github.com/sinter-go/sinter/runtime/device"
)

// Launched reports whether a launcher, or Spawn, started this process as one of several.
func Launched() bool {
	e, err := FromEnvironment()
	return err != nil || e.Launcher != ""
}

// Spawn runs this program n times on this machine, with the arguments that it has, and
// waits for all. In them Launched is true, and Init makes their group:
//
//	if !dist.Launched() {
//		return dist.Spawn(ctx, 4)
//	}
//	group, err := dist.Init(ctx)
//
// Where there are GPUs the ranks meet at a port of this machine, with a secret made for
// them. Otherwise they need MPI, and mpiexec starts them. The first that fails has the others
// ended, and its rank is in the error. The end of ctx ends all.
func Spawn(ctx context.Context, n int) error {
	switch {
	case n < 1:
		return fmt.Errorf("dist: Spawn: %w: %d processes", ErrCall, n)
	case Launched():
		return fmt.Errorf("dist: Spawn: %w: this process is one of several already", ErrCall)
	}
	if ctx == nil {
		ctx = context.Background()
	}
	self, err := os.Executable()
	if err == nil {
		if device.Count(device.KindCUDA) > 0 {
			err = spawn(ctx, n, self)
		} else {
			err = spawnMPI(ctx, n, self)
		}
	}
	if err != nil {
		return fmt.Errorf("dist: Spawn: %w", err)
	}
	return nil
}

// command returns this program as a process, with variables beside those that it has.
func command(ctx context.Context, name string, args []string, variables ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Env = append(c.Environ(), variables...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c
}

// spawnMPI has mpiexec start the processes.
func spawnMPI(ctx context.Context, n int, self string) error {
	launcher, err := exec.LookPath("mpiexec")
	if err != nil {
		return fmt.Errorf("processes without GPUs need MPI, whose launcher is not there (pip install mpich): %w", err)
	}
	return command(ctx, launcher, append([]string{"-n", strconv.Itoa(n), self}, os.Args[1:]...)).Run()
}

// spawn starts the processes itself, as torchrun does.
func spawn(ctx context.Context, n int, self string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err = errors.Join(err, l.Close()); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	secret, errs := rand.Text(), make([]error, n)
	var first sync.Once
	var all sync.WaitGroup
	for rank := range n {
		all.Go(func() {
			c := command(ctx, self, os.Args[1:], "RANK="+strconv.Itoa(rank), "WORLD_SIZE="+strconv.Itoa(n),
				"LOCAL_RANK="+strconv.Itoa(rank), "LOCAL_WORLD_SIZE="+strconv.Itoa(n),
				"MASTER_ADDR=127.0.0.1", "MASTER_PORT="+port, "SINTER_DIST_SECRET="+secret)
			if err := c.Run(); err != nil {
				first.Do(func() { errs[rank] = fmt.Errorf("rank %d: %w", rank, err) })
				cancel()
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
