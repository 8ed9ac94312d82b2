package ops

import (
	"fmt"
	"go/token"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/shapes"
)

// block prints one body of the tensor language as Go statements over
// *core.Tensor.
type block struct {
	e        *emitter
	op       *schema.Op
	backward bool // operands' metadata come from grad, since not every operand is saved
	out      []jen.Code
	temps    int
	bundles  map[string][]string // a name for several results: their names, "_" where unused
	looks    bool                // core.Look was printed
}

// statements prints every statement of b.
func (p *block) statements(b *schema.Block) []jen.Code {
	p.bundles = map[string][]string{}
	p.list(b, b.Stmts)
	return p.out
}

func (p *block) list(b *schema.Block, stmts []schema.Stmt) {
	for i := range stmts {
		s := &stmts[i]
		switch {
		case s.If != nil:
			cond := p.value(*s.If)
			outer := p.out
			p.out = nil
			p.list(b, s.Body)
			ret := p.returned(s)
			inner := append(p.out, ret)
			p.out = append(outer, jen.If(cond).Block(inner...))
		case s.Return:
			p.out = append(p.out, p.returned(s))
		default:
			p.define(b, s)
		}
	}
}

func (p *block) returned(s *schema.Stmt) code {
	var vals []jen.Code
	for _, v := range s.Values {
		if names := p.bundles[v.Name]; v.Kind == schema.NameValue && names != nil {
			for _, n := range names {
				vals = append(vals, jen.Id(n))
			}
			continue
		}
		vals = append(vals, p.value(v))
	}
	return jen.Return(vals...)
}

func (p *block) define(b *schema.Block, s *schema.Stmt) {
	v := s.Values[0]
	if v.Type == schema.Several && len(s.Names) == 1 {
		used := selections(b, s.Names[0])
		var names []string
		var lhs []jen.Code
		for _, r := range v.Op.Results {
			n := "_"
			if used == nil || used[r.Name] {
				n = unit.Local(s.Names[0]) + schema.GoName(r.Name)
			}
			names, lhs = append(names, n), append(lhs, jen.Id(n))
		}
		p.bundles[s.Names[0]] = names
		p.out = append(p.out, jen.List(lhs...).Op(":=").Add(p.value(v)))
		return
	}
	var lhs []jen.Code
	for _, n := range s.Names {
		if n == "_" {
			lhs = append(lhs, jen.Id("_"))
			continue
		}
		lhs = append(lhs, jen.Id(unit.Local(n)))
	}
	val := p.value(v)
	p.out = append(p.out, jen.List(lhs...).Op(":=").Add(val))
}

// selections returns which results of the several that name stands for are
// selected in b; nil means all, since the name is returned as it is.
func selections(b *schema.Block, name string) map[string]bool {
	used := map[string]bool{}
	whole := false
	walkBlock(b, func(v, parent *schema.Value) {
		if v.Kind != schema.NameValue || v.Name != name {
			return
		}
		if parent != nil && parent.Kind == schema.SelectValue {
			used[parent.Name] = true
		} else {
			whole = true
		}
	})
	if whole {
		return nil
	}
	return used
}

// temp returns a name for a value that needs a statement of its own.
func (p *block) temp(base string) string {
	p.temps++
	return fmt.Sprintf("%s%d", base, p.temps)
}

// value prints one expression.
func (p *block) value(v schema.Value) code {
	switch v.Kind {
	case schema.NameValue:
		return jen.Id(unit.Local(v.Name))
	case schema.LiteralValue:
		return p.e.Literal(p.op, &schema.Param{Type: v.Type}, v.Literal)
	case schema.CallValue:
		return p.call(v)
	case schema.HostValue:
		return p.host(v)
	case schema.BinaryValue:
		return p.binary(v)
	case schema.UnaryValue:
		return jen.Op(v.Name).Add(p.operand(v.Args[0], token.UnaryPrec))
	case schema.ListValue:
		elem := jen.Int()
		if v.Type == schema.TensorList {
			elem = gofile.TensorType()
		}
		return jen.Index().Add(elem).Values(p.values(v.Args)...)
	case schema.IndexValue:
		if v.Args[0].Type == schema.TensorList {
			return gofile.CoreName("Part").Call(p.value(v.Args[0]), p.value(v.Args[1]))
		}
		return p.value(v.Args[0]).Index(p.value(v.Args[1]))
	case schema.SliceValue:
		return p.value(v.Args[0]).Index(p.bound(v.Args[1]), p.bound(v.Args[2]))
	case schema.SelectValue:
		return p.selected(v)
	case schema.ConvertValue:
		return p.convert(v)
	}
	panic(fmt.Sprintf("internal error: value kind %d", v.Kind))
}

func (p *block) values(vs []schema.Value) []jen.Code {
	var out []jen.Code
	for _, v := range vs {
		out = append(out, p.value(v))
	}
	return out
}

func (p *block) bound(v schema.Value) jen.Code {
	if v.Type == schema.NoType {
		return jen.Empty()
	}
	return p.value(v)
}

