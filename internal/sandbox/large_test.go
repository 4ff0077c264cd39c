package sandbox

import (
	"bytes"
	"testing"

	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/provider"
)

func TestLargePackagesAreAllDifferent(t *testing.T) {
	t.Parallel()
	addr, err := provider.ParseFullAddr("registry.terraform.io/acme/large")
	if err != nil {
		t.Fatal(err)
	}
	const size = 1 << 20
	w, err := NewLarge([]LargeProvider{{
		Addr: addr, Versions: []string{"1.0.0", "2.0.0"}, Listed: []string{"0.1.0"},
		Platforms: []string{"linux_amd64", "darwin_arm64"}, Size: size,
	}})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[provider.Hash]bool{}
	var bytesOfAll int64
	for _, r := range w.providers[addr].releases {
		for _, p := range r.packages {
			hashed, err := hash.Package(bytes.NewReader(p.zip))
			if err != nil {
				t.Errorf("Package(%s): %v", p.filename, err)
				continue
			}
			if hashed.Sum.Size < size || hashed.Sum.Size > size*5/4 || !hashed.Runs("large") {
				t.Errorf("%s has %d bytes and the programs %q, want about %d and one", p.filename, hashed.Sum.Size, hashed.Programs, size)
			}
			seen[hashed.Sum.H1] = true
			bytesOfAll += hashed.Sum.Size
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d of 4 packages differ", len(seen))
	}
	if n, size := w.Packages(); n != 4 || size != bytesOfAll {
		t.Errorf("Packages() = %d, %d, want 4, %d", n, size, bytesOfAll)
	}
}
