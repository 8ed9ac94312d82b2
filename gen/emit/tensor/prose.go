package tensor

import (
	"regexp"
	"strings"

	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
)

// schemaName finds names of the schema in prose: words joined by underscores, and names
// such as conv1d. Of others, as sum, prose does not tell whether it means the operator.
var schemaName = regexp.MustCompile(`\b[A-Za-z][a-z0-9]*(_[a-z0-9]+)+\b|\b[a-z]+[0-9]d\b`)

// prose returns what the schema says of op with the names of operators and arguments that
// Go has for them. Others, such as PyTorch's, stay.
func (e *emitter) prose(op *schema.Op, text string) string {
	return schemaName.ReplaceAllStringFunc(text, func(word string) string {
		name := strings.ToLower(word[:1]) + word[1:]
		for _, p := range op.Params {
			switch {
			case p.Name == name && p.Option:
				return optionName(p)
			case p.Name == name && name != word: // begins a sentence
				return schema.GoName(name)
			case p.Name == name:
				return unit.Local(name)
			}
		}
		if other := e.Spec.Lookup(name); other != nil {
			return other.GoName
		}
		return word
	})
}

// operandName is how public functions call an operand.
func operandName(op *schema.Op, name string) string {
	for _, p := range op.Params {
		if p.Name == name && p.Option {
			return optionName(p)
		}
	}
	return unit.Local(name)
}

// listed joins names as in "a, b and c".
func listed(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}