// operand prints v as one side of a sign of Go that binds with the given
// strength.
func (p *block) operand(v schema.Value, prec int) code {
	if v.Kind == schema.BinaryValue && precedence(v) < prec {
		return jen.Parens(p.value(v))
	}
	return p.value(v)
}

// precedence is the binding strength of a binary value in Go.
func precedence(v schema.Value) int {
	for t := token.ADD; t <= token.GEQ; t++ {
		if t.String() == v.Name {
			return t.Precedence()
		}
	}
	return token.LowestPrec
}

func (p *block) binary(v schema.Value) code {
	x, y := v.Args[0], v.Args[1]
	if y.Kind == schema.LiteralValue && y.Literal.Nil {
		if y.Type == schema.DType {
			return p.value(x).Op(v.Name).Add(gofile.IRName("Invalid"))
		}
		return p.value(x).Op(v.Name).Nil()
	}
	if x.Type == schema.Enum && y.Kind == schema.LiteralValue {
		for _, q := range p.op.Params {
			if q.Name == x.Name {
				return p.value(x).Op(v.Name).Add(p.e.Literal(p.op, q, y.Literal))
			}
		}
	}
	prec := precedence(v)
	return p.operand(x, prec).Op(v.Name).Add(p.operand(y, prec+1))
}

// selected prints one result of several.
func (p *block) selected(v schema.Value) code {
	from := v.Args[0]
	if from.Kind == schema.NameValue {
		return jen.Id(unit.Local(from.Name) + schema.GoName(v.Name))
	}
	name := p.temp(unit.Local(v.Name))
	var lhs []jen.Code
	for _, r := range v.Op.Results {
		if r.Name == v.Name {
			lhs = append(lhs, jen.Id(name))
		} else {
			lhs = append(lhs, jen.Id("_"))
		}
	}
	val := p.value(from)
	p.out = append(p.out, jen.List(lhs...).Op(":=").Add(val))
	return jen.Id(name)
}

// call prints the application of an operator.
func (p *block) call(v schema.Value) code {
	var args []jen.Code
	for i, q := range v.Op.Params {
		args = append(args, p.argument(v.Op, q, v.Args[i]))
	}
	if v.Op.Factory() {
		args = append(args, p.place())
	}
	return jen.Qual(p.e.OpsOf(v.Op), p.e.funcName(v.Op)).Call(args...)
}

// place is where a factory called in this block creates its result.
func (p *block) place() code {
	like := "dy"
	if !p.backward {
		like = ""
		for _, q := range p.op.Params {
			if q.Type == schema.Tensor && !q.Optional {
				like = unit.Local(q.Name)
				break
			}
			if q.Type == schema.TensorList {
				like = unit.Local(q.Name) + "[0]"
			}
		}
		if p.op.Factory() {
			return jen.Id("place")
		}
	} else if len(p.op.Results) > 1 {
		like = unit.Local(dyNames(p.op)[0])
	}
	if like == "" {
		p.e.Fail(p.op, "calls a factory, but has no operand to take the device from")
	}
	return gofile.CoreName("PlacementLike").Call(jen.Op(like))
}

// argument prints v as the argument for parameter q of op.
func (p *block) argument(op *schema.Op, q *schema.Param, v schema.Value) code {
	switch {
	case v.Kind == schema.LiteralValue && v.Literal.Nil:
		return p.e.Literal(op, q, v.Literal)
	case q.Type == schema.Tensor && v.Type == schema.Scalar:
		return p.number(v)
	case v.Kind == schema.LiteralValue:
		return p.e.Literal(op, q, v.Literal)
	case q.Type == schema.Enum:
		if _, pkg := p.e.EnumOf(op, q); pkg != p.e.OpsPath() {
			return p.e.CoreType(op, q).Call(p.value(v))
		}
	}
	return p.value(v)
}

// number prints a host number as an operand.
func (p *block) number(v schema.Value) code {
	if v.Kind == schema.LiteralValue && v.Literal.Scalar.Category() == ir.CategoryFloat {
		return jen.Id("number").Call(gofile.FloatLit(v.Literal.Scalar.Float()))
	}
	if v.Kind == schema.ConvertValue && v.Args[0].Type == schema.Float {
		return jen.Id("number").Call(p.value(v.Args[0]))
	}
	return gofile.CoreName("ScalarTensor").Call(p.value(v))
}

// convert prints a host number as another type.
func (p *block) convert(v schema.Value) code {
	x := v.Args[0]
	if v.Type == schema.Tensor {
		return p.number(x)
	}
	in := p.value(x)
	switch {
	case v.Type == schema.Scalar && x.Type == schema.Int:
		return gofile.IRName("IntScalar").Call(jen.Int64().Call(in))
	case v.Type == schema.Scalar && x.Type == schema.Bool:
		return gofile.IRName("BoolScalar").Call(in)
	case v.Type == schema.Scalar:
		return gofile.IRName("FloatScalar").Call(in)
	case v.Type == schema.Int && x.Type == schema.Scalar:
		return jen.Int().Call(in.Dot("Int").Call())
	case v.Type == schema.Float && x.Type == schema.Scalar:
		return in.Dot("Float").Call()
	case v.Type == schema.Int:
		return jen.Int().Call(in)
	}
	return jen.Float64().Call(in)
}

