package numtest

import (
	"math"
	"testing"
)

func TestULPs(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		got, want   float64
		bits, least int
		units       float64
	}{
		{1, 1, 24, -149, 0},
		{1 + 0x1p-23, 1, 24, -149, 1},
		{1 + 0x1p-52, 1, 53, -1074, 1},
		{0, 0x1p-149, 24, -149, 1},
		{math.Copysign(0, -1), 0, 24, -149, inf},
		{math.NaN(), math.NaN(), 24, -149, 0},
		{math.NaN(), 1, 24, -149, inf},
		{1, math.NaN(), 24, -149, inf},
		{inf, 0x1p128, 24, -149, 0},
		{inf, 0x1p128 - 0x1p103, 24, -149, 0},
		{inf, 0x1p127, 24, -149, inf},
		{inf, 0x1p100, 24, -149, inf},
		{-inf, 0x1p128, 24, -149, inf},
		{inf, math.MaxFloat64, 53, -1074, inf},
		{inf, inf, 53, -1074, 0},
		{-inf, inf, 53, -1074, inf},
	} {
		if got := ULPs(c.got, c.want, c.bits, c.least); got != c.units {
			t.Errorf("%g is %g units of %d bits from %g, want %g", c.got, got, c.bits, c.want, c.units)
		}
	}
}
