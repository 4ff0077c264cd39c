package tfconfig

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/provider"
)

// Tests has the requirements that the test files of a root module add. The test files of
// other modules do not count.
type Tests struct {
	Mistakes
	Runs  []ModuleCall // the runs that test another module, sorted by path
	Needs []Need       // from provider blocks
	Data  bool         // a file names a directory with data for mocks
}

var (
	testFileSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "run", LabelNames: []string{"name"}},
		{Type: "provider", LabelNames: []string{"name"}},
		{Type: "mock_provider", LabelNames: []string{"name"}},
	}}
	runSchema       = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "module"}, {Type: "variables"}}}
	runModuleSchema = &hcl.BodySchema{Attributes: attributes("source", "version")}
	mockSchema      = &hcl.BodySchema{Attributes: attributes("alias", "source")}
)

// loadTests reads the test files in a root module's directory and in its directory "tests".
// The tools' command line can name another directory, but no file does.
func loadTests(c *Configuration) *Tests {
	if !c.Tool.Has(provider.TestFiles) {
		return &Tests{}
	}
	m := &merger{c: c}
	names := append(m.testsBelow(), c.files.tests...)
	slices.Sort(names)
	var found file
	for _, name := range names {
		m.read(name, false, func(src []byte, d *decoder) { decodeTestFile(src, d, &found, c.Directory, name) })
	}
	for _, p := range found.providers {
		if addr, ok := m.provider(p.ref.name, p.Place); ok { // by the root module's local names
			m.need(requiredProvider{addr: addr}, p.version, p.Place)
		}
	}
	return &Tests{m.Mistakes, found.calls, m.needs, found.data}
}

// decodeTestFile reads a test file. It skips blocks that do not affect providers and
// modules: their syntax grows with every release.
func decodeTestFile(src []byte, d *decoder, f *file, root Directory, name string) {
	body, ok := d.body(src)
	if !ok {
		return
	}
	for _, block := range d.content(body, testFileSchema).Blocks {
		switch block.Type {
		case "run":
			decodeRun(d, f, block, name)
		case "provider":
			decodeTestProvider(d, f, block)
		case "mock_provider":
			decodeMock(d, f, block, root)
		}
	}
}

// decodeRun reads which module a run tests, unless it is the root module. The source is
// never evaluated early. It is relative to the root module, also for a file in the tests
// directory.
func decodeRun(d *decoder, f *file, block *hcl.Block, name string) {
	if !d.identifier(block, 0) {
		return
	}
	// The tools include the path of the file in the module's name [terraform 1.11
	// internal/configs/config_build.go].
	for _, ext := range bothExtensions {
		name = strings.TrimSuffix(name, ext)
	}
	name = "test." + strings.ReplaceAll(name, "/", ".") + "." + block.Labels[0]
	blocks := d.content(block.Body, runSchema).Blocks
	for _, inner := range blocks.OfType("module") {
		attrs := d.content(inner.Body, runModuleSchema).Attributes
		run := ModuleCall{
			Place: d.placeOf(inner.DefRange), Name: name,
			source: decodeCallArgument(d, attrs["source"]), version: decodeCallArgument(d, attrs["version"]),
		}
		if evaluatesEarly(d.tool) {
			for _, variables := range blocks.OfType("variables") {
				run.Args, _ = variables.Body.JustAttributes()
			}
		}
		if run.source == nil {
			d.errorf(inner.DefRange, "missing required argument: the module has no source")
			continue
		}
		run.Module = decodeSource(d, run, false)
		if run.Module.Kind == RemoteSource && run.Module.Addr.Kind != moduleaddr.Registry && d.tool.Name == provider.Terraform {
			d.errorf(run.source.Expr.Range(), "invalid module source address: a run can test only local modules and those of a module registry")
			continue
		}
		f.calls = append(f.calls, run)
	}
}

// decodeTestProvider reads a provider block. In releases that count test files, the block
// requires what it would in a configuration file. Later releases of Terraform refuse a
// version there [cases 267, 268].
func decodeTestProvider(d *decoder, f *file, block *hcl.Block) {
	if d.tool.Has(provider.TestProviders) {
		decodeProvider(d, f, block)
		return
	}
	var uncounted file
	decodeProvider(d, &uncounted, block)
	for _, p := range uncounted.providers {
		if p.version != nil {
			d.Add(p.version.Place, "version constraints are not allowed in test files")
		}
	}
}

// decodeMock reads a mock_provider block. Releases of Terraform that counted provider
// blocks of test files counted these, too. The directory with its data must exist.
func decodeMock(d *decoder, f *file, block *hcl.Block, root Directory) {
	attrs := d.content(block.Body, mockSchema).Attributes
	if !d.localName(block) {
		return
	}
	source, ok := attrs["source"]
	switch {
	case ok && d.tool.Name == provider.OpenTofu:
		d.errorf(source.NameRange, "unsupported argument: source is not expected in a mock_provider block")
	case ok:
		dir, known := d.text(source.Expr)
		if !known || path.IsAbs(dir.text) {
			break
		}
		f.data = true
		if _, err := root.Dir(dir.text); errors.Is(err, fs.ErrNotExist) {
			d.errorf(source.Expr.Range(), "unreadable mock data directory: it does not exist")
		}
	}
	if d.tool.Name == provider.Terraform && d.tool.Has(provider.TestProviders) {
		f.providers = append(f.providers, providerBlock{Place: d.placeOf(block.DefRange), ref: providerRef{name: block.Labels[0]}})
	}
}

// testsBelow returns the test files in the test directory, by their path in the root
// module.
func (m *merger) testsBelow() []string {
	root := m.c.Directory
	if !root.Has(TestDir) {
		return nil
	}
	at, err := root.Dir(TestDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a file of this name, or a broken link
	}
	var entries []fs.DirEntry
	if err == nil {
		entries, err = at.Entries()
	}
	if err != nil {
		m.Unreadable("directory", root.Place(TestDir), err)
	}
	return collect.Mapped(testNames(entries, m.c.Tool), func(name string) string { return path.Join(TestDir, name) })
}

func testNames(entries []fs.DirEntry, tool provider.Tool) []string {
	if !tool.Has(provider.HiddenTestFiles) {
		return files(entries, tool).tests
	}
	var names []string
	for _, e := range entries {
		if _, ext := splitName(e.Name(), tool); testExtension(ext) && !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}
