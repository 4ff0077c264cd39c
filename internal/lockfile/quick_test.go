package lockfile

import (
	"bytes"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/staticeval"
)

// checkQuick holds that quick reads the same entries, places and kept bytes as HCL. It
// reports whether quick reads the file.
func checkQuick(t *testing.T, src []byte) bool {
	t.Helper()
	got, ok := quick(src, Name)
	if !ok {
		return false
	}
	want, diags := parseHCL(src, Name)
	if want == nil {
		t.Errorf("quick reads what HCL refuses:\n%s\nsource:\n%s", listing(diags), src)
	}
	if want != nil && !reflect.DeepEqual(placed(got), placed(want)) {
		t.Errorf("quick reads %+v\nHCL reads %+v\nsource:\n%s", got, want, src)
	}
	if !got.Canonical() {
		t.Errorf("quick reads what is not canonical:\n%s", src)
	}
	return true
}

// placed is a file with the place of every hash.
func placed(f *File) File {
	all := *f
	all.Locks = slices.Clone(f.Locks)
	for i, l := range all.Locks {
		all.Locks[i].places = hashPlaces{at: map[provider.Hash]hashPlace{}}
		for _, h := range l.Hashes {
			all.Locks[i].places.at[h] = l.places.of(h)
		}
	}
	return all
}

func TestQuickReadsTheToolsOwnForm(t *testing.T) {
	t.Parallel()
	for name, file := range glob(t, "testdata/canonical/*.hcl") {
		ascii := !slices.ContainsFunc(read(t, file), func(c byte) bool { return c > '~' || c == '\\' || c == '$' || c == '%' })
		if ok := checkQuick(t, read(t, file)); ok != ascii {
			t.Errorf("%s: quick reads it: %v, want %v", name, ok, ascii)
		}
	}
	if !checkQuick(t, typical(t)) {
		t.Error("quick does not read a typical file")
	}
}

// quick leaves files with errors, or with another meaning than their text, to HCL.
func TestQuickLeavesTheRestToHCL(t *testing.T) {
	t.Parallel()
	src := string(read(t, "testdata/canonical/terraform.hcl"))
	label, _, _ := strings.Cut(src[strings.Index(src, `provider "`)+len(`provider "`):], `"`)
	for name, text := range map[string]string{
		"a name of Terraform 0.12":  strings.Replace(src, label, "registry.terraform.io/-/null", 1),
		"a built-in provider":       strings.Replace(src, label, "terraform.io/builtin/terraform", 1),
		"a short label":             strings.Replace(src, label, "hashicorp/null", 1),
		"capital letters":           strings.Replace(src, label, strings.ToUpper(label), 1),
		"a v before the version":    strings.Replace(src, `= "`, `= "v`, 1),
		"too long a hash":           strings.Replace(src, `    "h1:`, `    "a:`+strings.Repeat("a", staticeval.MaxConstant)+"\",\n    \"h1:", 1),
		"a hash without a scheme":   strings.Replace(src, `    "h1:`, `    "a",`+"\n    \"h1:", 1),
		"an empty list":             strings.Replace(src, "  hashes = [\n", "  hashes = [\n  ]\n  hashes = [\n", 1),
		"an escape":                 strings.Replace(src, `    "h1:`, `    "a:\\n",`+"\n    \"h1:", 1),
		"a template":                strings.Replace(src, `    "h1:`, `    "a:${1}",`+"\n    \"h1:", 1),
		"an entry twice":            src + src[strings.LastIndex(src, "\nprovider"):],
		"no header":                 src[strings.Index(src, "\nprovider"):],
		"something behind":          src + "# mine\n",
		"an end that is missing":    src[:len(src)-1],
		"an end that is too early":  src[:len(src)/2],
		"more than a quick one has": src + strings.Repeat("\n", maxQuick),
	} {
		if text == src {
			t.Errorf("%s: nothing is changed", name)
		}
		if checkQuick(t, []byte(text)) {
			t.Errorf("%s: quick reads it", name)
		}
	}
}

// TestQuickAgreesOnRealFiles reads the recorded lock files. It fixes how many of them quick
// reads, so that nobody makes quick useless unnoticed.
func TestQuickAgreesOnRealFiles(t *testing.T) {
	t.Parallel()
	files, taken := 0, 0
	for _, file := range glob(t, filepath.Join(corpus(t), "[0-9][0-9][0-9].hcl")) {
		files++
		if checkQuick(t, read(t, file)) {
			taken++
		}
	}
	t.Logf("quick reads %d of %d files", taken, files)
	if taken < files*4/5 {
		t.Errorf("quick reads %d of %d files, want four of five", taken, files)
	}
}

// Swapped, repeated or dropped lines make files that look right but mean something else, or
// are refused.
func TestQuickAgreesOnMixedLines(t *testing.T) {
	t.Parallel()
	for _, file := range glob(t, "testdata/canonical/*.hcl") {
		lines := slices.Collect(bytes.Lines(read(t, file)))
		for i := range lines {
			checkQuick(t, bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil))
			for j := range lines {
				checkQuick(t, bytes.Join(slices.Insert(slices.Clone(lines), i, lines[j]), nil))
				swapped := slices.Clone(lines)
				swapped[i], swapped[j] = swapped[j], swapped[i]
				checkQuick(t, bytes.Join(swapped, nil))
			}
		}
	}
}

// FuzzQuick holds that quick and HCL agree, also about files with mixed lines.
func FuzzQuick(f *testing.F) {
	for _, file := range glob(f, "testdata/canonical/*.hcl") {
		f.Add(read(f, file), uint16(3), uint16(9), byte(0))
	}
	for _, file := range glob(f, "testdata/parse/*.txtar") {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(ar.Files[0].Data, uint16(4), uint16(5), byte(1))
	}
	f.Add(typical(f), uint16(6), uint16(8), byte(2))
	f.Fuzz(func(t *testing.T, src []byte, i, j uint16, how byte) {
		checkQuick(t, src)
		lines := slices.Collect(bytes.Lines(src))
		if len(lines) == 0 {
			return
		}
		a, b := int(i)%len(lines), int(j)%len(lines)
		switch how % 3 {
		case 0:
			lines[a], lines[b] = lines[b], lines[a]
		case 1:
			lines = slices.Insert(lines, a, lines[b])
		case 2:
			lines = slices.Delete(lines, a, a+1)
		}
		checkQuick(t, bytes.Join(lines, nil))
	})
}
