// Command devices has a program for each of the things that are different where there are
// devices: what to write so that a program runs on any of them, where tensors go, streams,
// time, graphs, and the plans that are kept for Fourier transforms.
//
//	go run ./examples/devices streams [-device auto|cuda|sim]
//
// The first word picks the program, whose flags follow. Each program is one file, which
// begins in the function of its name.
package main

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
)

// programs are by the words that pick them.
var programs = map[string]func() error{
	"agnostic":     agnostic,
	"factories":    factories,
	"fftcache":     fftcache,
	"graphs":       graphs,
	"streams":      streams,
	"threedevices": threedevices,
	"timing":       timing,
}

func main() {
	program, err := pick(os.Args)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Args = slices.Delete(os.Args, 1, 2) // the program reads its flags
	if err := program(); err != nil {
		slog.Error("devices", "error", err)
		os.Exit(1)
	}
}

// pick returns the program that a command line names.
func pick(args []string) (func() error, error) {
	if len(args) > 1 && programs[args[1]] != nil {
		return programs[args[1]], nil
	}
	return nil, fmt.Errorf("devices: %q names no program first; want one of %s", args[1:], strings.Join(slices.Sorted(maps.Keys(programs)), ", "))
}
