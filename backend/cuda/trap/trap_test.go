package trap

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTake(t *testing.T) {
	for _, c := range []struct {
		name   string
		record Record
		want   error
		text   string
	}{
		{"none", Record{}, nil, ""},
		{"being written", Record{state: 1, who: uint32(Gather)}, nil, ""},
		{
			"index", Record{state: 2, who: uint32(Gather), value: -3, limit: 7}, &Error{Operator: "gather", Value: -3, Limit: 7},
			"gather: index -3 is out of range for an axis of 7 elements (want 0 to 6)",
		},
		{
			"count", Record{state: 2, who: uint32(NonzeroSized), value: 3, limit: 7}, &Error{Operator: "nonzero_sized", Value: 3, Limit: 7},
			"nonzero_sized: x has 3 nonzero elements, not 7",
		},
		{
			"unknown", Record{state: 2, who: 99, value: 3, limit: 7}, &Error{Operator: "an operator", Value: 3, Limit: 7},
			"an operator: index 3 is out of range for an axis of 7 elements (want 0 to 6)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := c.record
			err := Take(&r)
			if d := cmp.Diff(c.want, err); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if err == nil {
				return
			}
			if err.Error() != c.text {
				t.Errorf("says %q, want %q", err, c.text)
			}
			if err := Take(&r); err != nil {
				t.Errorf("a second time: %v", err)
			}
		})
	}
}
