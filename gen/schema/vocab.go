package schema

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/shapes"
)

// A vocabulary is the functions over metadata that a schema may name.
type vocabulary struct {
	shape, view, host map[string]any
}

// irVocabulary returns the functions of packages ir and shapes.
func irVocabulary() vocabulary {
	return vocabulary{shape: shapes.Rules, view: ir.ViewRules, host: shapes.Functions}
}
