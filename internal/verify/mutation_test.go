package verify

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

var (
	mutations    = flag.Int("mutations", 40, "how many changes of one character to try in each lock file; 0: all places")
	mutationSeed = flag.Uint64("mutation-seed", 1, "what chooses them")
)

// published is a Source of releases, by "address version". All their packages are known.
type published map[string]provider.Listing

func (w published) Versions(context.Context, provider.Tool, provider.Addr) (provider.Offer, error) {
	return provider.Offer{}, nil
}

func (w published) Listing(_ context.Context, _ provider.Tool, want provider.Want) (provider.Listing, error) {
	if l, ok := w[want.Addr.String()+" "+want.Version.String()]; ok {
		return l, nil
	}
	return provider.Listing{}, &problem.Error{Problem: problem.Problem{Code: problem.CodeNoPackage, Message: "no package"}}
}

func (w published) Package(ctx context.Context, tool provider.Tool, want provider.Want, _ int64) (provider.Listing, error) {
	return w.Listing(ctx, tool, want)
}

func (w published) Recheck(context.Context, provider.Tool, provider.Want, int64) (int64, error) {
	return 0, nil
}

func (w published) Content(context.Context, provider.Tool, provider.Want, int64) (provider.Content, error) {
	return provider.Content{}, nil
}

func (w published) Size(context.Context, provider.Tool, provider.Want) (int64, error) { return 1, nil }

// publish makes a package for every hash of a lock file. It returns the file with the
// hashes of these packages, in the same number and order.
func (w published) publish(t *testing.T, text string) string {
	t.Helper()
	f, problems := lockfile.Parse([]byte(text), "a lock file")
	if len(problems) > 0 {
		t.Fatalf("%s\n%v", text, problems)
	}
	for _, l := range f.Locks {
		release := l.Addr.String() + " " + l.Version.String()
		listing := provider.Listing{Signer: provider.Signer{KeyID: fingerprint[24:], Fingerprint: fingerprint}}
		head := strings.Index(text, `provider "`+l.Addr.String()) // several releases may share a file
		for i, h := range l.Hashes {
			name := fmt.Sprintf("%s_%d.zip", release, i)
			listing.Files = append(listing.Files, provider.ListedFile{Name: name, Sum: provider.Sum{ZH: zh(name), H1: dirH1(name), H1Zip: zipH1(name)}})
			own := dirH1(name)
			if h.Scheme() == provider.SchemeZH {
				own = zh(name)
			}
			text = text[:head] + strings.Replace(text[head:], string(h), string(own), 1)
		}
		w[release] = listing
	}
	return text
}

// foundIn are the errors in a lock file. A file that cannot be read has one.
func (w published) foundIn(t *testing.T, text string) []problem.Problem {
	t.Helper()
	f, problems := lockfile.Parse([]byte(text), "root/.terraform.lock.hcl")
	if len(problems) > 0 {
		return []problem.Problem{{Message: problems[0].Message}}
	}
	m := scan.RootModule{Root: scan.Root{Dir: "root", Tool: provider.Newest(provider.Terraform), Lock: f, StandIn: scan.StandInAll}}
	results, _ := Prove(t.Context(), w, []scan.RootModule{m}, Policy{Options: Options{Allowance: NewAllowance(0), Jobs: 1}})
	return slices.DeleteFunc(results[0].Findings, func(f problem.Problem) bool { return f.Severity != problem.SeverityError })
}

// places are the positions of the characters of hashes, versions and addresses.
func places(text string) []int {
	var all []int
	at := 0
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		value := strings.HasPrefix(trimmed, `"`) || strings.HasPrefix(trimmed, "provider ") || strings.HasPrefix(trimmed, "version ") || strings.Contains(trimmed, `"zh:`) || strings.Contains(trimmed, `"h1:`)
		for i, quoted := 0, false; value && i < len(line); i++ {
			switch {
			case line[i] == '"':
				quoted = !quoted
			case quoted:
				all = append(all, at+i)
			}
		}
		at += len(line)
	}
	return all
}

// changed is another character: the other case, the next one in the alphabet of base64 (its
// last character before the padding has unused bits), or a random one.
func changed(c byte, r *rand.Rand) byte {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	other := c
	switch i := strings.IndexByte(alphabet, c); {
	case i >= 0 && i < 52 && r.IntN(3) == 0:
		other = c ^ 0x20
	case i >= 0 && r.IntN(2) == 0:
		other = alphabet[i^1]
	}
	for other == c {
		other = alphabet[r.IntN(len(alphabet))]
	}
	return other
}

// shapes are lock files whose hashes do not matter. Where recorded ones exist, they are
// fifty of these.
func shapes(t *testing.T) []string {
	t.Helper()
	entry := func(addr, version string, h1, zhs int) string {
		text := fmt.Sprintf("provider %q {\n  version = %q\n  hashes = [\n", addr, version)
		for i := range h1 {
			text += fmt.Sprintf("    %q,\n", dirH1(fmt.Sprint(addr, i)))
		}
		for i := range zhs {
			text += fmt.Sprintf("    %q,\n", zh(fmt.Sprint(addr, i)))
		}
		return text + "  ]\n}\n"
	}
	all := []string{
		entry("registry.terraform.io/hashicorp/aws", "5.31.0", 1, 15),
		entry("registry.terraform.io/hashicorp/random", "3.6.0", 5, 12) + entry("registry.terraform.io/hashicorp/tls", "4.0.5", 1, 0),
		entry("registry.opentofu.org/integrations/github", "6.0.0-beta1", 0, 14) + entry("example.com/acme/own", "0.1.0", 2, 2),
	}
	recorded, _ := filepath.Glob(filepath.Join(os.Getenv("RELOCK_CORPUS"), "lockfiles", "*.hcl"))
	for _, path := range recorded {
		src := must(os.ReadFile(path))
		f, problems := lockfile.Parse(src, path)
		plain := len(problems) == 0 && !strings.Contains(path, ".canon.") && strings.Contains(string(src), `"zh:`)
		for i := 0; plain && i < len(f.Locks); i++ {
			plain = !slices.ContainsFunc(f.Locks[i].Hashes, func(h provider.Hash) bool { return !h.Known() || !h.WellFormed() })
		}
		if plain && len(all) < 53 {
			all = append(all, string(src))
		}
	}
	return all
}

// TestEveryChangedCharacterIsFound starts from lock files in which every hash is proven. It
// changes one character of a hash, a scheme, a version or an address at a time.
func TestEveryChangedCharacterIsFound(t *testing.T) {
	t.Parallel()
	for n, shape := range shapes(t) {
		w := published{}
		text := w.publish(t, shape)
		if found := w.foundIn(t, text); len(found) > 0 {
			t.Fatalf("a sound lock file has %+v:\n%s", found[0], text)
		}
		r := rand.New(rand.NewPCG(*mutationSeed, uint64(n)))
		at := places(text)
		r.Shuffle(len(at), func(i, j int) { at[i], at[j] = at[j], at[i] })
		if *mutations > 0 {
			at = at[:min(len(at), *mutations)]
		}
		for _, i := range at {
			c := changed(text[i], r)
			if mutant := text[:i] + string(c) + text[i+1:]; len(w.foundIn(t, mutant)) == 0 {
				t.Errorf("nothing is found where %q stands for %q in %q", c, text[i], strings.TrimSpace(mutant[max(0, i-60):min(len(mutant), i+20)]))
			}
		}
	}
}
