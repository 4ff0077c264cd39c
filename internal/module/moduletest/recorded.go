package moduletest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Case is a configuration with remote modules and what init made of it: see
// testdata/modules/README.md.
type Case struct {
	ID       string
	Files    map[string]CaseFile
	Expected Expected
	// ExpectedTofu is nil if OpenTofu did what Terraform did.
	ExpectedTofu *Expected `json:"expected_tofu"`
}

// Expected is what init left in .terraform/modules.
type Expected struct {
	Exit     int
	Error    string
	Manifest string `json:"modules.json"`
	// Files are the kinds of the files (file, exec or link) with their SHA-256 or their target, by
	// path.
	Files map[string]string
}

// CaseFile is a file of a case or of a commit: its text, or the target of a link.
type CaseFile struct {
	Text, Link string
	Executable bool
}

// UnmarshalJSON reads a text, {"link": TARGET} or {"exec": TEXT}.
func (f *CaseFile) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &f.Text) == nil {
		return nil
	}
	var special struct{ Link, Exec string }
	if err := json.Unmarshal(data, &special); err != nil {
		return err
	}
	*f = CaseFile{Text: special.Exec, Link: special.Link, Executable: special.Link == ""}
	return nil
}

// Of is what one of the tools did.
func (c Case) Of(tofu bool) Expected {
	if tofu && c.ExpectedTofu != nil {
		return *c.ExpectedTofu
	}
	return c.Expected
}

// Sources are the sources of the recorded cases: repositories on disk, and a server with
// archives and the module registry mods.example.
type Sources struct {
	Dir    string // of the repositories
	Server *httptest.Server
	names  *strings.Replacer
	placed map[string]bool // SHA-256 of the files that name Dir
}

// CLIConfig is the CLI configuration in which the server is the registry.
func (s *Sources) CLIConfig() string {
	return "host \"mods.example\" {\n  services = {\n    \"modules.v1\" = \"" + s.Server.URL + registryPath + "\"\n  }\n}\n"
}

// Named is a text of the cases with the real places and commits.
func (s *Sources) Named(text string) string { return s.names.Replace(text) }

// Placed reports whether a file of the sources names the directory of the repositories. Its
// content then differs from the recorded one, which names another directory.
func (s *Sources) Placed(sha256 string) bool { return s.placed[sha256] }

// Cases reads the recorded cases of a directory.
func Cases(t testing.TB, dir string) []Case {
	t.Helper()
	var cases []Case
	readJSON(t, filepath.Join(dir, "cases.json"), &cases)
	return cases
}

