package dist_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestKills is made longer and other by flags: go test ./dist -run TestKills -kills 200 -seed 7
var (
	kills     = flag.Int("kills", 3, "runs of which a rank is killed at a random moment")
	firstSeed = flag.Uint64("seed", 1, "the seed of the first of what is drawn at random; the others follow")
)

// fates are what happens in a run, by its seed, as its ranks and the test know it.
type fates struct {
	ranks, victim int
	after         time.Duration // of the victim's first call
	calls         *rand.Rand    // which calls are made, alike on all ranks
}

func fatesOf(seed uint64) fates {
	r := rand.New(rand.NewPCG(seed, 14))
	f := fates{ranks: 2 + r.IntN(3)}
	f.victim = r.IntN(f.ranks)
	f.after = time.Duration(r.Int64N(int64(50 * time.Millisecond)))
	f.calls = r
	return f
}

// call makes the next call of a run, of up to 2 MiB a rank.
func (f *fates) call(g *dist.Group) (name string, w *dist.Work) {
	n := 1 + f.calls.IntN(1<<f.calls.IntN(20))
	x := tensor.Ones([]int{n}, tensor.On(g.Device()))
	root := f.calls.IntN(g.Size())
	switch f.calls.IntN(6) {
	case 0:
		return fmt.Sprintf("all-reduce(average) of float32 [%d]", n), g.AllReduce(x, dist.Average)
	case 1:
		return fmt.Sprintf("all-reduce(max) of float32 [%d]", n), g.AllReduce(x, dist.Max)
	case 2:
		return fmt.Sprintf("broadcast of float32 [%d] from rank %d", n, root), g.Broadcast(x, root)
	case 3:
		return fmt.Sprintf("reduce(sum) of float32 [%d] to rank %d", n, root), g.Reduce(x, root, dist.Sum)
	case 4:
		out := tensor.Zeros([]int{g.Size() * n}, tensor.On(g.Device()))
		return fmt.Sprintf("all-gather of float32 [%d]", n), g.AllGather(out, x)
	}
	return "barrier", g.Barrier()
}

// seedVariable has the seed of a run.
const seedVariable = role + "_SEED"

func init() {
	roles["calls until the end"] = func(g *dist.Group) error {
		signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT) // which the launcher sends those that are left
		seed, err := strconv.ParseUint(os.Getenv(seedVariable), 10, 64)
		if err != nil {
			return err
		}
		f := fatesOf(seed)
		if err := g.Barrier().Synchronize(context.Background()); err != nil {
			return err
		}
		if g.Rank() == f.victim%g.Size() {
			self, err := os.FindProcess(os.Getpid())
			if err != nil {
				return err
			}
			time.AfterFunc(f.after, func() { _ = self.Kill() })
		}
		for err == nil {
			name, w := f.call(g)
			if err = w.Synchronize(context.Background()); err != nil && !strings.Contains(err.Error(), name) && (g.Device() == device.CPU || strings.Contains(err.Error(), "float32")) {
				// Between GPUs the group may end before the call is made.
				return fmt.Errorf("%w, which does not name %s", err, name)
			}
		}
		note("rank %d is told: %v", g.Rank(), err)
		if later := g.Barrier().Synchronize(context.Background()); later == nil || later.Error() != err.Error() {
			return fmt.Errorf("a later call: %v", later)
		}
		return errors.Join(g.Close(), afresh(g.Device()), settled())
	}
}

// afresh makes a group in this process, on an accelerator of one rank, and a call.
func afresh(on device.Device) error {
	devices := []device.Device{on, on}
	if on.Accelerator() {
		devices = devices[:1]
	}
	return dist.Run(devices, func(g *dist.Group) error {
		x := tensor.Ones([]int{1000}, tensor.On(g.Device()))
		if err := g.AllReduce(x, dist.Sum).Synchronize(context.Background()); err != nil {
			return err
		}
		sum, err := x.Sum().Item()
		if want := 1000 * float64(g.Size()); err == nil && sum != want {
			err = fmt.Errorf("the new group's sum is %v, want %v", sum, want)
		}
		return err
	})
}

// settled waits until no goroutine of groups is left.
func settled() error {
	stacks := make([]byte, 1<<18)
	for over := time.Now().Add(time.Minute); ; { // which is no measure of how long one takes to end
		left := ""
		for _, one := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			for _, maker := range []string{"dist.", "backend/mpi", "runtime/collective"} {
				if strings.Contains(one, "created by github.com/sinter-go/sinter/"+maker) {
					left += one + "\n"
				}
			}
		}
		if left == "" {
			return nil
		}
		if time.Now().After(over) {
			return fmt.Errorf("a goroutine is left:\n%s", left)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestKills kills a rank of processes that make calls, at random moments. The others are told
// which rank is gone and in which call, make a new group, and leave nothing; then all are started
// again, as a launcher does.
func TestKills(t *testing.T) {
	needMPI(t)
	for i := range *kills {
		seed := *firstSeed + uint64(i)
		f := fatesOf(seed)
		t.Run(fmt.Sprintf("seed %d, rank %d of %d after %v", seed, f.victim, f.ranks, f.after), func(t *testing.T) {
			notes := noted(t, "")
			out, _ := launch(t, []string{"mpiexec.gforker"}, f.ranks, "calls until the end",
				seedVariable+"="+fmt.Sprint(seed), role+"_TIMEOUT=1h", noteVariable+"="+os.Getenv(noteVariable))
			if strings.Contains(out, "failed:") {
				t.Errorf("a rank says\n%s", out)
			}
			for rank := range f.ranks {
				told := fmt.Sprintf("rank %d is told: dist: rank %d: ", rank, rank)
				if got := strings.Count(notes(), told); got != 1 && rank != f.victim {
					t.Errorf("rank %d was told %d times\n%s%s", rank, got, notes(), out)
				}
			}
			if got := strings.Count(notes(), fmt.Sprintf("rank %d is gone", f.victim)); got != f.ranks-1 {
				t.Errorf("%d ranks were told that rank %d is gone, want %d\n%s%s", got, f.victim, f.ranks-1, notes(), out)
			}
		})
	}
	if out, err := mpiexec(t, 2, "collectives"); err != nil {
		t.Errorf("started again: %v\n%s", err, out)
	}
}

// TestKillsGPUs is TestKills of two processes with a GPU each.
func TestKillsGPUs(t *testing.T) {
	onGPUs(t, 2)
	for i := range *kills {
		seed := *firstSeed + uint64(i)
		victim := fatesOf(seed).victim % 2
		t.Run(fmt.Sprintf("seed %d, rank %d", seed, victim), func(t *testing.T) {
			notes := noted(t, "")
			said := processes(t, 2, "calls until the end on cuda", seedVariable+"="+fmt.Sprint(seed), role+"_TIMEOUT=1h")
			contains(t, errors.New(said[victim]), "killed")
			contains(t, errors.New(said[1-victim]), "(<nil>)")
			contains(t, errors.New(notes()), fmt.Sprintf("rank %d is gone", victim))
		})
	}
}
