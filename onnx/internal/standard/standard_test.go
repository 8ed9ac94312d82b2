package standard

import "testing"

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
