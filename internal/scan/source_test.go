package scan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// tableSource is a Source that knows by heart what calls lead to. It counts
// what it is asked.
type tableSource struct {
	answers map[Call]tableAnswer

	mu    sync.Mutex
	asked map[Call]int
}

type tableAnswer struct {
	pkg Package
	err error
}

func newTableSource() *tableSource {
	return &tableSource{answers: map[Call]tableAnswer{}, asked: map[Call]int{}}
}

func (s *tableSource) Fetch(ctx context.Context, _ provider.Tool, call Call) (Package, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[call]++
	if err := ctx.Err(); err != nil {
		return Package{}, err
	}
	answer, ok := s.answers[call]
	if !ok {
		return Package{}, &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreadModule, Message: fmt.Sprintf("the test has no package for %+v", call)}}
	}
	return answer.pkg, answer.err
}

// checkOnce fails if a call was asked for more than once.
func (s *tableSource) checkOnce(t *testing.T) {
	t.Helper()
	for call, n := range s.asked {
		if n > 1 {
			t.Errorf("%+v was fetched %d times", call, n)
		}
	}
}

// archiveSource reads what calls lead to from an archive: the files of packages
// are named PACKAGE::FILE, and the lines of the section "packages" are
//
//	SOURCE [VERSION CONSTRAINT] => PACKAGE[//DIR] [VERSION]
//	SOURCE [VERSION CONSTRAINT] => CODE: MESSAGE [(HINT)]
//
// It returns nil if there is no such section.
func archiveSource(t *testing.T, ar *txtar.Archive) *tableSource {
	t.Helper()
	files, links := map[string]map[string]string{}, map[string]map[string]string{}
	var lines string
	for _, f := range ar.Files {
		if f.Name == "packages" {
			lines = string(f.Data)
		}
		pkg, name, ok := strings.Cut(f.Name, "::")
		if !ok {
			continue
		}
		if files[pkg] == nil {
			files[pkg], links[pkg] = map[string]string{}, map[string]string{}
		}
		if link, target, isLink := strings.Cut(name, " -> "); isLink {
			links[pkg][link] = target
		} else {
			files[pkg][name] = string(f.Data)
		}
	}
	if lines == "" {
		return nil
	}
	s := newTableSource()
	for line := range strings.Lines(lines) {
		from, to, ok := strings.Cut(strings.TrimSpace(line), " => ")
		if !ok {
			t.Fatalf("the line %q of packages has no arrow", line)
		}
		var call Call
		call.Source, call.Version, call.Versioned = strings.Cut(from, " ")
		if code, message, failed := strings.Cut(to, ": "); failed {
			message, hint, _ := strings.Cut(strings.TrimSuffix(message, ")"), " (")
			s.answers[call] = tableAnswer{err: &problem.Error{Problem: problem.Problem{Code: problem.Code(code), Message: message, Hint: hint}}}
			continue
		}
		to, version, _ := strings.Cut(to, " ")
		pkg, dir, ok := strings.Cut(to, "//")
		if !ok {
			dir = "."
		}
		if files[pkg] == nil {
			t.Fatalf("there is no package %q", pkg)
		}
		s.answers[call] = tableAnswer{pkg: Package{FS: fileTree(files[pkg], links[pkg]), Dir: dir, ID: pkg, Version: version}}
	}
	return s
}

