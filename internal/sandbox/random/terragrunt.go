package random

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// Units is a repository of Terragrunt: modules, files that are included or read,
// and one unit. Terragrunt may refuse it.
type Units struct {
	// Files are the repository's, except for its .git.
	Files []txtar.File
	// Unit is the directory of the unit.
	Unit string

	rand   *rand.Rand
	files  map[string]string
	locals map[string][]string // by file, the definitions of its locals block
	parent string              // the file that the unit includes as "root"; empty for none
	expose bool                // whether the unit may refer to include.root
	number int                 // the number in the last name from next
}

// unitsProviders are the requirements of a Units' modules. Most of their
// constraints can be met by versions in the world of the recorded cases.
var unitsProviders = map[string][]string{
	"random": {"~> 3.5.0", ">= 3.0.0, < 3.6.0", "3.4.0", "~> 3.0"},
	"null":   {"~> 3.2.0", "< 3.2.2", "3.1.0"},
	"time":   {">= 0.9.0", "~> 0.8.0", "0.7.0"},
	"tls":    {"~> 3.0", "4.0.0", "!= 4.1.0"},
	"local":  {"2.4.0", "~> 2.3.0", ">= 2.0.0"},
}

// NewUnits makes the repository of a seed.
func NewUnits(seed uint64) *Units {
	u := &Units{
		rand:  rand.New(rand.NewPCG(seed, 1)),
		files: map[string]string{}, locals: map[string][]string{},
	}
	u.Unit = pick(u.rand, "live/prod/app", "live/app", "app", "live/eu/prod/app")
	for _, name := range []string{"one", "two", "three"} {
		u.addModule(name)
	}
	if strings.HasPrefix(u.Unit, "live/") && u.chance(75) {
		u.parent, u.expose = "live/root.hcl", u.chance(60)
	}
	own := u.unit()
	if u.parent != "" {
		u.files[u.parent] = u.included()
	}
	u.files[u.Unit+"/terragrunt.hcl"] = own
	for file, definitions := range u.locals {
		u.files[file] = "locals {\n  " + strings.Join(definitions, "\n  ") + "\n}\n" + u.files[file]
	}
	for _, name := range slices.Sorted(maps.Keys(u.files)) {
		u.Files = append(u.Files, txtar.File{Name: name, Data: []byte(u.files[name])})
	}
	return u
}

// String shows the files.
func (u *Units) String() string { return string(txtar.Format(&txtar.Archive{Files: u.Files})) }

func (u *Units) chance(percent int) bool { return u.rand.IntN(100) < percent }

// next is a new name.
func (u *Units) next(prefix string) string {
	u.number++
	return fmt.Sprint(prefix, u.number)
}

func (u *Units) provider() (name, constraint string) {
	name = pick(u.rand, slices.Sorted(maps.Keys(unitsProviders))...)
	return name, pick(u.rand, unitsProviders[name]...)
}

// required is a block of required_providers; constraint is put as it is given.
func required(name, constraint string) string {
	return fmt.Sprintf("terraform {\n  required_providers {\n    %s = {\n      source  = \"hashicorp/%[1]s\"\n      version = \"%s\"\n    }\n  }\n}\n", name, constraint)
}

// addModule adds a module. A module that calls modules/one is complete only if
// the source has a // after modules.
func (u *Units) addModule(name string) {
	dir := "modules/" + name
	p, constraint := u.provider()
	u.files[dir+"/main.tf"] = "# " + name + "\n"
	switch u.rand.IntN(6) {
	case 0:
		u.files[dir+"/main.tf"] += required(p, constraint)
	case 1, 2:
		u.files[dir+"/versions.tf"] = required(p, constraint)
	case 3:
		u.files[dir+"/versions.tf"] = required(p, constraint)
		u.files[dir+"/sub/main.tf"] = required(u.provider())
		u.files[dir+"/main.tf"] += "module \"sub\" {\n  source = \"./sub\"\n}\n"
	default:
		q, _ := u.provider()
		u.files[dir+"/main.tf"] += "provider \"" + q + "\" {\n}\n"
	}
	if name != "one" && u.chance(30) {
		u.files[dir+"/sibling.tf"] = "module \"sibling\" {\n  source = \"../one\"\n}\n"
	}
	if u.chance(20) {
		u.files[dir+"/.hidden.tf"] = required(u.provider())
	}
}

