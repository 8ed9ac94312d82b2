package expr

import "sort"

// class says for which kinds of compute dtype a function is defined.
type class uint8

const (
	onFloat class = 1 << iota
	onInt
	onBool
	onComplex
	onReal = onFloat | onInt
	onNum  = onReal | onComplex
	onAll  = onNum | onBool
)

// rule says how a function's arguments combine and what it gives.
type rule uint8

const (
	sameKind rule = iota // arguments are joined; the result is of their kind
	toBool               // arguments are joined; the result is a bool
	logic                // bool arguments, bool result
	choose               // a bool, then two joined arguments of the result's kind
	shifted              // the first argument's kind; the second is a count
	toReal               // one argument; the real kind
	toInt                // conversion to int64
	toT                  // conversion to the compute dtype
	pair                 // two reals give a complex
	drawT                // seed and offset; a number of the compute dtype
	drawInt              // seed and offset; an int64
)

// A function is one row of the language: everything that is known about an
// operator or an intrinsic. Derivatives are expressions over the arguments
// a, b, c, one an argument; "" means zero everywhere, "?" that there is none.
// They hold for real arguments, and for complex ones where the function is
// analytic; the others' rules for complex numbers are in backward.
type function struct {
	arity    int
	class    class
	rule     rule
	operator bool     // written with a symbol
	goName   string   // in package num; "" means the CamelCase name
	diff     []string // by argument
	analytic bool     // holomorphic where complex
	ints     ints     // what it does with the sign of integers
}

// Draws reports whether a function gives random numbers, which depend on the element's
// index.
func Draws(name string) bool {
	f := functions[name]
	return f != nil && (f.rule == drawT || f.rule == drawInt)
}

// ints says what a function does with the sign of integers.
type ints uint8

const (
	signless ints = 1 << iota // gives the same bits of those that are signed and those that are not
	ordering                  // compares them or hands them on: gives the same of others in the same order
)

// Signless reports whether a function gives the same bits of integers, whether they are
// signed or not.
func Signless(name string) bool { return handles(name, signless) }

// Orders reports whether a function does nothing with integers but compare them and hand
// them on.
func Orders(name string) bool { return handles(name, ordering) }

func handles(name string, how ints) bool {
	f := functions[name]
	return f != nil && f.ints&how != 0
}