// recordedSource offers what the module repositories and the registry of the
// recorded cases do. Which version a constraint selects is what the tools
// selected when the cases were recorded.
func recordedSource() *tableSource {
	tags := []string{"v1.0.0", "v1.1.0", "v1.2.0-beta1", "v2.0.0-rc1", "v2.0.0", "v2.1.0-alpha", "v1.0.0-beta1", "v1.0.0-beta2", "v1.0.0-build1", "v1.0.0-build2"}
	modrepo := func(tag, dir, version string) tableAnswer {
		for i, name := range tags {
			if name == tag {
				return tableAnswer{pkg: Package{FS: modrepoTree(i + 1), Dir: dir, ID: tag, Version: version}}
			}
		}
		panic("no tag " + tag)
	}
	noVersion := tableAnswer{err: &problem.Error{Problem: problem.Problem{Code: problem.CodeNoVersion, Message: "no version meets the constraint"}}}
	const git, net = "git::file://@FIXTURES@/modrepo.git", "mods.example/acme/net/aws"
	s := newTableSource()
	s.answers = map[Call]tableAnswer{
		{Source: git}:                                                      modrepo("v1.0.0-build2", ".", ""), // the last tag is the branch's head
		{Source: git + "?ref=v1.0.0"}:                                      modrepo("v1.0.0", ".", ""),
		{Source: git + "?ref=v1.1.0"}:                                      modrepo("v1.1.0", ".", ""),
		{Source: git + "//modules/sub?ref=v1.1.0"}:                         modrepo("v1.1.0", "modules/sub", ""),
		{Source: git + "?ref=nope"}:                                        {err: &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreadModule, Message: "there is no such ref"}}},
		{Source: net, Version: "1.0.0", Versioned: true}:                   modrepo("v1.0.0", ".", "1.0.0"),
		{Source: net, Version: "v1.0.0", Versioned: true}:                  modrepo("v1.0.0", ".", "1.0.0"),
		{Source: net, Version: "2.0.0-rc1", Versioned: true}:               modrepo("v2.0.0-rc1", ".", "2.0.0-rc1"),
		{Source: net, Version: "~> 1", Versioned: true}:                    modrepo("v2.0.0", ".", "2.0.0"),
		{Source: net, Version: ">= 1.0.0.0", Versioned: true}:              modrepo("v2.0.0", ".", "2.0.0"),
		{Source: net, Version: "~>  1.0", Versioned: true}:                 modrepo("v1.1.0", ".", "1.1.0"),
		{Source: net, Version: ">= 9", Versioned: true}:                    noVersion,
		{Source: net, Version: "2.0.0-rc1, >= 1.0", Versioned: true}:       noVersion,
		{Source: net + "//modules/sub", Version: "1.1.0", Versioned: true}: modrepo("v1.1.0", "modules/sub", "1.1.0"),
		{Source: "mods.example/acme/plus/aws"}:                             modrepo("v1.0.0", ".", "1.0.0"),
		{Source: "git::file://@FIXTURES@/modrepo2.git//modules/x"}: {pkg: Package{
			FS: fileTree(map[string]string{
				"modules/x/main.tf":   "module \"c\" {\n  source = \"../../common\"\n}\n",
				"modules/esc/main.tf": "module \"c\" {\n  source = \"../../../other\"\n}\n",
				"common/main.tf":      "resource \"null_resource\" \"x\" {}\n",
			}, nil),
			Dir: "modules/x", ID: "modrepo2",
		}},
	}
	return s
}

// modrepoTree is the module repository of the recorded cases at one of its tags.
func modrepoTree(number int) fs.FS {
	required := func(name string) string {
		return fmt.Sprintf("terraform {\n  required_providers {\n    %s = {\n      source  = \"hashicorp/%s\"\n      version = \"!= 0.0.%d\"\n    }\n  }\n}\n", name, name, number)
	}
	return fileTree(map[string]string{"main.tf": required("random"), "modules/sub/main.tf": required("null")}, nil)
}

// The cause stands alone where no more was attempted than to fetch what the source
// says.
func TestUnreadHasTheCauseOfItsSource(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ source, fetching, want string }{
		{"acme/gone/aws", "acme/gone/aws", "it is private"},
		{"git::https://git.example.com/r.git//vpc?ref=v1", "https://git.example.com/r.git", "it is private"},
		{"https://example.com/net.zip//vpc", "https://example.com/net.zip", "it is private"},
		{"github.com/acme/net", "https://github.com/acme/net.git", ""},
		{"acme/gone/aws", "", ""},
	} {
		src := newTableSource()
		src.answers[Call{Source: tt.source}] = tableAnswer{err: &problem.Error{
			Problem: problem.Problem{Code: problem.CodeUnauthorized, Message: "fetching it", About: tt.fetching}, Err: errors.New("it is private"),
		}}
		tree := fileTree(map[string]string{"main.tf": fmt.Sprintf("module \"m\" {\n  source = %q\n}\n", tt.source)}, nil)
		modules, _, err := scanned(t.Context(), tree, src, Options{Dirs: []string{"."}})
		if err != nil || len(modules) != 1 || len(modules[0].Tree.Unread) != 1 {
			t.Fatalf("%s: %v, %v, want a module call that is not read", tt.source, modules, err)
		}
		if u := modules[0].Tree.Unread[0]; u.Cause != tt.want || u.Reason != "fetching it: it is private" {
			t.Errorf("of %s, when %q was fetched, the cause is %q of %q, want %q", tt.source, tt.fetching, u.Cause, u.Reason, tt.want)
		}
	}
}
