package sandbox

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestRecordedCases serves each recorded case, and compares the answers with the
// recorded ones.
func TestRecordedCases(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("../../testdata/lock/*/case.json")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases in testdata/lock: %v", err)
	}
	for _, c := range cases {
		dir := filepath.Dir(c)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			serveRecorded(t, dir)
		})
	}
}

func serveRecorded(t *testing.T, dir string) {
	t.Helper()
	files, err := RecordedCase(dir)
	if err != nil {
		t.Fatal(err)
	}
	w, err := ParseRecorded(files)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, w)
	hashes := recordedHashes(t, files)
	for addr := range w.providers {
		path := fmt.Sprintf("%s/%s/v1/providers/%s/%s/", s.URL(), addr.Host, addr.Namespace, addr.Type)
		o := w.providers[addr]
		listed := 0
		for _, r := range o.releases {
			if r.listed {
				listed++
			}
			checkRecorded(t, s, path, addr.Host.ForDisplay()+"/"+addr.Namespace+"/"+addr.Type, r, hashes)
		}
		versions := getJSON[versionsAnswer](t, path+"versions")
		if got, want := len(versions.Versions), listed+len(o.extra); got != want {
			t.Errorf("%s lists %d versions, want %d", addr, got, want)
		}
	}
}

// checkRecorded compares each package of a release with its recorded hashes.
// registry.opentofu.org has the hashes of registry.terraform.io.
func checkRecorded(t *testing.T, s *Sandbox, path, addr string, r *release, hashes map[string]recordedHash) {
	t.Helper()
	recorded := strings.Replace(addr, "registry.opentofu.org/", "registry.terraform.io/", 1)
	for _, p := range r.packages {
		url := fmt.Sprintf("%s%s/download/%s/%s", path, r.version, p.platform.OS, p.platform.Arch)
		if !r.described {
			if a := get(t, url); a.status != 404 {
				t.Errorf("GET %s = %d, want 404", url, a.status)
			}
			continue
		}
		m := getJSON[metadataAnswer](t, url)
		want, ok := hashes[fmt.Sprintf("%s@%s/%s", recorded, r.version, p.platform)]
		if !ok {
			t.Fatalf("nothing is recorded of %s %s %s", recorded, r.version, p.platform)
		}
		if "zh:"+m.Shasum != want.ZH {
			t.Errorf("%s %s: shasum %s, want %s", addr, p.platform, m.Shasum, want.ZH)
		}
		if list := string(fetch(t, m.ShasumsURL)); !strings.Contains(list, m.Shasum+"  "+m.Filename) {
			t.Errorf("%s %s: not in the list\n%s", addr, p.platform, list)
		}
		fetch(t, m.DownloadURL)
		fetch(t, m.SignatureURL)
		if stated, ok := m.Packages[p.platform.String()]; ok && stated.PackageSize == want.Size && stated.Hashes[1] != want.H1 {
			t.Errorf("%s %s: states %v, want %s", addr, p.platform, stated.Hashes, want.H1)
		}
	}
}

type recordedHash struct {
	H1   string `json:"h1_dir"`
	ZH   string `json:"zh"`
	Size int64  `json:"size"`
}

func recordedHashes(t *testing.T, files fs.FS) map[string]recordedHash {
	t.Helper()
	text, err := fs.ReadFile(files, "hashes.json")
	if err != nil {
		t.Fatal(err)
	}
	var hashes map[string]recordedHash
	if err := json.Unmarshal(text, &hashes); err != nil {
		t.Fatal(err)
	}
	return hashes
}

func TestParseRecordedRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"unknown_key", "{\"providers\": {\n\"example.com/a/b\": {\"version\": []}}}", "registry.json:2: unknown field"},
		{"short_address", `{"providers": {"a/b": {}}}`, "registry.json: invalid provider source address"},
		{"missing_zip", "{\"providers\": {\"example.com/a/b\": {\n\"versions\": {\n\"1.0.0\": {}}}}}", "registry.json:3: reading a recorded package"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseRecorded(fstest.MapFS{"registry.json": {Data: []byte(test.text)}})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("ParseRecorded = %v, want %q", err, test.want)
			}
		})
	}
}

// TestRecordedCaseOfAnother checks the files of a case that is the same as
// another. It takes the inputs of the tools that it lacks from the other case,
// but none of the outputs.
func TestRecordedCaseOfAnother(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	for name, text := range map[string]string{
		"a/case.json": `{}`, "a/config/main.tf": "a", "a/config/more.tf": "a", "a/registry.json": "a", "a/packages/x.zip": "a", "a/hashes.json": "a",
		"a/old.lock.hcl": "a", "a/expected/tofu.lock.hcl": "a",
		"b/case.json": `{"same_as": "a"}`, "b/config/main.tf": "b",
		"c/case.json": `{"same_as": "none"}`,
	} {
		name = filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]map[string]string{
		"a": {"config/main.tf": "a", "config/more.tf": "a", "registry.json": "a", "packages/x.zip": "a", "hashes.json": "a", "old.lock.hcl": "a", "expected/tofu.lock.hcl": "a"},
		"b": {"config/main.tf": "b", "registry.json": "a", "packages/x.zip": "a", "hashes.json": "a"},
	}
	for name, want := range want {
		files, err := RecordedCase(filepath.Join(top, name))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, file := range []string{"config/main.tf", "config/more.tf", "registry.json", "packages/x.zip", "hashes.json", "old.lock.hcl", "expected/tofu.lock.hcl"} {
			if text, err := fs.ReadFile(files, file); err == nil {
				got[file] = string(text)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("files of %s (-want +got):\n%s", name, diff)
		}
	}
	if files, err := RecordedCase(filepath.Join(top, "c")); err == nil {
		t.Errorf("RecordedCase = %v of a case that is not there", files)
	}
}
