package fusion

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMemo: what is asked for again and again is made once, however many others are; what is
// not asked for goes, and at most two times mostKept stay. What failed is made again.
func TestMemo(t *testing.T) {
	var m memo[int]
	made := map[string]int{}
	get := func(key string) {
		t.Helper()
		if _, err := m.get([]byte(key), false, func() (int, error) { made[key]++; return len(made), nil }); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 4 * mostKept {
		get(fmt.Sprint(i))
		get("often")
		if n := len(m.of) + len(m.old); n > 2*mostKept {
			t.Fatalf("%d entries after %d", n, i)
		}
	}
	get("0")
	if diff := cmp.Diff([]int{1, 2, 1}, []int{made["often"], made["0"], made["1"]}); diff != "" {
		t.Errorf("how often things were made (-want +got):\n%s", diff)
	}
	if _, err := m.get([]byte("unknown"), true, nil); !errors.Is(err, errNoCode) {
		t.Errorf("a quick question for what was not made: %v", err)
	}
	wrong := errors.New("wrong")
	for want := range 2 {
		_, err := m.get([]byte("failing"), false, func() (int, error) { made["failing"]++; return 0, wrong })
		if !errors.Is(err, wrong) || made["failing"] != want+1 {
			t.Errorf("%v, made %d times", err, made["failing"])
		}
	}
}
