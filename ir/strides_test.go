package ir_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir"
)

func TestChannelsLastStrides(t *testing.T) {
	for _, c := range []struct{ shape, want []int }{
		{[]int{2, 3, 5, 7}, []int{105, 1, 21, 3}},
		{[]int{2, 3, 5}, []int{15, 1, 3}},
		{[]int{2, 3}, []int{3, 1}},
		{[]int{4}, []int{1}},
		{[]int{}, []int{}},
	} {
		if diff := cmp.Diff(c.want, ir.ChannelsLastStrides(c.shape)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.shape, diff)
		}
	}
}