// host prints a function of metadata.
func (p *block) host(v schema.Value) code {
	switch v.Name {
	case "shape":
		return p.shape(v.Args[0])
	case "rank":
		return jen.Len(p.shape(v.Args[0]))
	case "numel":
		return gofile.IRName("NumElements").Call(p.shape(v.Args[0]))
	case "shapes":
		if i, _ := p.saved(v.Args[0]); i >= 0 {
			return jen.Id("inShapes").Call(jen.Id("grad"), jen.Lit(i))
		}
		return jen.Id("shapesOf").Call(p.value(v.Args[0]))
	case "layout":
		if i, _ := p.saved(v.Args[0]); i >= 0 {
			return jen.Id("grad").Dot("InLayout").Call(jen.Lit(i))
		}
		return p.looked(v.Args[0]).Dot("Layout").Call()
	case "dtype_of":
		if i, _ := p.saved(v.Args[0]); i >= 0 {
			return jen.Id("grad").Dot("InDType").Call(jen.Lit(i))
		}
		return p.looked(v.Args[0]).Dot("DType").Call()
	case "name":
		return p.value(v.Args[0]).Dot("String").Call()
	case "storage_size":
		return p.looked(v.Args[0]).Dot("StorageElements").Call()
	case "given":
		return p.value(v.Args[0]).Op("!=").Nil()
	case "item":
		return p.item(v.Args[0])
	case "len":
		if i, _ := p.saved(v.Args[0]); i >= 0 {
			return jen.Parens(jen.Id("grad").Dot("NumIn").Call().Op("-").Lit(i))
		}
		return jen.Len(p.value(v.Args[0]))
	case "max", "min":
		return jen.Id(v.Name).Call(p.values(v.Args)...)
	}
	return gofile.ShapesName(goFuncName(shapes.Functions[v.Name])).Call(p.values(v.Args)...)
}

// looked prints a tensor whose shape, dtype or layout is asked for. What may carry an
// error, which is all but a composition's operands, is looked at with core.Look.
func (p *block) looked(v schema.Value) code {
	if v.Kind == schema.NameValue && !p.backward &&
		slices.ContainsFunc(p.op.Operands(), func(o *schema.Param) bool { return o.Name == v.Name }) {
		return p.value(v)
	}
	p.looks = true
	return gofile.CoreName("Look").Call(p.value(v))
}

// goFuncName returns the name of a function declared in a package.
func goFuncName(fn any) string {
	full := runtime.FuncForPC(reflect.ValueOf(fn).Pointer()).Name()
	return full[strings.LastIndexByte(full, '.')+1:]
}

// shape prints the extents of a tensor value.
func (p *block) shape(v schema.Value) code {
	i, result := p.saved(v)
	switch {
	case i < 0:
		return p.looked(v).Dot("Shape").Call()
	case result:
		return jen.Id("grad").Dot("OutShape").Call(jen.Lit(i))
	}
	return jen.Id("grad").Dot("InShape").Call(jen.Lit(i))
}

// saved tells which operand or result of the operator being differentiated v
// names; i is negative where v is something else.
func (p *block) saved(v schema.Value) (i int, result bool) {
	if !p.backward || v.Kind != schema.NameValue {
		return -1, false
	}
	for i, q := range p.op.Operands() {
		if q.Name == v.Name {
			return i, false
		}
	}
	i = slices.IndexFunc(p.op.Results, func(r schema.Result) bool { return r.Name == v.Name })
	return i, i >= 0
}

// item prints the value of a one-element integer tensor, read on the host.
func (p *block) item(v schema.Value) code {
	name := p.temp("item")
	val := p.value(v)
	failed := gofile.CoreName("Fail").Call(jen.Op("&").Id(opVar(p.op)), jen.Err())
	p.out = append(p.out,
		jen.List(jen.Id(name), jen.Err()).Op(":=").Add(gofile.CoreName("Item")).Call(val),
		jen.If(jen.Err().Op("!=").Nil()).Block(p.e.returnFailed(p.op, failed, p.backward)))
	return jen.Int().Call(jen.Id(name).Dot("Int").Call())
}

// returnFailed returns an error tensor for every result of op.
func (e *emitter) returnFailed(op *schema.Op, t code, backward bool) code {
	switch {
	case backward || len(op.Results) == 1 && !op.Results[0].List:
		return jen.Return(t)
	case op.Results[0].List:
		return jen.Return(jen.Index().Add(gofile.TensorType()).Values(t))
	}
	var vals []jen.Code
	for range op.Results {
		vals = append(vals, t.Clone())
	}
	return jen.Return(vals...)
}