func readJSON(t testing.TB, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// directory stands for the directory of the repositories.
const directory = "@FIXTURES@"

// fixture is a commit in fixtures.json. Its files are added to those of the one before.
type fixture struct {
	Files     map[string]CaseFile
	Tag       string
	Branch    string
	Submodule map[string]string // repositories by path
}

// NewSources makes the sources that fixtures.json of a directory describes.
func NewSources(t testing.TB, dir string) *Sources {
	t.Helper()
	var fixtures map[string][]fixture
	readJSON(t, filepath.Join(dir, "fixtures.json"), &fixtures)
	s := &Sources{Dir: t.TempDir(), placed: map[string]bool{}}
	heads := map[string]string{} // the last commit of each repository
	var withSubmodules []string
	add := func(name string) {
		ids := Repository(t, filepath.Join(s.Dir, name), s.commitsOf(fixtures[name], heads)...)
		heads[name] = ids[len(ids)-1]
	}
	var plain map[string]CaseFile
	for _, name := range slices.Sorted(maps.Keys(fixtures)) {
		switch {
		case !strings.HasSuffix(name, ".git"):
			plain = fixtures[name][0].Files
			s.write(t, name, plain)
		case slices.ContainsFunc(fixtures[name], func(f fixture) bool { return f.Submodule != nil }):
			withSubmodules = append(withSubmodules, name) // after those that they have
		default:
			add(name)
		}
	}
	for _, name := range withSubmodules {
		add(name)
	}
	net := filepath.Join(s.Dir, "net.git")
	pull := Git(t, net, nil, "-c", "user.name=relock", "-c", "user.email=relock@example.com",
		"commit-tree", "-m", "pull request", "-p", "v2.0.0", "v2.0.0^{tree}")
	Git(t, net, nil, "update-ref", "refs/pull/7/head", pull)
	archive := tarOf(t, plain, "")
	s.serve(t, map[string][]byte{"/plain.tar.gz": archive, "/plain.zip": zipOf(t, plain), "/top.tar.gz": tarOf(t, plain, "plain-1.0.0/")})
	s.names = strings.NewReplacer(directory, s.Dir, "@SERVER@", s.Server.URL, "@PULL_7@", pull,
		"@NET_1_1_0@", Git(t, net, nil, "rev-parse", "v1.1.0"), "@PLAIN_SHA256@", hexSHA256(archive))
	return s
}

// commitsOf are the commits of a repository.
func (s *Sources) commitsOf(fixtures []fixture, heads map[string]string) []Commit {
	files, modules := map[string]CaseFile{}, map[string]string{}
	var commits []Commit
	for _, f := range fixtures {
		maps.Copy(files, f.Files)
		for path, name := range f.Submodule {
			modules[path] = heads[name]
			text := "[submodule \"" + path + "\"]\n\tpath = " + path + "\n\turl = file://" + directory + "/" + name + "\n"
			files[".gitmodules"] = CaseFile{Text: files[".gitmodules"].Text + text}
		}
		c := Commit{
			Branch: f.Branch, Tag: f.Tag, Modules: maps.Clone(modules),
			Files: map[string]string{}, Executables: map[string]string{}, Links: map[string]string{},
		}
		for name, file := range files {
			text := strings.ReplaceAll(file.Text, directory, s.Dir)
			if text != file.Text {
				s.placed[hexSHA256([]byte(text))] = true
			}
			switch {
			case file.Link != "":
				c.Links[name] = file.Link
			case file.Executable:
				c.Executables[name] = text
			default:
				c.Files[name] = text
			}
		}
		commits = append(commits, c)
	}
	return commits
}

func hexSHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// write writes a directory of files.
func (s *Sources) write(t testing.TB, dir string, files map[string]CaseFile) {
	t.Helper()
	for name, file := range files {
		at := filepath.Join(s.Dir, dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(file.Text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func tarOf(t testing.TB, files map[string]CaseFile, prefix string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name].Text
		if err := archive.WriteHeader(&tar.Header{Name: prefix + name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipOf(t testing.TB, files map[string]CaseFile) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[name].Text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const registryPath = "/v1/modules/"

// serve serves archives and the registry's modules: their versions, and the place of each.
func (s *Sources) serve(t testing.TB, archives map[string][]byte) {
	t.Helper()
	mux := http.NewServeMux()
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Server.Close)
	for name, archive := range archives {
		mux.HandleFunc(name, func(w http.ResponseWriter, _ *http.Request) { w.Write(archive) })
	}
	refer := func(path, to string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Terraform-Get", to)
			w.WriteHeader(http.StatusNoContent)
		})
	}
	refer("/get/plain", s.Server.URL+"/plain.tar.gz")
	net := "git::file://" + s.Dir + "/net.git?ref=v"
	for name, places := range map[string][][2]string{
		"net":    {{"1.0.0", net + "1.0.0"}, {"1.1.0", net + "1.1.0"}, {"2.0.0", net + "2.0.0"}},
		"pre":    {{"1.0.0", net + "1.0.0"}, {"1.1.0-beta1", net + "1.0.0"}},
		"arch":   {{"1.0.0", s.Server.URL + "/plain.tar.gz"}},
		"rel":    {{"1.0.0", "../../../../../../plain.zip"}},
		"subdir": {{"1.0.0", s.Server.URL + "/top.tar.gz//plain-1.0.0?archive=tar.gz"}},
	} {
		var versions []string
		for _, p := range places {
			versions = append(versions, fmt.Sprintf(`{"version": %q}`, p[0]))
			refer(registryPath+"acme/"+name+"/aws/"+p[0]+"/download", p[1])
		}
		mux.HandleFunc(registryPath+"acme/"+name+"/aws/versions", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"modules": [{"versions": [%s]}]}`, strings.Join(versions, ", "))
		})
	}
}