// unit is the unit's own configuration; it adds the files beside it.
func (u *Units) unit() string {
	at := u.Unit + "/terragrunt.hcl"
	var b strings.Builder
	if u.parent != "" {
		up := strings.Repeat("../", strings.Count(strings.TrimPrefix(u.Unit, "live/"), "/")+1)
		fmt.Fprintf(&b, "include \"root\" {\n  path = %s\n", pick(u.rand, `find_in_parent_folders("root.hcl")`, `"`+up+`root.hcl"`,
			`"${get_terragrunt_dir()}/`+up+`root.hcl"`, `"${get_repo_root()}/live/root.hcl"`))
		if u.expose {
			b.WriteString("  expose = true\n")
		}
		if u.chance(50) {
			fmt.Fprintf(&b, "  merge_strategy = %q\n", pick(u.rand, "deep", "shallow", "no_merge", "deep"))
		}
		b.WriteString("}\n")
	}
	if u.chance(20) {
		b.WriteString(u.second())
	}
	if u.chance(85) {
		fmt.Fprintf(&b, "terraform {\n  source = %s\n%s}\n", u.source(at), u.copyLists())
	} else {
		u.files[u.Unit+"/main.tf"] = required(u.provider())
	}
	b.WriteString(u.generated(at))
	if u.chance(15) {
		u.files[u.Unit+"/terragrunt.values.hcl"] = "v = \"value\"\n"
		fmt.Fprintf(&b, "inputs = {\n  v = values.v\n}\n")
	}
	if u.chance(15) {
		b.WriteString(pick(u.rand, "download_dir = \"${get_terragrunt_dir()}/.elsewhere\"\n", "prevent_destroy = true\n", "exclude {\n  if = true\n  actions = [\"plan\"]\n}\n",
			"feature \"f\" {\n  default = \"g\"\n}\n", "dependency \"d\" {\n  config_path = \"../d\"\n  enabled = false\n}\n", "terraform_version_constraint = \">= 1.0\"\n"))
	}
	if u.chance(15) {
		u.files[u.Unit+"/terragrunt.autoinclude.hcl"] = u.generated(u.Unit + "/terragrunt.autoinclude.hcl")
	}
	if u.chance(30) {
		u.files[u.Unit+"/"+pick(u.rand, "extra.tf", "versions.tf", "main.tf", "sub/main.tf", ".extra.tf", "extra_override.tf")] =
			pick(u.rand, "provider \"tls\" {\n}\n", required(u.provider()), "# nothing\n")
	}
	return b.String()
}

// second is another file that the unit includes.
func (u *Units) second() string {
	at := strings.TrimSuffix(u.Unit, "app") + "common.hcl"
	u.files[at] = u.generated(at)
	if u.chance(50) {
		u.files[at] += "terraform {\n  source = " + u.source(at) + "\n" + u.copyLists() + "}\n"
	}
	return "include \"common\" {\n  path = \"../common.hcl\"\n  merge_strategy = " + pick(u.rand, `"deep"`, `"shallow"`, `"no_merge"`) + "\n}\n"
}

// included is the configuration that the unit includes.
func (u *Units) included() string {
	var b strings.Builder
	if u.chance(40) {
		b.WriteString("terraform {\n")
		if u.chance(50) {
			fmt.Fprintf(&b, "  source = %s\n", u.source(u.parent))
		}
		b.WriteString(u.copyLists() + "}\n")
	}
	b.WriteString(u.generated(u.parent))
	if u.chance(25) {
		b.WriteString("remote_state {\n  backend = \"local\"\n  config = {\n    path = \"${path_relative_to_include()}/x.tfstate\"\n  }\n  generate = {\n    path = \"" +
			pick(u.rand, "backend.tf", "versions.tf") + "\"\n    if_exists = \"overwrite\"\n  }\n}\n")
	}
	fmt.Fprintf(&b, "inputs = {\n  x = %s\n}\n", u.value("x", u.parent, 2))
	return b.String()
}

