package dist_test

import (
	"context"
	"errors"
	"fmt"
	sockets "net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sinter-go/sinter/tests/self"
)

// TestKubernetes starts processes with the environment that the guide's job gives to its pods,
// but for the name of the first one's machine: they learn their places, and meet.
func TestKubernetes(t *testing.T) {
	guide, err := os.ReadFile("../docs/guide/several.md")
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("needs the guide beside the package")
	}
	must(t, err)
	env := map[string]string{}
	for _, set := range regexp.MustCompile(`- \{name: (\w+), value: "?([^"}]+)"?\}`).FindAllStringSubmatch(string(guide), -1) {
		env[set[1]] = set[2]
	}
	n, err := strconv.Atoi(env["WORLD_SIZE"])
	must(t, err)
	if !strings.Contains(string(guide), fmt.Sprintf("completions: %d\n  parallelism: %d\n", n, n)) || env["MASTER_ADDR"] != "train-0.train" {
		t.Errorf("the guide's job has an environment of %v", env)
	}
	l, err := sockets.Listen("tcp", "127.0.0.1:0") // a port that is free
	must(t, err)
	_, env["MASTER_PORT"], err = sockets.SplitHostPort(l.Addr().String())
	must(t, errors.Join(err, l.Close()))
	env["MASTER_ADDR"], env["SINTER_DIST_SECRET"] = "127.0.0.1", "of the test"

	notes := noted(t, "exchange")
	var pods sync.WaitGroup
	for rank := range n {
		c := self.Command(t, []string{fmt.Sprint("JOB_COMPLETION_INDEX=", rank)})
		for name, value := range env {
			c.Env = append(c.Env, name+"="+value)
		}
		pods.Go(func() {
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("rank %d: %v\n%s", rank, err, out)
			}
		})
	}
	pods.Wait()
	for rank := range n {
		contains(t, errors.New(notes()), fmt.Sprintf("Kubernetes: rank %d of %d, 0 of 0 here: what rank 0 says\n", rank, n))
	}
}

// TestSlurm starts processes by srun where there is a Slurm: they meet, and train by MPI.
func TestSlurm(t *testing.T) {
	quick, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if exec.CommandContext(quick, "sinfo").Run() != nil {
		t.Skip("needs a Slurm that answers sinfo")
	}
	run := func(args ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), "srun", append(args, self.Path(t))...)
		c.Env = append(os.Environ(), "SINTER_DIST_SECRET=of the test")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("srun %v: %v\n%s", args, err, out)
		}
	}
	notes := noted(t, "exchange")
	run("--ntasks", "2")
	for rank := range 2 {
		contains(t, errors.New(notes()), fmt.Sprintf("Slurm: rank %d of 2, %d of 0 here: what rank 0 says\n", rank, rank))
	}
	needMPI(t)
	t.Setenv(role, "train")
	run("--mpi=pmi2", "--nodes", "1", "--ntasks", "2")
}
