package samples

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	. "github.com/sinter-go/sinter/generated/tensor"
)

// TestFloat8 compares floats of 8 bits with PyTorch's: the numbers of all codes, and the codes
// of what is near them and between.
func TestFloat8(t *testing.T) {
	text, err := os.ReadFile("../vectors/float8.json")
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]struct {
		Values []*float64
		X      []float64
		Codes  []uint8
		Top    float64
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for name, format := range map[string]Float8{"e4m3fn": Float8E4m3fn, "e4m3fnuz": Float8E4m3fnuz, "e5m2": Float8E5m2, "e5m2fnuz": Float8E5m2fnuz} {
		v := file[name]
		if len(v.Values) != 256 || len(v.X) == 0 {
			t.Fatalf("%s: no vectors", name)
		}
		t.Run(name, func(t *testing.T) {
			all := make([]uint8, 256)
			for i := range all {
				all[i] = uint8(i)
			}
			got, err := Data[float32](From(all).Float8Decode(format))
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range v.Values {
				switch g := float64(got[i]); {
				case want == nil && g == g, want != nil && math.Abs(*want) < 1e300 && g != *want, want != nil && math.Abs(*want) == 1e300 && g != math.Inf(int(*want/1e300)):
					t.Errorf("code %#x is %g", i, g)
				}
			}
			for _, dt := range []DType{Float32, Float64} {
				codes, err := Data[uint8](From(v.X).ToType(dt).Float8Encode(format, Saturate(false)))
				if err != nil {
					t.Fatal(err)
				}
				limited, err := Data[uint8](From(v.X).ToType(dt).Float8Encode(format))
				if err != nil {
					t.Fatal(err)
				}
				for i, want := range v.Codes {
					number := v.Values[want]
					if nan := number == nil && v.Values[codes[i]] == nil; codes[i] != want && !nan {
						t.Errorf("%s %g has code %#x, want %#x", dt, v.X[i], codes[i], want)
					}
					if number == nil || math.Abs(*number) == 1e300 {
						number = v.Values[limited[i]]
						if number == nil || *number != math.Copysign(v.Top, v.X[i]) {
							t.Errorf("%s %g has code %#x, want that of the largest number", dt, v.X[i], limited[i])
						}
					} else if limited[i] != want {
						t.Errorf("%s %g has code %#x, want %#x", dt, v.X[i], limited[i], want)
					}
				}
			}
		})
	}
}

// TestInt4 packs numbers of 4 bits and unpacks them.
func TestInt4(t *testing.T) {
	x := From([]int8{-8, 7, 1, -1, 0, 3}, 2, 3)
	packed, err := Data[uint8](x.Int4Pack())
	if want := []uint8{0x78, 0x01, 0x0f, 0x03}; err != nil || !slices.Equal(packed, want) {
		t.Errorf("packed %x, %v; want %x", packed, err, want)
	}
	back, err := Data[int8](x.Int4Pack().Int4Unpack(3))
	if want := []int8{-8, 7, 1, -1, 0, 3}; err != nil || !slices.Equal(back, want) {
		t.Errorf("unpacked %v, %v; want %v", back, err, want)
	}
	plain, err := Data[int8](x.Int4Pack().Int4Unpack(3, Signed(false)))
	if want := []int8{8, 7, 1, 15, 0, 3}; err != nil || !slices.Equal(plain, want) {
		t.Errorf("unpacked without signs %v, %v; want %v", plain, err, want)
	}
	if err := x.Int4Pack().Int4Unpack(5).Err(); err == nil {
		t.Error("5 numbers of 4 bits in 2 bytes are no error")
	}
}
