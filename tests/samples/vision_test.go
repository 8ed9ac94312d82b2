package samples

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	. "github.com/sinter-go/sinter/generated/tensor"
)

// pictures applies the operators of tests/vectors/vision.py.
var pictures = pictureTable()

func pictureTable() map[string]func(x []Tensor) []Tensor {
	table := map[string]func(x []Tensor) []Tensor{
		"im2col":         func(x []Tensor) []Tensor { return one(x[0].Im2col([]int{2, 3}, Padding(1, 0), Stride(2, 1))) },
		"im2col dilated": func(x []Tensor) []Tensor { return one(x[0].Im2col([]int{2}, Dilation(2, 3))) },
		"col2im": func(x []Tensor) []Tensor {
			return one(x[0].Col2im([]int{5, 6}, []int{2, 3}, Padding(1, 0), Stride(2, 1)))
		},
		"col2im one": func(x []Tensor) []Tensor { return one(x[0].Col2im([]int{5, 6}, []int{2}, Dilation(2, 3))) },
		"box_iou":    func(x []Tensor) []Tensor { return one(x[0].BoxIoU(x[1])) },
	}
	for mode, m := range map[string]ResizeMode{"linear": ResizeModeLinear, "bilinear": ResizeModeLinear, "trilinear": ResizeModeLinear, "bicubic": ResizeModeCubic} {
		for word, corners := range map[string]bool{"False": false, "True": true} {
			for _, to := range []int{3, 7} {
				name := fmt.Sprintf("interpolate %s %s %d", mode, word, to)
				table[name] = func(x []Tensor) []Tensor { return one(x[0].Interpolate([]int{to}, m, AlignCorners(corners))) }
				if mode == "bilinear" || mode == "bicubic" {
					table[name+" antialias"] = func(x []Tensor) []Tensor {
						return one(x[0].Interpolate([]int{to}, m, AlignCorners(corners), Antialias()))
					}
				}
			}
		}
	}
	for mode, m := range map[string]ResizeMode{"nearest": ResizeModeNearest, "nearest-exact": ResizeModeNearestExact} {
		for _, to := range []int{1, 4, 11} {
			table[fmt.Sprintf("interpolate %s %d", mode, to)] = func(x []Tensor) []Tensor { return one(x[0].Interpolate([]int{to, to}, m)) }
		}
	}
	for ratio := range 3 {
		for word, aligned := range map[string]bool{"False": false, "True": true} {
			table[fmt.Sprintf("roi_align %d %s", ratio, word)] = func(x []Tensor) []Tensor {
				return one(x[0].RoiAlign(x[1], []int{3, 2}, SpatialScale(0.6), SamplingRatio(ratio), Aligned(aligned)))
			}
		}
	}
	for _, limit := range []float64{0.1, 0.3, 0.7} {
		table[fmt.Sprintf("nms %g", limit)] = func(x []Tensor) []Tensor { return one(x[0].NMS(x[1], limit)) }
		table[fmt.Sprintf("batched_nms %g", limit)] = func(x []Tensor) []Tensor { return one(x[0].BatchedNMS(x[1], x[2], limit)) }
	}
	for name, opts := range map[string][]Option{
		"plain": nil, "strided": {Stride(2, 1), Padding(1, 2), Dilation(1, 2)}, "grouped": {Padding(1)},
	} {
		table["deform_conv2d "+name] = func(x []Tensor) []Tensor {
			return one(x[0].DeformConv2d(x[1], x[2], append([]Option{Bias(x[3]), Mask(x[4])}, opts...)...))
		}
		table["deform_conv2d "+name+" without"] = func(x []Tensor) []Tensor { return one(x[0].DeformConv2d(x[1], x[2], opts...)) }
	}
	return table
}

// TestVision compares what images are resized, cut and sampled by with PyTorch's and
// torchvision's.
func TestVision(t *testing.T) {
	text, err := os.ReadFile("../vectors/vision.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Operators []vector }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Operators) != len(pictures) {
		t.Errorf("%d vectors for %d operators", len(file.Operators), len(pictures))
	}
	for i, v := range file.Operators {
		f := pictures[v.Name]
		if f == nil {
			t.Errorf("there is no operator for vector %q", v.Name)
			continue
		}
		for k, s := range settings {
			if testing.Short() && (i+k)%2 != 0 {
				continue
			}
			t.Run(v.Name+"/"+s.name, func(t *testing.T) { s.check(t, v, f) })
		}
	}
}
