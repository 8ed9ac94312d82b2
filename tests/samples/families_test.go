package samples

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	. "github.com/sinter-go/sinter/generated/tensor"
)

// families applies the operators of tests/vectors/families.py.
var families = familyTable()

func familyTable() map[string]func(x []Tensor) []Tensor {
	table := map[string]func(x []Tensor) []Tensor{
		"cdist large":        func(x []Tensor) []Tensor { return one(x[0].CDist(x[1])) },
		"cdist by products":  func(x []Tensor) []Tensor { return one(x[0].CDist(x[1], ComputeModeMM)) },
		"cdist large direct": func(x []Tensor) []Tensor { return one(x[0].CDist(x[1], ComputeModeDirect)) },
		"tensordot":          func(x []Tensor) []Tensor { return one(x[0].Tensordot(x[1], []int{2, 0}, 0, 1)) },
		"conv3d full": func(x []Tensor) []Tensor {
			return one(x[0].Conv3d(x[1], Bias(x[2]), Stride(1, 2, 1), Padding(1, 0, 2), Dilation(1, 1, 2), Groups(2)))
		},
		"conv1x1": func(x []Tensor) []Tensor { return one(x[0].Conv2d(x[1], Bias(x[2]))) },
	}
	for _, p := range []float64{0, 0.5, 1, 1.5, 2, 3, math.Inf(1)} {
		name := fmt.Sprintf("cdist p=%g", p)
		if math.IsInf(p, 1) {
			name = "cdist p=inf"
		}
		table[name] = func(x []Tensor) []Tensor { return one(x[0].CDist(x[1], P(p))) }
	}
	for _, corners := range []bool{false, true} {
		word := map[bool]string{false: "False", true: "True"}[corners]
		table["affine_grid 2d "+word] = func(x []Tensor) []Tensor {
			return one(x[0].AffineGrid([]int{2, 3, 4, 5}, AlignCorners(corners)))
		}
		table["affine_grid 3d "+word] = func(x []Tensor) []Tensor {
			return one(x[0].AffineGrid([]int{2, 1, 3, 1, 2}, AlignCorners(corners)))
		}
		for mode, m := range map[string]Interpolation{"bilinear": InterpolationBilinear, "nearest": InterpolationNearest, "bicubic": InterpolationBicubic} {
			for padding, p := range map[string]PaddingMode{"zeros": PaddingModeZeros, "border": PaddingModeBorder, "reflection": PaddingModeReflection} {
				f := func(x []Tensor) []Tensor { return one(x[0].GridSample(x[1], m, p, AlignCorners(corners))) }
				for axes := 2; axes <= 3 && (axes == 2 || mode != "bicubic"); axes++ {
					table[fmt.Sprintf("grid_sample %dd %s %s %s", axes, mode, padding, word)] = f
				}
			}
		}
	}
	return table
}

// TestFamilies compares the operators that follow the TF32 flags through the
// products they are made of (S19) with PyTorch's.
func TestFamilies(t *testing.T) {
	text, err := os.ReadFile("../vectors/families.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Operators []vector }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Operators) != len(families) {
		t.Errorf("%d vectors for %d operators", len(file.Operators), len(families))
	}
	for _, v := range file.Operators {
		f := families[v.Name]
		if f == nil {
			t.Errorf("there is no operator for vector %q", v.Name)
			continue
		}
		for _, s := range settings {
			t.Run(v.Name+"/"+s.name, func(t *testing.T) { s.check(t, v, f) })
		}
	}
}
