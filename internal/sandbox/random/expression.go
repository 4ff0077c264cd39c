package random

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// value is an expression in the file at that evaluates to text, possibly
// indirectly; depth limits it.
func (u *Units) value(text, at string, depth int) string {
	quoted := hclQuote(text)
	if depth == 0 {
		return quoted
	}
	v := func() string { return u.value(text, at, depth-1) }
	wrong := `"wrong"`
	half := len(text) / 2
	first, second := hclQuote(text[:half]), hclQuote(text[half:])
	forms := []func() string{
		func() string { return quoted },
		func() string { return u.local(at, v()) },
		func() string { return u.local(at, v()) },
		func() string { return fmt.Sprintf(`format("%%s%%s", %s, %s)`, first, second) },
		func() string { return fmt.Sprintf(`join("", [%s, %s])`, first, second) },
		func() string { return fmt.Sprintf(`"${%s}${%s}"`, first, second) },
		func() string { return fmt.Sprintf(`lookup({ k = %s }, "k", %s)`, v(), wrong) },
		func() string { return fmt.Sprintf(`lookup({ k = %s }, "other", %s)`, wrong, v()) },
		func() string { return fmt.Sprintf(`try({}.missing, %s)`, v()) },
		func() string { return fmt.Sprintf(`can(%s) ? %s : %s`, v(), v(), wrong) },
		func() string { return fmt.Sprintf(`coalesce("", %s)`, v()) },
		func() string { return fmt.Sprintf(`[%s, %s][1]`, wrong, v()) },
		func() string { return fmt.Sprintf(`element([%s, %s], 3)`, wrong, v()) },
		func() string { return fmt.Sprintf(`{ k = %s }["k"]`, v()) },
		func() string { return fmt.Sprintf(`merge({ k = %s }, { k = %s }).k`, wrong, v()) },
		func() string { return fmt.Sprintf(`[for x in [%s] : x][0]`, v()) },
		func() string { return fmt.Sprintf(`{ for k, x in { a = %s } : upper(k) => x }.A`, v()) },
		func() string { return fmt.Sprintf(`concat([], [%s])[0]`, v()) },
		func() string { return fmt.Sprintf(`compact(["", %s])[0]`, v()) },
		func() string { return fmt.Sprintf(`zipmap(["k"], [%s]).k`, v()) },
		func() string { return fmt.Sprintf(`replace("X%s", "X", "")`, hclBody(text)) },
		func() string { return fmt.Sprintf(`trimprefix("v-%s", "v-")`, hclBody(text)) },
		func() string { return fmt.Sprintf(`regex("(?s)^v(.*)$", "v%s")[0]`, hclBody(text)) },
		func() string { return fmt.Sprintf(`jsondecode(jsonencode({ k = %s })).k`, v()) },
		func() string { return fmt.Sprintf(`yamldecode("k: %s").k`, hclBody(strconv.Quote(text))) },
		func() string { return fmt.Sprintf(`values({ k = %s })[0]`, v()) },
		func() string { return fmt.Sprintf(`keys({ (%s) = 1 })[0]`, v()) },
		func() string { return fmt.Sprintf(`flatten([[], [[%s]]])[0]`, v()) },
		func() string { return fmt.Sprintf(`reverse(sort(["", %s]))[0]`, v()) },
		func() string { return fmt.Sprintf(`slice([%s, %s], 1, 2)[0]`, wrong, v()) },
		func() string { return fmt.Sprintf(`split("|", "wrong|%s")[1]`, hclBody(text)) },
		func() string { return fmt.Sprintf(`substr("..%s", 2, -1)`, hclBody(text)) },
		func() string { return fmt.Sprintf(`base64decode(base64encode(%s))`, v()) },
		func() string { return fmt.Sprintf(`contains(["a", "b"], "b") ? %s : %s`, v(), wrong) },
		func() string { return fmt.Sprintf(`length(setunion(["a"], ["a", "b"])) == 2 ? %s : %s`, v(), wrong) },
		func() string { return fmt.Sprintf(`max(1, 3, 2) == 3 && !(ceil(1.2) == 1) ? %s : %s`, v(), wrong) },
		func() string { return fmt.Sprintf(`{ l = [{ k = %s }] }.l.*.k[0]`, v()) },
		func() string { return fmt.Sprintf(`one(compact([%s]))`, v()) },
		func() string { return fmt.Sprintf(`trimsuffix(chomp("%s-\n"), "-")`, hclBody(text)) },
		func() string { return fmt.Sprintf(`index(["a", "b"], "b") == 1 ? %s : %s`, v(), wrong) },
		func() string { return fmt.Sprintf(`tomap({ k = %s })["k"]`, v()) },
		func() string { return fmt.Sprintf(`transpose({ (%s) = ["k"] })["k"][0]`, v()) },
		func() string { return fmt.Sprintf(`[for i, x in ["a", %s] : x if i == 1][0]`, v()) },
		func() string { return fmt.Sprintf(`constraint_check("1.5.0", ">= 1.0") ? %s : %s`, v(), wrong) },
		func() string { return fmt.Sprintf(`startswith("live/app", "live") ? %s : %s`, v(), wrong) },
		func() string { return fmt.Sprintf(`get_env("RELOCK_IS_NOT_SET", %s)`, v()) },
		func() string { return u.read(text, at, v) },
		func() string { return u.read(text, at, v) },
		func() string { return u.place(at, v(), wrong) },
		func() string { return u.place(at, v(), wrong) },
		func() string { return u.exposed(at, v) },
	}
	return "(" + forms[u.rand.IntN(len(forms))]() + ")"
}

