package gofile

import "github.com/sinter-go/sinter/gen/emit/unit"

// The packages that emitted code builds on.
const (
	IRPath     = unit.Module + "/ir"
	ShapesPath = unit.Module + "/ir/shapes"
	NumPath    = unit.Module + "/ir/num"
	CorePath   = unit.Module + "/runtime/core"
	DevicePath = unit.Module + "/runtime/device"
	StreamPath = unit.Module + "/runtime/stream"
	RandomPath = unit.Module + "/runtime/random"
	OptionPath = unit.Module + "/runtime/option"
	OptestPath = unit.Module + "/optest"
	AllPath    = unit.Module + "/backend/all"
	VectorPath = unit.Module + "/backend/cpu/vector"
	DrawPath   = unit.Module + "/backend/cpu/draw"
	CodePath   = unit.Module + "/backend/cuda/code"
)
