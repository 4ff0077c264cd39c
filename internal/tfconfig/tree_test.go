package tfconfig

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
)

// TestPackagesAreBounded holds that what is parsed of a module package has one
// budget, however many files and modules it has, and that a repository has none.
func TestPackagesAreBounded(t *testing.T) {
	t.Parallel()
	half := []byte(strings.Repeat("a=1\n", (maxPackage/2-2*pieceFile)/6))
	files := fstest.MapFS{"a/main.tf": {Data: half}, "b/main.tf": {Data: half}, "c/main.tf": {}}
	read := func(tree *Tree) (errs []error) {
		for _, name := range []string{"a/main.tf", "b/main.tf", "c/main.tf", "c/main.tf", "c/main.tf", "c/main.tf"} {
			_, err := tree.Read(name)
			errs = append(errs, err)
		}
		return errs
	}
	errs := read(PackageTree(files, "evil.example"))
	if errs[1] != nil || !errors.Is(errs[5], errCostly) {
		t.Errorf("reading a package = %v, want that it ends with %v", errs, errCostly)
	}
	if errs := read(Searched(files, nil, "")); errors.Join(errs...) != nil {
		t.Errorf("reading a repository = %v", errs)
	}
}
