package dist

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnvironment(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		want Environment
		err  string
	}{
		{"alone", nil, Environment{Size: 1, LocalSize: 1}, ""},
		{"torchrun", map[string]string{"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4",
			"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"},
			Environment{"torchrun", 5, 8, 1, 4, "10.0.0.1:29500"}, ""},
		{"Open MPI", map[string]string{"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2",
			"OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"},
			Environment{"Open MPI", 1, 2, 1, 2, ""}, ""},
		{"MPICH", map[string]string{"PMI_RANK": "3", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"},
			Environment{"MPICH", 3, 4, 1, 2, ""}, ""},
		{"Slurm", map[string]string{"SLURM_PROCID": "9", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "16", "SLURM_LOCALID": "1",
			"SLURM_STEP_NODELIST": "gpu-a[03-04],gpu-b1", "SLURM_JOB_ID": "123456"},
			Environment{"Slurm", 9, 16, 1, 0, "gpu-a03:23456"}, ""},
		{"Slurm with PMI-2", map[string]string{"PMI_RANK": "1", "PMI_SIZE": "2", "PMI_FD": "13", "SLURM_PROCID": "1", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "2",
			"SLURM_LOCALID": "1", "SLURM_JOB_ID": "2", "SLURM_STEP_NODELIST": "vm"}, Environment{"Slurm", 1, 2, 1, 0, "vm:20002"}, ""},
		{"MPICH in a job of Slurm, a process a machine", map[string]string{"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "1",
			"SLURM_PROCID": "1", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "2"}, Environment{"MPICH", 1, 2, 0, 1, ""}, ""},
		{"MPICH in a job of Slurm", map[string]string{"PMI_RANK": "1", "PMI_SIZE": "2", "SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "1"},
			Environment{"MPICH", 1, 2, 0, 0, ""}, ""},
		{"a batch script of Slurm is no step", map[string]string{"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, Environment{Size: 1, LocalSize: 1}, ""},
		{"Kubernetes", map[string]string{"JOB_COMPLETION_INDEX": "2", "WORLD_SIZE": "4", "MASTER_ADDR": "train-0.train", "MASTER_PORT": "29500"},
			Environment{"Kubernetes", 2, 4, 0, 0, "train-0.train:29500"}, ""},
		{"IPv6", map[string]string{"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "fd00::1", "MASTER_PORT": "1"},
			Environment{"torchrun", 0, 1, 0, 0, "[fd00::1]:1"}, ""},
		{"no size", map[string]string{"JOB_COMPLETION_INDEX": "2"}, Environment{}, `of Kubernetes: WORLD_SIZE is "", want a number from 1`},
		{"no number", map[string]string{"RANK": "first", "WORLD_SIZE": "2"}, Environment{}, `RANK is "first"`},
		{"too large", map[string]string{"RANK": "2", "WORLD_SIZE": "2"}, Environment{}, "RANK is 2 in WORLD_SIZE of 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := environment(func(name string) string { return c.env[name] })
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if c.err == "" && err != nil || c.err != "" && (!errors.Is(err, ErrEnvironment) || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%v, want %q", err, c.err)
			}
		})
	}
}

func TestFirstHost(t *testing.T) {
	for list, want := range map[string]string{
		"a": "a", "a,b": "a", "a[03-07,9],b1": "a03", "a[1]-ib,b": "a1-ib", "rack1-n[001,004]": "rack1-n001", "": "", "a[1": "",
	} {
		if got := firstHost(list); got != want {
			t.Errorf("%q begins with %q, want %q", list, got, want)
		}
	}
}
