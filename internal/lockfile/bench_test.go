package lockfile

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/relock-dev/relock/internal/provider"
)

// typical is a lock file of 6.0 kB: three providers with hashes of both schemes for 14
// platforms.
func typical(t testing.TB) []byte {
	var locks []Lock
	for i, name := range []string{"aws", "kubernetes", "random"} {
		var hashes []provider.Hash
		for platform := range 14 {
			sum := sha256.Sum256(fmt.Append(nil, i, platform))
			hashes = append(hashes, provider.ZH(fmt.Sprintf("%x", sum)), provider.Hash("h1:"+base64.StdEncoding.EncodeToString(sum[:])))
		}
		locks = append(locks, New(addr(t, "registry.terraform.io/hashicorp/"+name), version(t, "5.31.0"), constraints(t, ">= 4.0.0, ~> 5.0, != 5.3.1"), hashes))
	}
	return printed(provider.Terraform, locks)
}

// BenchmarkParse reads a lock file in the tools' own form, and one with an extra blank
// line.
//
//	go test -run '^$' -bench 'Parse|Print' ./internal/lockfile
func BenchmarkParse(b *testing.B) {
	canonical := typical(b)
	for name, src := range map[string][]byte{"canonical": canonical, "edited": append(canonical[:len(canonical):len(canonical)], '\n')} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				mustParse(b, src)
			}
		})
	}
}

func BenchmarkPrint(b *testing.B) {
	src := typical(b)
	f := mustParse(b, src)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		f.Print()
	}
}