// source is an expression for the place of the module.
func (u *Units) source(at string) string {
	module := pick(u.rand, "one", "two", "three")
	up := strings.Repeat("../", strings.Count(u.Unit, "/")+1)
	top := pick(u.rand, up, "${get_repo_root()}/", "${get_terragrunt_dir()}/"+up, "${dirname(find_in_parent_folders(\"modules\"))}/", "${get_path_to_repo_root()}/")
	slashes := pick(u.rand, "/", "//", "//", "//", "//")
	if u.chance(60) {
		return fmt.Sprintf(`"%smodules%s%s"`, top, slashes, module)
	}
	return fmt.Sprintf(`"%smodules%s${%s}"`, top, slashes, u.value(module, at, 2))
}

// copyLists are the attributes about files that are copied beside configuration.
func (u *Units) copyLists() string {
	lists := ""
	if u.chance(20) {
		lists += "  include_in_copy = [" + pick(u.rand, `".hidden.tf"`, `".*.tf"`, `"**/.extra.tf"`) + "]\n"
	}
	if u.chance(20) {
		lists += "  exclude_from_copy = [" + pick(u.rand, `"versions.tf"`, `"**/sub"`, `"extra*.tf"`, `"sub/*"`) + "]\n"
	}
	return lists
}

// generated is what a file generates: blocks, or the attribute. Most have names
// and paths of their own.
func (u *Units) generated(at string) string {
	labels := []string{"a", "b", "c", "d"}
	paths := []string{"generated.tf", "versions.tf", "versions.tf", "versions_override.tf", "versions_override.tf", "sub/main.tf", "main.tf", "new/dir/x.tf", "x.tf.json"}
	u.rand.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
	u.rand.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	form, end := "generate \"%s\" {\n%s}\n", ""
	text := ""
	if u.chance(15) {
		form, text, end = "  %s = {\n%s}\n", "generate = {\n", "}\n"
	}
	count := u.rand.IntN(3)
	for i := range count {
		text += fmt.Sprintf(form, labels[i], u.generate(at, paths[i]))
	}
	if count == 0 {
		return ""
	}
	return text + end
}

// generate is the content of a block that writes a provider's requirement to a
// file.
func (u *Units) generate(at, path string) string {
	p, constraint := u.provider()
	body := fmt.Sprintf("  path = %s\n  if_exists = %q\n", u.value(path, at, u.rand.IntN(2)), pick(u.rand, "overwrite", "overwrite", "overwrite_terragrunt", "skip", "error"))
	if u.chance(15) {
		body += "  disable = " + pick(u.rand, "true", "false") + "\n"
		if u.chance(30) {
			body += "  if_disabled = " + pick(u.rand, `"skip"`, `"remove"`, `"remove_terragrunt"`) + "\n"
		}
	}
	if u.chance(15) {
		body += "  comment_prefix = \"// \"\n"
	}
	if strings.HasSuffix(path, ".json") {
		return body + "  disable_signature = true\n  contents = jsonencode({ terraform = { required_providers = { " + p +
			" = { source = \"hashicorp/" + p + "\", version = " + u.value(constraint, at, 2) + " } } } })\n"
	}
	switch u.rand.IntN(4) {
	case 0:
		return body + "  contents = " + u.value("# made\n"+required(p, constraint), at, 2) + "\n"
	case 1:
		return body + fmt.Sprintf("  contents = <<-EOT\nprovider \"${%s}\" {\n}\nEOT\n", u.value(p, at, 3))
	case 2:
		return body + fmt.Sprintf("  contents = <<EOT\n%%{ if %s == \"x\" ~}\nprovider \"%s\" {\n}\n%%{ else ~}\n# none\n%%{ endif ~}\nEOT\n", u.value(pick(u.rand, "x", "y"), at, 2), p)
	default:
		return body + "  contents = <<-EOT\n" + required(p, "${"+u.value(constraint, at, 3)+"}") + "EOT\n"
	}
}
