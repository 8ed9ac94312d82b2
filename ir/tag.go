package ir

import "iter"

// Tag is a set of facts about an operator.
type Tag uint32

// The tags.
const (
	TagPointwise        Tag = 1 << iota // one result element depends on one element of each operand
	TagReduction                        // folds axes
	TagView                             // the result shares the operand's storage
	TagNondeterministic                 // may differ from run to run on some backend
	TagSeeded                           // reads the random state
	TagSyncs                            // reads a value on the host
	TagTF32                             // follows the TF32 flags
	TagFactory                          // takes no tensor; the device comes from options
	TagHidden                           // emitted for gradients; no public function
	TagExact                            // a kernel that rounds nothing: results hold elements of operands, or positions
	TagWrites                           // may write to an operand, as its documentation says
	TagUpdates                          // a kernel whose result is the first operand but for some elements, and which may be written over it
	TagWide                             // computes in float64, whatever floats it is given; results are rounded once
	TagProduct                          // a kernel whose first two operands are factors of a matrix product
	TagPart                             // a view of places next to each other of the axis that the first attribute names, or of one of them without it
	TagFused                            // made of several while a program runs
	TagSignless                         // integers give the same bits, whether they are signed or not
	TagConvolution                      // a kernel that convolves its first two operands, by the attributes stride, padding, dilation and groups
	TagOrders                           // integers are compared and handed on, and nothing else is done with them
	TagNarrow                           // a joint operator in float32 whose operands may be of 16-bit floats, all of the same
	TagGradInput                        // a kernel that gives the gradient of a convolution's input from that of its result, the first operand
	TagGradWeight                       // a kernel that gives the gradient of a convolution's weight from that of its result and its input, the first operands
	TagChannels                         // a kernel that treats each channel, axis 1, by itself; the first result and the operands of its shape are images
	TagJoin                             // a kernel that joins its operands along the axis that the first attribute names
	TagPool                             // a kernel that gives the greatest element of windows, the first of equal ones or NaN, and its place; attribute padding says what is around its operand
	TagUnpool                           // a kernel that gives 0 but for places, its second operand, each with the sum of the first operand's elements: the gradient of one with TagPool
)

// A TagName says what a tag is called.
type TagName struct {
	Tag  Tag
	Go   string // its constant in this package
	Word string // what an entry of a schema says for it; "" if entries do not set it
}

// tagNames is the only list of the tags besides their constants.
var tagNames = [...]TagName{
	{TagPointwise, "TagPointwise", ""},
	{TagReduction, "TagReduction", ""},
	{TagView, "TagView", ""},
	{TagNondeterministic, "TagNondeterministic", "nondeterministic"},
	{TagSeeded, "TagSeeded", "seeded"},
	{TagSyncs, "TagSyncs", "syncs"},
	{TagTF32, "TagTF32", "tf32"},
	{TagFactory, "TagFactory", ""},
	{TagHidden, "TagHidden", "hidden"},
	{TagExact, "TagExact", "exact"},
	{TagWrites, "TagWrites", "writes"},
	{TagUpdates, "TagUpdates", "updates"},
	{TagWide, "TagWide", "wide"},
	{TagProduct, "TagProduct", "product"},
	{TagPart, "TagPart", "part"},
	{TagFused, "TagFused", ""},
	{TagSignless, "TagSignless", ""},
	{TagConvolution, "TagConvolution", "convolution"},
	{TagOrders, "TagOrders", "orders"},
	{TagNarrow, "TagNarrow", "narrow"},
	{TagGradInput, "TagGradInput", "convolution_input"},
	{TagGradWeight, "TagGradWeight", "convolution_weight"},
	{TagChannels, "TagChannels", "channels"},
	{TagJoin, "TagJoin", "joins"},
	{TagPool, "TagPool", "pool"},
	{TagUnpool, "TagUnpool", "unpool"},
}

// TagNames gives every tag, in the order of the constants.
func TagNames() iter.Seq[TagName] {
	return func(yield func(TagName) bool) {
		for _, n := range tagNames {
			if !yield(n) {
				return
			}
		}
	}
}
