// Package kernels embeds the CUDA C++ of the standard operators: emitted functors
// and kernels (*.cu) over loop templates written by hand (*.cuh).
package kernels

import "embed"

// Source holds the files, without directories.
//
//go:embed *.cu *.cuh
var Source embed.FS
