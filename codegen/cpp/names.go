package cpp

import (
	"slices"
	"strings"
	"sync"
)

// keywords returns the words of C++ that Go does not have, and that a schema may therefore use as names; and
// in the last line what functors call without sinter::.
var keywords = sync.OnceValue(func() []string {
	return strings.Fields(`
	alignas alignof and and_eq asm auto bitand bitor catch char char8_t char16_t char32_t class co_await co_return co_yield
	compl concept consteval constexpr constinit const_cast decltype delete do double dynamic_cast enum explicit export extern
	float friend inline int long mutable namespace noexcept not not_eq nullptr operator or or_eq private protected public
	register reinterpret_cast requires short signed sizeof static static_assert static_cast template this thread_local throw
	try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
	sinter signbit isnan isinf get`)
})

// Name spells a schema's name in functors: with an underscore where it means something there. No name
// of a schema ends with one. Of a part of a state, such as a.total, that is said of the part.
func Name(name string) string {
	if of, part, is := strings.Cut(name, "."); is {
		return of + "." + Name(part)
	}
	if slices.Contains(keywords(), name) {
		return name + "_"
	}
	return name
}

// Free is the name of a local of a functor: with an underscore where it is among the names that are taken.
func Free(name string, taken []string) string {
	if slices.Contains(taken, name) {
		return name + "_"
	}
	return name
}
