package schema

import "github.com/sinter-go/sinter/ir"

// A vocabulary is the functions over metadata that a schema may name.
type vocabulary struct {
	shape, view, host map[string]any
}

// irVocabulary returns the functions of package ir.
func irVocabulary() vocabulary {
	return vocabulary{shape: ir.ShapeRules, view: ir.ViewRules, host: ir.HostFuncs}
}
