package standard

import (
	"strconv"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	tests := []struct {
		name         string
		opset, since int
		known        bool
	}{
		{"Relu", 7, 6, true}, {"Relu", 13, 13, true}, {"Relu", 14, 14, true}, {"Clip", 10, 6, true}, {"Clip", 11, 11, true},
		{"Attention", 22, 0, true}, {"Attention", 23, 23, true}, {"NoSuch", 20, 0, false},
	}
	for _, test := range tests {
		op, known := Find("", test.name, test.opset)
		since := 0
		if op != nil {
			since = op.Since
		}
		if known != test.known || since != test.since {
			t.Errorf("%s of opset %d: since %d, known %t; want %d, %t", test.name, test.opset, since, known, test.since, test.known)
		}
	}
}

func TestTable(t *testing.T) {
	op, _ := Find("", "Gemm", 13)
	if a, ok := op.Attribute("alpha"); !ok || a.Kind != "FLOAT" || a.Default != "1.0" || a.Required {
		t.Errorf("alpha of Gemm is %+v", a)
	}
	if !op.Inputs[2].Optional || op.Inputs[0].Optional || len(op.Types["T"]) == 0 {
		t.Errorf("Gemm is %+v", op)
	}
	if n := Newest(""); n < 28 {
		t.Errorf("the newest opset is %d", n)
	}
	op, _ = Find("", "DynamicQuantizeLinear", 20)
	if body, _, err := op.Body(20); err != nil || len(body) == 0 {
		t.Errorf("DynamicQuantizeLinear has no body: %v", err)
	}
}

// What is found of a version is all that the text has of it, and every version is found.
func TestSections(t *testing.T) {
	var op *Operator
	have := map[string]int{}
	check := func() {
		if op == nil {
			return
		}
		for word, n := range map[string]int{"type": len(op.Types), "in": len(op.Inputs), "out": len(op.Outputs), "attr": len(op.Attributes), "body": len(op.bodies)} {
			if n != have[word] {
				t.Errorf("%s %s of %d: %d lines of %q, want %d", op.Domain, op.Name, op.Since, n, word, have[word])
			}
		}
	}
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		have[f[0]]++
		if f[0] != "op" {
			continue
		}
		check()
		clear(have)
		since, err := strconv.Atoi(f[3])
		if err != nil {
			t.Fatal(err)
		}
		if op, _ = Find(f[1], f[2], since); op == nil || op.Domain != f[1] || op.Name != f[2] || op.Since != since || op.Deprecated != (len(f) > 4) {
			t.Errorf("%q is found as %+v", line, op)
		}
	}
	check()
}
