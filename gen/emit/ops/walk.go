package ops

import "github.com/sinter-go/sinter/gen/schema"

// walkBlock calls f with every value of b and the value it is an argument of,
// or nil.
func walkBlock(b *schema.Block, f func(v, parent *schema.Value)) {
	walkStmts(b.Stmts, f)
}

func walkStmts(stmts []schema.Stmt, f func(v, parent *schema.Value)) {
	for i := range stmts {
		s := &stmts[i]
		if s.If != nil {
			walkValue(s.If, nil, f)
		}
		walkStmts(s.Body, f)
		for j := range s.Values {
			walkValue(&s.Values[j], nil, f)
		}
	}
}

func walkValue(v, parent *schema.Value, f func(v, parent *schema.Value)) {
	f(v, parent)
	for i := range v.Args {
		walkValue(&v.Args[i], v, f)
	}
}

// metadataOf are the host functions that read a tensor's metadata alone.
var metadataOf = map[string]bool{"shape": true, "shapes": true, "layout": true, "dtype_of": true, "rank": true, "numel": true, "len": true}

// reads returns the names whose values b needs: names that only have their
// metadata read are left out.
func reads(b *schema.Block) map[string]bool {
	names := map[string]bool{}
	walkBlock(b, func(v, parent *schema.Value) {
		tensors := v.Type == schema.Tensor || v.Type == schema.TensorList
		meta := tensors && parent != nil && parent.Kind == schema.HostValue && metadataOf[parent.Name]
		if v.Kind == schema.NameValue && !meta {
			names[v.Name] = true
		}
	})
	return names
}
