package dist

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// ErrEnvironment is wrapped when the environment does not say which rank this process is.
const ErrEnvironment ir.Error = "launcher's environment"

// An Environment is what a launcher tells a process of its place among others.
type Environment struct {
	Launcher  string // that of whose variables it was read; "" for a process alone
	Rank      int    // among all processes, from 0
	Size      int    // number of all processes
	LocalRank int    // among those of this machine, from 0
	LocalSize int    // number of those of this machine; 0 if not known
	// Master is the address, host:port, at which rank 0 can be met; "" if not known.
	Master string
}

// A launcher is the names of the variables that one sets.
type launcher struct {
	name                             string
	marks                            []string    // all are set where this one started the process
	same                             [][2]string // and these have equal values; "" stands for none
	rank, size, localRank, localSize string
	master                           func(get func(string) string) string
}

// launchers are those that are known. The first whose marks are there counts: one that
// starts processes within another's job comes before it.
var launchers = []launcher{
	{"torchrun", []string{"RANK", "WORLD_SIZE"}, nil, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", master},
	{"Open MPI", []string{"OMPI_COMM_WORLD_RANK"}, nil, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
		"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", master},
	// srun --mpi=pmi2 sets variables of PMI, too, but none of the rank on the machine.
	{"Slurm", []string{"PMI_RANK", "SLURM_PROCID", "SLURM_STEP_ID"}, [][2]string{{"PMI_RANK", "SLURM_PROCID"}, {"PMI_SIZE", "SLURM_NTASKS"}, {"MPI_LOCALRANKID", ""}},
		"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "", slurmMaster},
	{"MPICH", []string{"PMI_RANK"}, nil, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", master},
	{"Slurm", []string{"SLURM_PROCID", "SLURM_STEP_ID"}, nil, "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "", slurmMaster},
	{"Kubernetes", []string{"JOB_COMPLETION_INDEX"}, nil, "JOB_COMPLETION_INDEX", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", master},
}

// FromEnvironment returns what the launcher told this process: torchrun, Open MPI, MPICH
// and others with PMI, Slurm or an indexed job of Kubernetes. Without any, the process is
// alone: rank 0 of 1.
func FromEnvironment() (Environment, error) { return environment(os.Getenv) }

func environment(get func(string) string) (Environment, error) {
	for _, l := range launchers {
		if !l.started(get) {
			continue
		}
		e, err := l.read(get)
		if err != nil {
			return Environment{}, fmt.Errorf("dist: %w, of %s: %w", ErrEnvironment, l.name, err)
		}
		return e, nil
	}
	return Environment{Size: 1, LocalSize: 1}, nil
}

// started reports whether the launcher started the process.
func (l *launcher) started(get func(string) string) bool {
	missing := func(name string) bool { return get(name) == "" }
	differ := func(pair [2]string) bool { return get(pair[0]) != get(pair[1]) }
	return !slices.ContainsFunc(l.marks, missing) && !slices.ContainsFunc(l.same, differ)
}

func (l *launcher) read(get func(string) string) (e Environment, err error) {
	e = Environment{Launcher: l.name, Master: l.master(get)}
	var errs []error
	number := func(name string, missing, least int) int {
		text := get(name)
		if name == "" || text == "" && missing >= 0 {
			return missing
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < least {
			errs = append(errs, fmt.Errorf("%s is %q, want a number from %d", name, text, least))
		}
		return n
	}
	e.Rank, e.Size = number(l.rank, -1, 0), number(l.size, -1, 1)
	e.LocalSize = number(l.localSize, 0, 1)
	e.LocalRank = number(l.localRank, 0, 0)
	if len(errs) == 0 && e.Rank >= e.Size {
		errs = append(errs, fmt.Errorf("%s is %d in %s of %d", l.rank, e.Rank, l.size, e.Size))
	}
	return e, errors.Join(errs...)
}

// master returns what MASTER_ADDR and MASTER_PORT say.
func master(get func(string) string) string {
	if get("MASTER_ADDR") == "" || get("MASTER_PORT") == "" {
		return ""
	}
	return net.JoinHostPort(get("MASTER_ADDR"), get("MASTER_PORT"))
}

// slurmMaster is master, or without those variables the first machine of the step and a
// port that depends on the job.
func slurmMaster(get func(string) string) string {
	if m := master(get); m != "" {
		return m
	}
	host := firstHost(get("SLURM_STEP_NODELIST"))
	job, err := strconv.Atoi(get("SLURM_JOB_ID"))
	if host == "" || err != nil || job < 0 {
		return ""
	}
	return net.JoinHostPort(host, strconv.Itoa(firstPort+job%ports))
}

// The ports that jobs of Slurm meet at.
const firstPort, ports = 20000, 10000

// firstHost returns the first of Slurm's list of machines: "a03" of "a[03-07,9],b1".
func firstHost(list string) string {
	open := strings.IndexAny(list, "[,")
	if open < 0 || list[open] == ',' {
		host, _, _ := strings.Cut(list, ",")
		return host
	}
	inside, rest, ok := strings.Cut(list[open+1:], "]")
	if !ok {
		return ""
	}
	number := inside[:len(inside)-len(strings.TrimLeft(inside, "0123456789"))]
	suffix, _, _ := strings.Cut(rest, ",")
	return list[:open] + number + suffix
}