// functions is the language's one table. The checker, the printers of source text, the
// derivatives and the interpreter all ask it, so a function that is not here is nowhere.
var functions = map[string]*function{
	// Operators.
	"add":    {arity: 2, class: onAll, ints: signless, operator: true, diff: []string{"1", "1"}, analytic: true},
	"sub":    {arity: 2, class: onNum, ints: signless, operator: true, diff: []string{"1", "-1"}, analytic: true},
	"mul":    {arity: 2, class: onAll, ints: signless, operator: true, diff: []string{"b", "a"}, analytic: true},
	"div":    {arity: 2, class: onNum, operator: true, diff: []string{"1/b", "-(a/b)/b"}, analytic: true},
	"rem":    {arity: 2, class: onReal, operator: true, goName: "TruncRem", diff: []string{"1", "-trunc(a/b)"}},
	"neg":    {arity: 1, class: onNum, ints: signless, operator: true, diff: []string{"-1"}, analytic: true},
	"lt":     {arity: 2, class: onReal | onBool, ints: ordering, rule: toBool, operator: true, diff: []string{"", ""}},
	"le":     {arity: 2, class: onReal | onBool, ints: ordering, rule: toBool, operator: true, diff: []string{"", ""}},
	"gt":     {arity: 2, class: onReal | onBool, ints: ordering, rule: toBool, operator: true, diff: []string{"", ""}},
	"ge":     {arity: 2, class: onReal | onBool, ints: ordering, rule: toBool, operator: true, diff: []string{"", ""}},
	"eq":     {arity: 2, class: onAll, ints: signless | ordering, rule: toBool, operator: true, diff: []string{"", ""}},
	"ne":     {arity: 2, class: onAll, ints: signless | ordering, rule: toBool, operator: true, diff: []string{"", ""}},
	"land":   {arity: 2, class: onBool, rule: logic, operator: true, diff: []string{"", ""}},
	"lor":    {arity: 2, class: onBool, rule: logic, operator: true, diff: []string{"", ""}},
	"lnot":   {arity: 1, class: onBool, rule: logic, operator: true, diff: []string{""}},
	"and":    {arity: 2, class: onInt | onBool, ints: signless, operator: true, diff: []string{"", ""}},
	"or":     {arity: 2, class: onInt | onBool, ints: signless, operator: true, diff: []string{"", ""}},
	"xor":    {arity: 2, class: onInt | onBool, ints: signless, operator: true, diff: []string{"", ""}},
	"andnot": {arity: 2, class: onInt | onBool, ints: signless, operator: true, diff: []string{"", ""}},
	"not":    {arity: 1, class: onInt | onBool, ints: signless, operator: true, diff: []string{""}},
	"shl":    {arity: 2, class: onInt, ints: signless, rule: shifted, operator: true, diff: []string{"", ""}},
	"shr":    {arity: 2, class: onInt, rule: shifted, operator: true, diff: []string{"", ""}},

	// Selection and conversion.
	"where": {arity: 3, class: onAll, ints: signless | ordering, rule: choose, diff: []string{"", "?", "?"}, analytic: true}, // differentiated by its branches
	"int":   {arity: 1, class: onReal | onBool, rule: toInt, diff: []string{""}},
	"cast":  {arity: 1, class: onReal | onBool, rule: toT, diff: []string{"1"}},

	// Order.
	"abs":  {arity: 1, class: onNum, rule: toReal, diff: []string{"sign(a)"}},
	"sign": {arity: 1, class: onReal | onBool, diff: []string{""}},
	"min":  {arity: 2, class: onReal | onBool, ints: ordering, diff: []string{"where(a == b, 0.5, where(a > b, 0, 1))", "where(a == b, 0.5, where(a < b, 0, 1))"}},
	"max":  {arity: 2, class: onReal | onBool, ints: ordering, diff: []string{"where(a == b, 0.5, where(a < b, 0, 1))", "where(a == b, 0.5, where(a > b, 0, 1))"}},
	"fmin": {arity: 2, class: onFloat, goName: "FMin", diff: []string{"where(a <= b || isnan(b), 1, 0)", "where(a <= b || isnan(b), 0, 1)"}},
	"fmax": {arity: 2, class: onFloat, goName: "FMax", diff: []string{"where(a >= b || isnan(b), 1, 0)", "where(a >= b || isnan(b), 0, 1)"}},

	// Rounding and remainders.
	"floor":     {arity: 1, class: onReal, ints: signless, diff: []string{""}},
	"ceil":      {arity: 1, class: onReal, ints: signless, diff: []string{""}},
	"trunc":     {arity: 1, class: onReal, ints: signless, diff: []string{""}},
	"round":     {arity: 1, class: onReal, ints: signless, diff: []string{""}},
	"fmod":      {arity: 2, class: onReal, goName: "FMod", diff: []string{"1", "-trunc(a/b)"}},
	"remainder": {arity: 2, class: onReal, diff: []string{"1", "-floor(a/b)"}},
	"floordiv":  {arity: 2, class: onReal, goName: "FloorDiv", diff: []string{"", ""}},
	"truncdiv":  {arity: 2, class: onReal, goName: "TruncDiv", diff: []string{"", ""}},

	// Powers, exponentials, logarithms.
	"sqrt":  {arity: 1, class: onFloat | onComplex, diff: []string{"1/(2*sqrt(a))"}, analytic: true},
	"rsqrt": {arity: 1, class: onFloat | onComplex, diff: []string{"-0.5*rsqrt(a)/a"}, analytic: true},
	"cbrt":  {arity: 1, class: onFloat, diff: []string{"1/(3*cbrt(a)*cbrt(a))"}},
	"pow": {arity: 2, class: onNum, analytic: true, diff: []string{
		"where(b == 0, 0, b*pow(a, b - 1))", "where(a == 0 && real(b) >= 0, 0, pow(a, b)*log(a))"}},
	"exp":     {arity: 1, class: onFloat | onComplex, diff: []string{"exp(a)"}, analytic: true},
	"exp2":    {arity: 1, class: onFloat | onComplex, diff: []string{"exp2(a)*Ln2"}, analytic: true},
	"expm1":   {arity: 1, class: onFloat | onComplex, diff: []string{"expm1(a) + 1"}, analytic: true},
	"log":     {arity: 1, class: onFloat | onComplex, diff: []string{"1/a"}, analytic: true},
	"log1p":   {arity: 1, class: onFloat | onComplex, goName: "Log1p", diff: []string{"1/(1 + a)"}, analytic: true},
	"log2":    {arity: 1, class: onFloat | onComplex, diff: []string{"1/(Ln2*a)"}, analytic: true},
	"log10":   {arity: 1, class: onFloat | onComplex, diff: []string{"1/(2.302585092994046*a)"}, analytic: true},
	"sigmoid": {arity: 1, class: onFloat | onComplex, diff: []string{"sigmoid(a)*(1 - sigmoid(a))"}, analytic: true},

	// Trigonometric and hyperbolic.
	"sin":   {arity: 1, class: onFloat | onComplex, diff: []string{"cos(a)"}, analytic: true},
	"cos":   {arity: 1, class: onFloat | onComplex, diff: []string{"-sin(a)"}, analytic: true},
	"tan":   {arity: 1, class: onFloat | onComplex, diff: []string{"1 + tan(a)*tan(a)"}, analytic: true},
	"asin":  {arity: 1, class: onFloat | onComplex, diff: []string{"1/sqrt(1 - a*a)"}, analytic: true},
	"acos":  {arity: 1, class: onFloat | onComplex, diff: []string{"-1/sqrt(1 - a*a)"}, analytic: true},
	"atan":  {arity: 1, class: onFloat | onComplex, diff: []string{"1/(1 + a*a)"}, analytic: true},
	"sinh":  {arity: 1, class: onFloat | onComplex, diff: []string{"cosh(a)"}, analytic: true},
	"cosh":  {arity: 1, class: onFloat | onComplex, diff: []string{"sinh(a)"}, analytic: true},
	"tanh":  {arity: 1, class: onFloat | onComplex, diff: []string{"1 - tanh(a)*tanh(a)"}, analytic: true},
	"asinh": {arity: 1, class: onFloat | onComplex, diff: []string{"1/sqrt(a*a + 1)"}, analytic: true},
	"acosh": {arity: 1, class: onFloat | onComplex, diff: []string{"1/(sqrt(a - 1)*sqrt(a + 1))"}, analytic: true},
	"atanh": {arity: 1, class: onFloat | onComplex, diff: []string{"1/(1 - a*a)"}, analytic: true},
	"atan2": {arity: 2, class: onFloat, diff: []string{
		"where(a == 0 && b == 0, 0, b/hypot(a, b)/hypot(a, b))", "where(a == 0 && b == 0, 0, -a/hypot(a, b)/hypot(a, b))"}},
	"hypot": {arity: 2, class: onFloat, diff: []string{"a/hypot(a, b)", "b/hypot(a, b)"}},

	// Special functions.
	"erf":     {arity: 1, class: onFloat, diff: []string{"TwoOverSqrtPi*exp(-a*a)"}},
	"erfc":    {arity: 1, class: onFloat, diff: []string{"-TwoOverSqrtPi*exp(-a*a)"}},
	"erfinv":  {arity: 1, class: onFloat, diff: []string{"exp(erfinv(a)*erfinv(a))/TwoOverSqrtPi"}},
	"lgamma":  {arity: 1, class: onFloat, diff: []string{"digamma(a)"}},
	"digamma": {arity: 1, class: onFloat, diff: []string{"?"}},

	// Representation.
	"copysign": {arity: 2, class: onFloat, diff: []string{"where(a == 0, 0, sign(a)*copysign(1, b))", ""}},
	"signbit":  {arity: 1, class: onReal | onBool, rule: toBool, diff: []string{""}},
	"isnan":    {arity: 1, class: onAll, ints: signless | ordering, rule: toBool, goName: "IsNaN", diff: []string{""}},
	"isinf":    {arity: 1, class: onAll, ints: signless | ordering, rule: toBool, goName: "IsInf", diff: []string{""}},
	"isfinite": {arity: 1, class: onAll, ints: signless | ordering, rule: toBool, goName: "IsFinite", diff: []string{""}},
	"fma":      {arity: 3, class: onFloat, goName: "FMA", diff: []string{"b", "a", "1"}},

	// Complex numbers.
	"conj":    {arity: 1, class: onAll, diff: []string{"1"}},
	"real":    {arity: 1, class: onNum, rule: toReal, diff: []string{"1"}},
	"imag":    {arity: 1, class: onNum, rule: toReal, diff: []string{""}},
	"angle":   {arity: 1, class: onFloat | onComplex, rule: toReal, diff: []string{""}},
	"complex": {arity: 2, class: onComplex, rule: pair, diff: []string{"?", "?"}},

	// Counter-based random numbers: Philox 4x32-10 of seed, offset and index.
	"uniform":     {arity: 2, class: onFloat | onComplex, rule: drawT, diff: []string{"", ""}},
	"normal":      {arity: 2, class: onFloat | onComplex, rule: drawT, diff: []string{"", ""}},
	"random_bits": {arity: 2, class: onAll, rule: drawInt, diff: []string{"", ""}},
}

// Functions returns the names of the functions that can be called, sorted.
func Functions() []string {
	var names []string
	for n, f := range functions {
		if !f.operator {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	return names
}
