package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed beside.py
var script string

// beside has PyTorch measure the same rows, with a process for each device by its launcher,
// and with one for steps on one device.
func (s *settings) beside(list []figure) error {
	dir, err := os.MkdirTemp("", "several")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "beside.py")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		return err
	}
	all, err := s.torch(path, len(s.devices))
	if err != nil {
		return err
	}
	one, err := s.torch(path, 1)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Torch = s.fromTorch(list[i].Row, one, all)
	}
	fmt.Fprintf(os.Stderr, "PyTorch, on all: %v\non one: %v\n", all, one)
	return nil
}

// fromTorch returns a row's figure of what PyTorch measured, 0 where it has none.
func (s *settings) fromTorch(row string, one, all map[string]float64) float64 {
	name, _, _ := strings.Cut(row, ":")
	switch {
	case strings.HasSuffix(row, "over step on one") && one[name] > 0:
		return all[name] / one[name]
	case strings.HasSuffix(row, "on all over one") && all[name] > 0:
		return float64(len(s.devices)) * one[name] / all[name]
	case strings.HasSuffix(row, "over step on one") || strings.HasSuffix(row, "on all over one"):
		return 0
	}
	return all[row]
}

// torch runs the script with n processes, and returns what rank 0 printed.
func (s *settings) torch(path string, n int) (map[string]float64, error) {
	sizes, err := json.Marshal(s.size)
	if err != nil {
		return nil, err
	}
	c := exec.Command(s.python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", strconv.Itoa(n), path, string(sizes), s.row, s.devices[0].Kind.String())
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		text := errs.String()
		return nil, errors.Join(fmt.Errorf("%s with %d processes: %w", s.python, n, err), errors.New(text[max(0, len(text)-2000):]))
	}
	got := map[string]float64{}
	for line := range bytes.Lines(out.Bytes()) {
		var f struct {
			Row   string
			Value float64
		}
		if json.Unmarshal(line, &f) == nil {
			got[f.Row] = f.Value
		}
	}
	return got, nil
}
