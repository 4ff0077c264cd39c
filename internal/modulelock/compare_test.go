package modulelock

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	const net, vpc = "git::https://example.com/net.git", "registry.terraform.io/acme/vpc/aws"
	const other = "git:25322b6b6be69db6cca7f167d7b0e5327156a595"
	of := func(entries ...Entry) []Entry { return entries }
	at := func(address, version, hash string) Entry { return Entry{Key: Key{address, version}, Hash: hash} }
	in := func(e Entry, pkg string) Entry {
		e.Package = pkg
		return e
	}
	tests := map[string]struct {
		old, now []Entry
		want     []Change
	}{
		"the same entries": {old: of(at(net, "v1", commit)), now: of(at(net, "v1", commit))},
		"added": {
			now:  of(in(at(vpc, "1.0.0", commit), net)),
			want: []Change{{Address: vpc, Kind: Added, To: "1.0.0", Package: net, Hash: commit}},
		},
		"removed": {
			old:  of(in(at(vpc, "1.0.0", commit), net)),
			want: []Change{{Address: vpc, Kind: Removed, From: "1.0.0", PackageFrom: net, HashFrom: commit}},
		},
		"another version, and its commit": {
			old: of(at(vpc, "1.9.0", commit)), now: of(at(vpc, "1.10.0", other)),
			want: []Change{{Address: vpc, Kind: Updated, From: "1.9.0", To: "1.10.0", HashFrom: commit, Hash: other}},
		},
		"two versions of one address, each newer": {
			old: of(at(vpc, "1.10.0", commit), at(vpc, "1.9.0", commit)), now: of(at(vpc, "1.9.1", commit), at(vpc, "2.0.0", commit)),
			want: []Change{
				{Address: vpc, Kind: Updated, From: "1.10.0", To: "2.0.0", HashFrom: commit, Hash: commit},
				{Address: vpc, Kind: Updated, From: "1.9.0", To: "1.9.1", HashFrom: commit, Hash: commit},
			},
		},
		"one of two versions moves": {
			old: of(at(vpc, "1.0.0", commit), at(vpc, "2.0.0", commit)), now: of(at(vpc, "1.0.0", commit), at(vpc, "2.1.0", other)),
			want: []Change{{Address: vpc, Kind: Updated, From: "2.0.0", To: "2.1.0", HashFrom: commit, Hash: other}},
		},
		"two versions become one": {
			old: of(at(vpc, "1.0.0", commit), at(vpc, "2.0.0", commit)), now: of(at(vpc, "3.0.0", other)),
			want: []Change{
				{Address: vpc, Kind: Added, To: "3.0.0", Hash: other},
				{Address: vpc, Kind: Removed, From: "1.0.0", HashFrom: commit},
				{Address: vpc, Kind: Removed, From: "2.0.0", HashFrom: commit},
			},
		},
		"a branch with another commit": {
			old: of(at(net, "", commit)), now: of(at(net, "", other)),
			want: []Change{{Address: net, Kind: Moved, HashFrom: commit, Hash: other}},
		},
		"another ref with the same commit": {
			old: of(at(net, "v1", commit)), now: of(at(net, "main", commit)),
			want: []Change{{Address: net, Kind: Updated, From: "v1", To: "main", HashFrom: commit, Hash: commit}},
		},
		"another repository with the same commit": {
			old: of(in(at(vpc, "1.0.0", commit), net)), now: of(in(at(vpc, "1.0.0", commit), net+"//x")),
			want: []Change{{Address: vpc, Kind: Repackaged, From: "1.0.0", To: "1.0.0", PackageFrom: net, Package: net + "//x", HashFrom: commit, Hash: commit}},
		},
		"another repository with another commit": {
			old: of(in(at(vpc, "1.0.0", commit), net)), now: of(in(at(vpc, "1.0.0", other), net+"//x")),
			want: []Change{{Address: vpc, Kind: Moved, From: "1.0.0", To: "1.0.0", PackageFrom: net, Package: net + "//x", HashFrom: commit, Hash: other}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := &File{Entries: tt.old}
			changes := Compare(old, &File{Entries: tt.now})
			if diff := cmp.Diff(tt.want, changes); diff != "" {
				t.Errorf("Compare (-want +got):\n%s", diff)
			}
			if with := Apply(old, changes); !slices.EqualFunc(with.Entries, slices.SortedFunc(slices.Values(tt.now), Entry.compare), Entry.Equal) {
				t.Errorf("After its changes, the entries are %v, want %v", with.Entries, tt.now)
			}
		})
	}
}