// local defines a local value in the file at, and refers to it.
func (u *Units) local(at, expression string) string {
	name := u.next("l")
	u.locals[at] = append(u.locals[at], name+" = "+expression)
	return "local." + name
}

// exposed refers to a local value of the included file.
func (u *Units) exposed(at string, v func() string) string {
	if !u.expose || at != u.Unit+"/terragrunt.hcl" {
		return v()
	}
	name := u.next("e")
	u.locals[u.parent] = append(u.locals[u.parent], name+" = "+u.value("e", u.parent, 1))
	return fmt.Sprintf("include.root.locals.%s == \"e\" ? %s : \"wrong\"", name, v())
}

// read puts the text into another file, and reads it.
func (u *Units) read(text, at string, v func() string) string {
	name := u.next("f")
	beside := path.Dir(at) + "/"
	quoted := strconv.Quote(text)
	switch u.rand.IntN(6) {
	case 0:
		u.files[beside+name+".json"] = `{"k": ` + quoted + `}`
		return fmt.Sprintf(`jsondecode(file("%s.json")).k`, name)
	case 1:
		u.files[beside+name+".yaml"] = "k: " + quoted + "\n"
		return fmt.Sprintf(`yamldecode(file("${%s}/%s.yaml")).k`, u.here(at), name)
	case 2:
		u.files[beside+name+".tpl"] = "${v}"
		return fmt.Sprintf(`templatefile("%s.tpl", { v = %s })`, name, v())
	case 3:
		u.files[beside+name+".tfvars"] = "k = " + quoted + "\n"
		return fmt.Sprintf(`jsondecode(read_tfvars_file("${%s}/%s.tfvars")).k`, u.here(at), name)
	case 4:
		other := name + ".hcl"
		u.files[beside+other] = "inputs = {\n  k = local.k\n}\n"
		u.locals[beside+other] = append(u.locals[beside+other], "k = "+u.value(text, beside+other, 1))
		return fmt.Sprintf(`read_terragrunt_config("${%s}/%s").%s.k`, u.here(at), other, pick(u.rand, "locals", "inputs"))
	default:
		if !strings.HasPrefix(u.Unit, "live/") {
			return v()
		}
		u.locals["live/env.hcl"] = append(u.locals["live/env.hcl"], name+" = "+u.value(text, "live/env.hcl", 1))
		return fmt.Sprintf(`read_terragrunt_config(find_in_parent_folders("env.hcl")).locals.%s`, name)
	}
}

// here is an expression for the directory of the file at.
func (u *Units) here(at string) string {
	switch {
	case at == u.parent:
		return "get_parent_terragrunt_dir()"
	case path.Base(at) == "terragrunt.hcl":
		return pick(u.rand, "get_terragrunt_dir()", "get_original_terragrunt_dir()")
	default:
		return "get_terragrunt_dir()"
	}
}

// place is the expression of the right path, if a path function gives it.
func (u *Units) place(at, right, wrong string) string {
	up := strings.TrimSuffix(strings.Repeat("../", strings.Count(u.Unit, "/")+1), "/")
	tests := []string{
		`basename(get_original_terragrunt_dir()) == "app"`,
		`fileexists("${get_repo_root()}/modules/one/main.tf")`,
		fmt.Sprintf(`abspath("${get_repo_root()}/%s") == get_original_terragrunt_dir()`, u.Unit),
	}
	if at == u.Unit+"/terragrunt.hcl" || at == u.parent {
		tests = append(tests,
			fmt.Sprintf(`get_path_from_repo_root() == %q`, u.Unit),
			fmt.Sprintf(`get_path_to_repo_root() == %q`, up),
		)
	}
	if at == u.parent {
		below := strings.TrimPrefix(u.Unit, "live/")
		tests = append(tests,
			fmt.Sprintf(`path_relative_to_include() == %q`, below),
			fmt.Sprintf(`path_relative_from_include() == %q`, strings.TrimSuffix(strings.Repeat("../", strings.Count(below, "/")+1), "/")),
			`basename(get_parent_terragrunt_dir()) == "live"`,
		)
	}
	return fmt.Sprintf(`%s ? %s : %s`, tests[u.rand.IntN(len(tests))], right, wrong)
}

// hclQuote is text as a literal of HCL.
func hclQuote(text string) string { return `"` + hclBody(text) + `"` }

func hclBody(text string) string {
	quoted := strconv.Quote(text)
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(quoted[1 : len(quoted)-1])
}
