package opaque_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/opaque"
	"github.com/sinter-go/sinter/ir"
)

// A channelRecorder is a recorder of a GPU of few multiprocessors whose scratch is told apart.
type channelRecorder struct {
	recorder
	asked []int64
}

func (r *channelRecorder) Multiprocessors() int { return 4 }

func (r *channelRecorder) Scratch(n int64) (uint64, error) {
	r.asked = append(r.asked, n)
	r.scratch += 0x1000
	return r.scratch, nil
}

// lastNorm are the parameters of the kernels of a norm of images whose channels are last, and
// lastGrad those of its gradient.
type (
	lastRows struct {
		Rows, Channels, Each, Parts int64
		Lanes                       int32
		_                           int32
	}
	lastNorm struct {
		lastRows
		Out, X, Weight, Bias, Average, Variance, Mean, Spread, Moments, By uint64
		Eps                                                                float64
	}
	lastGrad struct {
		lastRows
		DX, G, X, Weight, Average, Variance, DWeight, DBias, Sums, By uint64
		Eps                                                           float64
	}
)

// normsOf returns a call of a norm and one of its gradient; last and other say which images have their channels last.
func normsOf(dt ir.DType, channels int, last, other bool) (norm, grad *ir.Call) {
	const at = 1 << 20
	image := func(n uint64, last bool) ir.View {
		v := ir.View{Addr: at * n, DType: dt, Shape: []int{2, channels, 30, 10}}
		if v.Strides = ir.ContiguousStrides(v.Shape); last {
			v.Strides = ir.ChannelsLastStrides(v.Shape)
		}
		return v
	}
	stat := func(n uint64, dt ir.DType) ir.View {
		return ir.View{Addr: at * n, DType: dt, Shape: []int{channels}, Strides: []int{1}}
	}
	one := func(n uint64) ir.View { return stat(n, dt) }
	measured := func(n uint64) ir.View { return stat(n, ir.Float64) }
	attrs := []ir.Value{ir.FloatValue(0.5)}
	return &ir.Call{Out: []ir.View{image(1, last), one(9), one(10), measured(5), measured(6)}, In: []ir.View{image(2, other), one(3), one(4)}, Attrs: attrs},
		&ir.Call{Out: []ir.View{image(1, last), one(7), one(8)}, In: []ir.View{image(2, other), image(3, last), one(4), measured(5), measured(6)}, Attrs: attrs}
}

// TestChannelsLast: norms of 16-bit images whose channels are last go to the kernels of such
// images, with parts for every multiprocessor.
func TestChannelsLast(t *testing.T) {
	for _, c := range []struct {
		name        string
		dtype       ir.DType
		channels    int
		last, other bool
		want        []string // launches of the norm
		parts       lastRows
	}{
		{"all last", ir.BFloat16, 24, true, true, []string{
			"channel_last last_moments_bfloat16 [1 3 1] [256 1 1] 0", "channel_last last_norm_end_bfloat16 [3 1 1] [256 1 1] 0", "channel_last last_norm_bfloat16 [1 3 1] [256 1 1] 0",
		}, lastRows{600, 24, 256, 3, 4, 0}},
		{"many channels", ir.Float16, 512, true, true, []string{
			"channel_last last_moments_float16 [2 7 1] [256 1 1] 0", "channel_last last_norm_end_float16 [64 1 1] [256 1 1] 0", "channel_last last_norm_float16 [2 7 1] [256 1 1] 0",
		}, lastRows{600, 512, 96, 7, 32, 0}},
		{"an operand otherwise", ir.BFloat16, 24, true, false, []string{
			"store 200000 to 1000",
			"channel_last last_moments_bfloat16 [1 3 1] [256 1 1] 0", "channel_last last_norm_end_bfloat16 [3 1 1] [256 1 1] 0", "channel_last last_norm_bfloat16 [1 3 1] [256 1 1] 0",
		}, lastRows{600, 24, 256, 3, 4, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			norm, grad := normsOf(c.dtype, c.channels, c.last, c.other)
			r := &channelRecorder{}
			if err := opaque.ChannelNorm(r, norm); err != nil {
				t.Fatal(err)
			}
			var launched []string
			for _, l := range r.launch {
				if len(l) < 5 || l[:5] != "dense" {
					launched = append(launched, l)
				}
			}
			if diff := cmp.Diff(c.want, launched); diff != "" {
				t.Errorf("launches (-want +got):\n%s", diff)
			}
			p := paramsOf[lastNorm](t, r.params[0])
			if diff := cmp.Diff(c.parts, p.lastRows, cmp.AllowUnexported(lastRows{})); diff != "" || p.Out != norm.Out[0].Addr || p.Average != norm.Out[1].Addr || p.Spread != norm.Out[4].Addr || p.Eps != 0.5 {
				t.Errorf("parameters %+v (-want +got):\n%s", *p, diff)
			}
			if moments := c.parts.Parts * c.parts.Channels * 16; r.asked[len(r.asked)-2] != moments || r.asked[len(r.asked)-1] != c.parts.Channels*12 {
				t.Errorf("%d bytes of scratch, want %d and %d last", r.asked, moments, c.parts.Channels*12)
			}
			r = &channelRecorder{}
			if err := opaque.ChannelNormGrad(r, grad); err != nil {
				t.Fatal(err)
			}
			if p := paramsOf[lastGrad](t, r.params[0]); p.DX != grad.Out[0].Addr || p.X != grad.In[1].Addr || p.DWeight != grad.Out[1].Addr || p.DBias != grad.Out[2].Addr {
				t.Errorf("parameters %+v", *p)
			}
		})
	}
}

// TestChannelsNotLast: other norms go to the kernels of planes.
func TestChannelsNotLast(t *testing.T) {
	for name, of := range map[string]struct {
		dtype    ir.DType
		channels int
		last     bool
	}{"channels first": {ir.BFloat16, 24, false}, "few channels": {ir.BFloat16, 12, true}, "float32": {ir.Float32, 24, true}} {
		norm, _ := normsOf(of.dtype, of.channels, of.last, of.last)
		r := &channelRecorder{}
		if err := opaque.ChannelNorm(r, norm); err != nil {
			t.Fatal(err)
		}
		for _, p := range r.params {
			if len(p) != 5*8+10*8 {
				t.Errorf("%s: %d bytes of parameters, launches %q", name, len(p), r.launch)
			}
		}
	}
}
