package dist_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/mpi"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// untilNoted waits until another rank has left a note, and ends the process.
func untilNoted() {
	for noteless() {
		time.Sleep(time.Millisecond)
	}
	os.Exit(1)
}

// said prints and notes what a rank found.
func said(format string, args ...any) {
	fmt.Printf(format+"\n", args...)
	note(format, args...)
}

func init() {
	roles["finalize in the midst"] = func(g *dist.Group) error {
		if g.Rank() == 1 {
			untilNoted()
		}
		err := g.AllReduce(tensor.Ones([]int{4}, tensor.On(g.Device())), dist.Sum).Synchronize(context.Background())
		said("%v; finalize: %v; again: %v", err, dist.Finalize(), dist.Finalize())
		return err
	}
	roles["after the end"] = func(g *dist.Group) error {
		if err := g.Barrier().Synchronize(context.Background()); err != nil {
			return err
		}
		if err := errors.Join(dist.Finalize(), dist.Finalize()); err != nil {
			return err
		}
		_, joining := mpi.New(device.CPU, time.Hour)
		said("rank %d: call: %v", g.Rank(), g.Barrier().Synchronize(context.Background()))
		said("rank %d: joining: %v", g.Rank(), joining)
		if err := errors.Join(g.Close(), g.Close(), dist.Finalize()); err != nil {
			return err
		}
		os.Exit(0)
		return nil
	}
	roles["message left"] = func(g *dist.Group) error {
		x := tensor.Ones([]int{1 << 20}, tensor.On(g.Device()))
		err := g.Batch(func(b *dist.Batch) {
			b.Send(x, 1-g.Rank())
			b.Receive(tensor.Ones([]int{2}, tensor.On(g.Device())), 1-g.Rank())
		}).Synchronize(context.Background())
		for range 5 { // what is pinned and forgotten ends the program
			runtime.GC()
		}
		said("rank %d: %v", g.Rank(), err)
		return err
	}
	lone["another place"] = func() error {
		os.Setenv("RANK", os.Getenv("PMI_RANK"))
		os.Setenv("WORLD_SIZE", map[string]string{"0": "3", "1": "3", "2": "4"}[os.Getenv("PMI_RANK")])
		_, err := dist.Init(context.Background(), tensor.On(device.CPU), dist.Timeout(time.Hour))
		said("rank %s: %v", os.Getenv("PMI_RANK"), err)
		return dist.Finalize()
	}
	lone["join alone"] = func() error {
		c, err := mpi.New(device.CPU, time.Hour)
		if err != nil {
			return err
		}
		if c.Rank() == 1 {
			untilNoted()
		}
		_, err = mpi.New(device.CPU, 50*time.Millisecond)
		said("second: %v", err)
		return err
	}
}

// TestMPIEnds has ranks go on where something has ended or never began: they have errors.
func TestMPIEnds(t *testing.T) {
	for _, c := range []struct {
		name    string
		ranks   int
		timeout string
		texts   []string
	}{
		{"finalize in the midst", 2, "100ms", []string{
			"rank 0 waited 100ms for the others: timeout; finalize: dist: Finalize: 1 calls of this process have not ended, and MPI would wait for them; again: dist: Finalize: 1 calls"}},
		{"after the end", 2, "1h", []string{
			"rank 0: call: dist: rank 0: barrier, call 2 of the group: MPI cannot be used: it was finalised", "rank 1: call: dist: rank 1: barrier",
			"rank 0: joining: joining the group: MPI cannot be used: it was finalised", "rank 1: joining: joining the group: MPI cannot be used"}},
		{"message left", 2, "1h", []string{
			"rank 0: dist: rank 0: the ranks make different calls: rank 0 makes receive of float32 [2] from rank 1, rank 1 a send of float32 [1048576]", "rank 1: dist: rank 1: "}},
		{"another place", 3, "", []string{
			"rank 0: dist: rank 0 of 3: Init on cpu: launcher's environment: the ranks make different calls: the process that MPI has as rank 2 of 3 was told to be rank 2 of 4",
			"rank 1: dist: rank 1 of 3: Init on cpu: launcher's environment: ", "rank 2: dist: rank 2 of 4: Init on cpu: launcher's environment, of torchrun: the engine says that this is rank 2 of 3"}},
		{"join alone", 2, "", []string{"second: joining the group: rank 0 waited 50ms for the others: timeout"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "notes")
			out, _ := launch(t, []string{"mpiexec", "-disable-auto-cleanup"}, c.ranks, c.name, role+"_TIMEOUT="+c.timeout, noteVariable+"="+path)
			notes, _ := os.ReadFile(path) // none: it does not have the texts
			for _, text := range c.texts {
				if !strings.Contains(string(notes), text) {
					t.Errorf("%q is not in\n%s\nThe ranks printed\n%s", text, notes, out)
				}
			}
		})
	}
}
