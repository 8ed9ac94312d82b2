// Package kernels embeds the CUDA C++ of the standard operators, emitted functors
// and kernels (*.cu) over loop templates written by hand (*.cuh), and what build.py
// compiled of it ahead. It knows nothing of drivers and devices.
package kernels

import (
	"embed"
	"encoding/json"
	"sync"
)

// Source holds the files, without directories.
//
//go:embed *.cu *.cuh
var Source embed.FS

//go:embed build.json
var buildJSON []byte

// settings are build.json: how every source is compiled, ahead and at run time.
type settings struct {
	NVRTC   string   // version of the compiler that build.py uses, such as 12.6
	Options []string // its options, but for the target
	More    []string // and those that other sources have besides, in a build.json of their own
	Targets []string // sm_<n> for a cubin, compute_<n> for PTX
	PTX     string   // version of PTX that is written
}

var build = sync.OnceValue(func() settings {
	var s settings
	if err := json.Unmarshal(buildJSON, &s); err != nil {
		panic("kernels: build.json: " + err.Error()) // part of the program, and read by a test
	}
	return s
})

// Options returns the options that sources are compiled with, but for the target.
func Options() []string { return build().Options }

// Standard returns what was compiled ahead of Source. Builds without CUDA have
// nothing.
var Standard = sync.OnceValue(func() *Binaries { return Of(Source, standardBinaries) })
