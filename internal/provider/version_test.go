package provider

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func version(t testing.TB, s string) Version {
	t.Helper()
	v, err := ParseVersion(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"1":                   "1.0.0",
		"1.3":                 "1.3.0",
		"01.4.0":              "1.4.0",
		"1.10.0-":             "1.10.0",
		"1.0.0-beta.01":       "1.0.0-beta.01",
		"1.0-rc1":             "1.0.0-rc1",
		"1.0.0-a-b.0.x+c-d.1": "1.0.0-a-b.0.x+c-d.1",
		"1+build":             "1.0.0+build",
		"0":                   "0.0.0",
		"9223372036854775807": "9223372036854775807.0.0",
	} {
		got, err := ParseVersion(s)
		if err != nil || got.String() != want {
			t.Errorf("ParseVersion(%q) = %q, %v; want %q", s, got, err, want)
		}
		if got != version(t, want) {
			t.Errorf("ParseVersion(%q) = %#v, want the value of %q", s, got, want)
		}
	}
	for _, s := range []string{
		"", " ", "v1.2.0", "1.2.3.4", "1.x", "*", "1.", ".1", "1..2", " 1.0.0", "1.0.0 ", "1.0.0\n", "1.0.0beta", "1.0.0_beta",
		"1.0.0-~", "1.0.0-a..b", "1.0.0-+b", "1.0.0+", "1.0.0+a+b", "latest", "-1", "9223372036854775808", "１.0.0",
	} {
		if got, err := ParseVersion(s); err == nil {
			t.Errorf("ParseVersion(%q) = %q, want an error", s, got)
		}
	}
}

func TestVersionOrder(t *testing.T) {
	t.Parallel()
	want := []string{
		"0.0.0", "0.9.9",
		"1.0.0-1", "1.0.0-02", "1.0.0-11", "1.0.0-beta", "1.0.0-rc", // no further part comes before any
		"1.0.0-alpha.1", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-beta.x",
		"1.0.0", "1.0.0+a", "1.0.0+b", "1.0.0+a.1",
		"1.0.1", "1.2.0", "1.10.0", "2.0.0-rc1", "2.0.0", "10.0.0",
	}
	var versions []Version
	for _, s := range want {
		versions = append(versions, version(t, s))
	}
	slices.Reverse(versions)
	slices.SortFunc(versions, Version.Compare)
	var got []string
	for _, v := range versions {
		got = append(got, v.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sorted versions (-want +got):\n%s", diff)
	}
}

func TestPrecedenceIgnoresMetadata(t *testing.T) {
	t.Parallel()
	v, w := version(t, "1.0.0-rc.1+a"), version(t, "1.0.0-rc.1+b")
	if c := v.Precedence(w); c != 0 {
		t.Errorf("Precedence(%s, %s) = %d, want 0", v, w, c)
	}
	if c := v.Compare(w); c >= 0 {
		t.Errorf("Compare(%s, %s) = %d, want it negative", v, w, c)
	}
}

func TestVersionParts(t *testing.T) {
	t.Parallel()
	if got, want := version(t, "1.2.3-rc.1+b").Core(), version(t, "1.2.3"); got != want {
		t.Errorf("Core = %s, want %s", got, want)
	}
	for s, want := range map[string]bool{"0": true, "0.0.0-rc1": false, "0.0.0+b": false, "0.0.1": false} {
		if got := version(t, s).IsZero(); got != want {
			t.Errorf("IsZero of %s = %v, want %v", s, got, want)
		}
	}
	if text, err := version(t, "1.2-rc1").MarshalText(); err != nil || string(text) != "1.2.0-rc1" {
		t.Errorf("MarshalText = %q, %v; want 1.2.0-rc1", text, err)
	}
}

func TestBumpBetween(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from, to string
		want     Bump
	}{
		{"1.2.3", "1.2.3", BumpNone},
		{"1.2.3", "2.0.0", BumpMajor},
		{"2.0.0", "1.9.9", BumpMajor},
		{"1.2.3", "1.3.0", BumpMinor},
		{"1.2.3", "1.2.4-rc1", BumpPatch},
		{"2.0.0-rc1", "2.0.0", BumpPrerelease},
		{"1.0.0+a", "1.0.0+b", BumpPrerelease},
	} {
		if got := BumpBetween(version(t, tt.from), version(t, tt.to)); got != tt.want {
			t.Errorf("BumpBetween(%s, %s) = %q, want %q", tt.from, tt.to, got, tt.want)
		}
	}
}

func FuzzVersion(f *testing.F) {
	for _, s := range []string{"1", "01.2", "1.2.3-beta.1+x.2", "1.10.0-", "1.0.0+m", "v1", "9223372036854775808"} {
		f.Add(s, "1.0.0-alpha.1")
	}
	f.Fuzz(func(t *testing.T, s, other string) {
		v, err := ParseVersion(s)
		if err != nil {
			return
		}
		if again, err := ParseVersion(v.String()); err != nil || again != v {
			t.Errorf("ParseVersion(%q) = %#v; its text %q is read as %#v, %v", s, v, v, again, err)
		}
		w, err := ParseVersion(other)
		if err != nil {
			return
		}
		if v.Compare(w) != -w.Compare(v) || (v.Compare(w) == 0) != (v == w) {
			t.Errorf("Compare(%s, %s) = %d, the other way round %d", v, w, v.Compare(w), w.Compare(v))
		}
	})
}
