package kernels_test

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/kernels"
	"github.com/sinter-go/sinter/tests/brief"
)

// maxEmbedded is what the binaries may add to a program.
const maxEmbedded = 30 << 20

type entry struct {
	Source, SHA256    string
	Bytes, Compressed int
}

type build struct {
	NVRTC, PTX       string
	Options, Targets []string
}

func readJSON(t *testing.T, name string, v any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// sourceHash is build.py's, by the includes that the compiler's grammar allows at
// the start of a line.
func sourceHash(t *testing.T, b build, module string) string {
	t.Helper()
	texts := map[string]string{}
	var visit func(name string)
	visit = func(name string) {
		if _, seen := texts[name]; seen {
			return
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
		for line := range strings.Lines(string(text)) {
			fields := strings.Split(line, `"`)
			if strings.ReplaceAll(strings.TrimSpace(fields[0]), " ", "") == "#include" && len(fields) > 1 {
				visit(fields[1])
			}
		}
	}
	visit(module + ".cu")
	all := "nvrtc " + b.NVRTC + "\nptx " + b.PTX + "\n"
	for _, o := range b.Options {
		all += o + "\n"
	}
	var names []string
	for name := range texts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		all += fmt.Sprintf("%s %d\n%s", name, len(texts[name]), texts[name])
	}
	sum := sha256.Sum256([]byte(all))
	return hex.EncodeToString(sum[:])
}

// TestFresh finds binaries that are stale, missing or left over. python3
// kernels/build.py makes them anew.
func TestFresh(t *testing.T) {
	var b build
	readJSON(t, "build.json", &b)
	var manifest map[string]map[string]entry
	readJSON(t, "bin/manifest.json", &manifest)
	expected := map[string]bool{"bin/manifest.json": true}
	var wrong []string
	total := 0
	for _, source := range glob(t, "*.cu") {
		module := strings.TrimSuffix(source, ".cu")
		hash := sourceHash(t, b, module)
		for _, target := range b.Targets {
			name := filepath.Join("bin", target, module+".cubin.zst")
			if strings.HasPrefix(target, "compute_") {
				name = filepath.Join("bin/ptx", module+".ptx.zst")
			}
			expected[name] = true
			data, err := os.ReadFile(name)
			sum := sha256.Sum256(data)
			e, has := manifest[target][module]
			switch {
			case errors.Is(err, fs.ErrNotExist) || !has:
				wrong = append(wrong, name+" is missing")
			case err != nil:
				t.Fatal(err)
			case e.Source != hash:
				wrong = append(wrong, name+" is stale")
			case e.SHA256 != hex.EncodeToString(sum[:]) || e.Compressed != len(data):
				wrong = append(wrong, name+" is not what the manifest says")
			}
			total += len(data)
			delete(manifest[target], module)
		}
	}
	for target, modules := range manifest {
		for module := range modules {
			wrong = append(wrong, fmt.Sprintf("the manifest has %s for %s, which has no source or is no target", module, target))
		}
	}
	for _, name := range append(glob(t, "bin/*/*"), glob(t, "bin/*.*")...) {
		if !expected[name] {
			wrong = append(wrong, name+" belongs to no source")
		}
	}
	if len(wrong) > 0 {
		t.Errorf("%d binaries are not of these sources; python3 kernels/build.py compiles them:\n%s", len(wrong), strings.Join(wrong, "\n"))
	}
	if total > maxEmbedded {
		t.Errorf("the binaries have %d bytes; at most %d are to be embedded", total, maxEmbedded)
	}
	t.Logf("%d bytes embedded", total)
}

// defined returns the names of the kernels in a cubin or a PTX text.
func defined(t *testing.T, code []byte) []string {
	t.Helper()
	var names []string
	if !bytes.HasPrefix(code, []byte(elf.ELFMAG)) {
		for _, found := range bytes.Split(code, []byte("\n.visible .entry "))[1:] {
			name, _, _ := bytes.Cut(found, []byte("("))
			names = append(names, string(name))
		}
		slices.Sort(names)
		return names
	}
	code = bytes.Clone(code)
	code[0x14] = 1 // the version of the format, where CUDA has one of its own
	f, err := elf.NewFile(bytes.NewReader(code))
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && elf.ST_BIND(s.Info) == elf.STB_GLOBAL && s.Section != elf.SHN_UNDEF {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}

// TestBinaries: every target has the same kernels, the emitted ones are among
// them, and none holds a path of the machine it was made on.
func TestBinaries(t *testing.T) {
	if testing.Short() {
		t.Skip("reads every binary")
	}
	all := kernels.Standard()
	emitted := regexp.MustCompile(`(?m)^SINTER_(ELEMENTWISE|JOINT|REDUCE|SCAN)\(([a-z]\w+),`)
	for _, source := range glob(t, "*.cu") {
		module := strings.TrimSuffix(source, ".cu")
		archs := all.Architectures(module)
		if len(archs) == 0 {
			t.Logf("%s: nothing compiled ahead", module) // TestFresh says so
			continue
		}
		ptx, err := all.PTX(module)
		if errors.Is(err, kernels.ErrStale) {
			continue
		} else if err != nil {
			t.Error(err)
			continue
		}
		want := defined(t, ptx)
		for _, arch := range archs {
			code, err := all.Binary(arch, module)
			if err != nil {
				t.Error(err)
				continue
			}
			if diff := cmp.Diff(want, defined(t, code)); diff != "" {
				t.Errorf("%s: kernels in PTX and for sm_%d:\n%s", module, arch, diff)
			}
			if bytes.Contains(code, []byte("/kernels")) {
				t.Errorf("%s for sm_%d holds a path", module, arch)
			}
		}
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range emitted.FindAllSubmatch(text, -1) {
			kind, name := string(found[1]), string(found[2])
			if !slices.ContainsFunc(want, func(s string) bool { return s == name || kind != "JOINT" && strings.HasPrefix(s, name) }) {
				t.Errorf("%s has no kernel of %s", module, name)
			}
		}
	}
}

// newer are instructions that sm_75 lacks, by the PTX manual, section by section "Target ISA Notes".
var newer = regexp.MustCompile(`\b(?:(?:min|max)(?:\.ftz)?(?:\.NaN|\.xorsign)|(?:min|max|abs|neg|fma|ex2|tanh)\S*\.bf16|cvt\S*\.bf16|cvt\S*\.relu|cp\.async|redux|createpolicy|mbarrier|ldmatrix\S*\.b8|mma\S*\.(?:bf16|tf32)|discard|applypriority|barrier\.cluster|wgmma|setmaxnreg|griddepcontrol|elect\.sync)\S*`)

// TestPTX: what is compiled ahead for any device has no instruction that the oldest lacks.
// Drivers refuse the whole module for one, on new devices too, and no test here runs it.
func TestPTX(t *testing.T) {
	pragma := regexp.MustCompile(`\.pragma "\w+`)
	all := kernels.Standard()
	for i, source := range glob(t, "*.cu") {
		if brief.Skip(i) {
			continue
		}
		ptx, err := all.PTX(strings.TrimSuffix(source, ".cu"))
		if err != nil {
			continue // TestFresh says so
		}
		if !bytes.Contains(ptx, []byte(".target sm_75")) {
			t.Errorf("%s: PTX is not for sm_75, which is what newer stands for", source)
		}
		for _, found := range pragma.FindAll(ptx, -1) {
			if !bytes.HasSuffix(found, []byte("nounroll")) {
				t.Errorf("%s: %s in PTX of version 8.0, whose only hint is nounroll", source, found)
				break
			}
		}
		for word := range words(ptx) {
			if found := newer.FindString(word); found != "" {
				t.Errorf("%s: %s in PTX for sm_75", source, found)
			}
		}
	}
	want := map[string]bool{"max.NaN.f32": true, "add.f32": true, "bra": true}
	if diff := cmp.Diff(want, words([]byte("\t{max.NaN.f32 \t%f1, %f2, %f3;add.f32 %f1,%f1,%f2;}\n@%p1 bra \t$L1;\n\tadd.f32 \t%f2, %f2, 0f3F800000;"))); diff != "" {
		t.Error(diff)
	}
	if newer.FindString("max.NaN.f32") == "" {
		t.Error("newer does not find max.NaN.f32")
	}
}

// words returns the words of a PTX text that begin with a small letter, instructions with
// what modifies them: each once, for there are millions.
func words(ptx []byte) map[string]bool {
	all := map[string]bool{}
	apart := func(c byte) bool { return c <= ' ' || c == ';' || c == ',' || c == '{' || c == '}' }
	for i := 0; i < len(ptx); {
		begin := i
		for i < len(ptx) && !apart(ptx[i]) {
			i++
		}
		if i > begin && 'a' <= ptx[begin] && ptx[begin] <= 'z' && !all[string(ptx[begin:i])] {
			all[string(ptx[begin:i])] = true
		}
		i++
	}
	return all
}

func TestOf(t *testing.T) {
	source := fstest.MapFS{"twice.cu": {Data: []byte("#include \"elementwise.cuh\"\n")}}
	if _, err := kernels.Of(source, nil).Binary(90, "twice"); !errors.Is(err, kernels.ErrNone) {
		t.Errorf("nothing compiled: %v", err)
	}
	manifest := `{"sm_90": {"twice": {"source": "other", "bytes": 1}}, "compute_75": {"twice": {"source": "other"}}}`
	source["bin/manifest.json"] = &fstest.MapFile{Data: []byte(manifest)}
	b := kernels.Of(source, source)
	if diff := cmp.Diff([]int{90}, b.Architectures("twice")); diff != "" {
		t.Error(diff)
	}
	if _, err := b.Binary(90, "twice"); !errors.Is(err, kernels.ErrStale) {
		t.Errorf("stale cubin: %v", err)
	}
	if _, err := b.PTX("twice"); !errors.Is(err, kernels.ErrStale) {
		t.Errorf("stale PTX: %v", err)
	}
	if _, err := b.Binary(80, "twice"); !errors.Is(err, kernels.ErrNone) {
		t.Errorf("other architecture: %v", err)
	}
	source["bin/manifest.json"] = &fstest.MapFile{Data: []byte("{")}
	if _, err := kernels.Of(source, source).PTX("twice"); err == nil || !strings.Contains(err.Error(), "bin/manifest.json") {
		t.Errorf("broken manifest: %v", err)
	}
}

// TestFiles: the headers of a user's operator come from the standard sources
// where it has none of its own.
func TestFiles(t *testing.T) {
	files, err := kernels.Files(fstest.MapFS{
		"mine.cu":  {Data: []byte("# include \"mine.cuh\"\n  #include \"num.cuh\"\n// #include \"none.cuh\"\n")},
		"mine.cuh": {Data: []byte("#include \"types.cuh\"\n")},
	}, "mine")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	for _, want := range []string{"mine.cu", "mine.cuh", "num.cuh", "types.cuh"} {
		if !slices.Contains(names, want) {
			t.Errorf("%v lacks %s", names, want)
		}
	}
	if _, err := kernels.Files(kernels.Source, "none"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "none.cu") {
		t.Errorf("no source: %v", err)
	}
}

// TestBuildCheck holds build.py's hashes against this file's.
func TestBuildCheck(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	cmd := exec.Command(python, "build.py", "--check")
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func BenchmarkBinary(b *testing.B) {
	all := kernels.Standard()
	for _, source := range []string{"arithmetic", "reduction", "trigonometric", "scan"} {
		archs := all.Architectures(source)
		if len(archs) == 0 {
			continue
		}
		b.Run(source, func(b *testing.B) {
			for b.Loop() {
				code, err := all.Binary(archs[0], source)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(code)))
			}
		})
	}
}
