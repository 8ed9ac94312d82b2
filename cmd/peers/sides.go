package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// A side is a process that answers a line with a line.
type side struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
}

// ours is the first side, which others are compared with.
const ours = "sinter"

// start builds the sides in Go into dir and starts all of them.
func start(dir, python string, threads int) ([]*side, error) {
	var sides []*side
	for _, p := range []struct{ name, pkg string }{{ours, "sinter"}, {"GoMLX", "gomlx"}, {"Gorgonia", "gorgonia"}, {"gonum", "gonum"}} {
		binary := filepath.Join(dir, p.pkg)
		build := exec.Command("go", "build", "-o", binary, "./"+p.pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if text, err := build.CombinedOutput(); err != nil {
			return sides, fmt.Errorf("%s: %w\n%s", p.pkg, err, text)
		}
		cmd := exec.Command(binary)
		cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", threads))
		s, err := run(p.name, cmd)
		if err != nil {
			return sides, err
		}
		sides = append(sides, s)
	}
	if python == "off" {
		return sides, nil
	}
	version, err := exec.Command(python, "-c", "import torch; print(torch.__version__.split('+')[0])").Output()
	if err != nil {
		return sides, fmt.Errorf("%s has no PyTorch; -python names one that has, or off: %w", python, err)
	}
	s, err := run("PyTorch "+strings.TrimSpace(string(version)), exec.Command(python, filepath.Join("pytorch", "side.py"), strconv.Itoa(threads)))
	if err != nil {
		return sides, err
	}
	return append(sides, s), nil
}

func run(name string, cmd *exec.Cmd) (*side, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	return &side{name, cmd, in, bufio.NewScanner(out)}, cmd.Start()
}

// ask returns the number that a side answers with, and whether it has the row.
func (s *side) ask(line string) (value float64, has bool, err error) {
	if _, err := fmt.Fprintln(s.in, line); err != nil {
		return 0, false, fmt.Errorf("%s: %w", s.name, err)
	}
	if !s.out.Scan() {
		return 0, false, fmt.Errorf("%s ended at %q", s.name, line)
	}
	if s.out.Text() == "none" {
		return 0, false, nil
	}
	value, err = strconv.ParseFloat(s.out.Text(), 64)
	return value, err == nil, err
}

func (s *side) stop() {
	s.in.Close()
	s.cmd.Wait()
}
