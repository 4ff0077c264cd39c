package units

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/staticeval"
)

// Where the rules of functions are from.
const (
	helpers   = "terragrunt 1.1 pkg/config/config_helpers.go"
	fileRules = "terraform 1.11 internal/lang/funcs/filesystem.go"
)

// dynamic are the functions whose values are known only when Terragrunt runs, each with
// what it depends on.
var dynamic = []struct{ name, on string }{
	{"run_cmd", "a command"},
	{"sops_decrypt_file", "a secret"},
	{"get_aws_account_alias", "who runs Terragrunt"},
	{"get_aws_account_id", "who runs Terragrunt"},
	{"get_aws_caller_identity_arn", "who runs Terragrunt"},
	{"get_aws_caller_identity_user_id", "who runs Terragrunt"},
	{"get_terraform_command", "what Terragrunt is to do"},
	{"get_terraform_cli_args", "what Terragrunt is to do"},
	{"get_terragrunt_source_cli_flag", "what Terragrunt is to do"},
	{"get_platform", "the machine"},
	{"get_working_dir", "the machine"},
	{"pathexpand", "the machine"},
	{"timestamp", "the time"},
	{"uuid", "chance"},
	{"bcrypt", "chance"},
}

// sameFunctions are the functions that do not depend on the file. They are sorted: the
// first of a name counts.
var sameFunctions = slices.Concat(notKnown(), constants(), []staticeval.Function{
	textFunction("basename", "the last part of a path", fileRules, func(text string) (cty.Value, error) { return cty.StringVal(path.Base(text)), nil }),
	textFunction("dirname", "a path without its last part", fileRules, func(text string) (cty.Value, error) { return cty.StringVal(path.Dir(text)), nil }),
	textFunction("mark_as_read", "a path as it is", helpers, func(text string) (cty.Value, error) { return cty.StringVal(text), nil }),
	{Name: "timecmp", Meaning: "which of two times is earlier", Source: helpers, Call: staticeval.Pair(compareTimes)},
	{Name: "constraint_check", Meaning: "whether a version meets constraints", Source: helpers, Call: staticeval.Pair(meetsConstraints)},
}, staticeval.Wide, staticeval.Tools)

func notKnown() []staticeval.Function {
	var all []staticeval.Function
	for _, d := range dynamic {
		why := &staticeval.Unknown{Reason: d.name + " depends on " + d.on}
		all = append(all, helper(d.name, "nothing that is known here", func([]string) (cty.Value, error) { return cty.NilVal, why }))
	}
	return all
}

// constants are lists of Terraform's commands [terragrunt 1.1
// pkg/config/config_helpers.go]. Nothing that init sees depends on them.
func constants() []staticeval.Function {
	list := func(commands ...string) function.Function {
		values := collect.Mapped(commands, cty.StringVal)
		return textsFunction(func([]string) (cty.Value, error) { return cty.ListVal(values), nil })
	}
	all := []staticeval.Function{
		{Name: "get_terraform_commands_that_need_vars", Call: list("apply", "console", "destroy", "import", "plan", "push", "refresh")},
		{Name: "get_terraform_commands_that_need_locking", Call: list("apply", "destroy", "import", "plan", "refresh", "taint", "untaint")},
		{Name: "get_terraform_commands_that_need_input", Call: list("apply", "import", "init", "plan", "refresh")},
		{Name: "get_terraform_commands_that_need_parallelism", Call: list("apply", "plan", "destroy")},
	}
	for i := range all {
		all[i].Meaning, all[i].Source = "commands of Terraform", helpers
	}
	return all
}

// textFunction is a function of one text.
func textFunction(name, meaning, source string, do func(text string) (cty.Value, error)) staticeval.Function {
	return staticeval.Function{Name: name, Meaning: meaning, Source: source, Call: staticeval.Text(do)}
}

// textsFunction makes a function of any number of texts.
func textsFunction(do func(args []string) (cty.Value, error)) function.Function {
	return function.New(&function.Spec{
		VarParam: &function.Parameter{Name: "args", Type: cty.String},
		Type:     function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return do(collect.Mapped(args, cty.Value.AsString))
		},
	})
}

// helper is a function of texts that Terragrunt itself has.
func helper(name, meaning string, do func(args []string) (cty.Value, error)) staticeval.Function {
	return staticeval.Function{Name: name, Meaning: meaning, Source: helpers, Call: textsFunction(do)}
}

// functionTable makes the functions that a file can call.
type functionTable struct {
	reading *Reading
	caller  *Evaluator
}

// functions are all functions that the file can call.
func (t functionTable) functions() []staticeval.Function {
	constant := func(name, meaning, value string) staticeval.Function {
		return helper(name, meaning, func([]string) (cty.Value, error) { return cty.StringVal(value), nil })
	}
	own := []staticeval.Function{
		helper("find_in_parent_folders", "the nearest file or directory of a name above", t.findInParents),
		helper("path_relative_to_include", "the way from an included file's directory", func(args []string) (cty.Value, error) {
			in, err := t.selected(args)
			if in == nil || err != nil {
				return cty.StringVal("."), err
			}
			return cty.StringVal(filetree.Relative(path.Dir(in.path), t.caller.dir)), nil
		}),
		helper("path_relative_from_include", "the way to an included file's directory", func(args []string) (cty.Value, error) {
			in, err := t.selected(args)
			if in == nil || err != nil {
				return cty.StringVal("."), err
			}
			return cty.StringVal(filetree.Relative(t.caller.dir, path.Dir(in.path))), nil
		}),
		helper("get_parent_terragrunt_dir", "the directory of an included file", func(args []string) (cty.Value, error) {
			in, err := t.selected(args)
			if in == nil || err != nil {
				return cty.StringVal(AsSeen(t.caller.dir)), err
			}
			return cty.StringVal(AsSeen(path.Dir(in.path))), nil
		}),
		constant("get_terragrunt_dir", "the directory of the configuration", AsSeen(t.caller.dir)),
		constant("get_original_terragrunt_dir", "the directory of the unit", AsSeen(t.reading.unit)),
		constant("get_repo_root", "the top of the repository", repositoryTop),
		constant("get_path_to_repo_root", "the way to the top of the repository", filetree.Relative(t.caller.dir, ".")),
		constant("get_path_from_repo_root", "the way from the top of the repository", filetree.Relative(".", t.caller.dir)),
		helper("get_env", "a variable of the set of values, or its default: the environment is not read", t.environment),
		textFunction("abspath", "an absolute path", fileRules, func(text string) (cty.Value, error) {
			if !path.IsAbs(text) {
				return cty.NilVal, &staticeval.Unknown{Reason: "abspath depends on where Terragrunt runs"}
			}
			return cty.StringVal(path.Clean(text)), nil
		}),
	}
	return slices.Concat(own, t.fileFunctions(), sameFunctions)
}

// selected is the include that a function about included files refers to; nil if there is
// none [terragrunt 1.1 pkg/config/config_helpers.go].
func (t functionTable) selected(args []string) (*include, error) {
	if t.caller.parent != nil {
		return t.caller.parent, nil
	}
	includes, why, _ := t.caller.includes()
	switch {
	case why != nil:
		return nil, why
	case len(includes) == 0:
		return nil, nil
	case len(includes) == 1:
		return includes[0], nil
	case len(args) != 1:
		return nil, errors.New("it needs the name of an include")
	}
	for _, in := range includes {
		if in.label == args[0] {
			return in, nil
		}
	}
	return nil, errors.New("there is no such include")
}

// findInParents searches from the parent of the unit's directory, or of the directory of a
// file that is read. That holds in an included file, too.
func (t functionTable) findInParents(args []string) (cty.Value, error) {
	if len(args) > 2 {
		return cty.NilVal, errors.New("it takes at most two arguments")
	}
	for dir := t.caller.dir; dir != "."; {
		dir = path.Dir(dir)
		if len(args) == 0 || args[0] == "" {
			if name := t.reading.config(dir); name != "" {
				return cty.StringVal(AsSeen(name)), nil
			}
			continue
		}
		name, why := PathIn(dir, args[0])
		if why != nil || path.IsAbs(args[0]) {
			break
		}
		if _, _, err := t.reading.stat(name); err == nil {
			return cty.StringVal(AsSeen(name)), nil
		}
		if why := t.reading.Tree.notHeld(name); why != nil {
			return cty.NilVal, why
		}
	}
	if len(args) == 2 {
		return cty.StringVal(args[1]), nil
	}
	return cty.NilVal, &staticeval.Unknown{Refused: true, Reason: "find_in_parent_folders finds nothing in the repository"}
}

// environment is the function get_env. It returns the value in the set of values, or else
// the default, which is an assumption.
func (t functionTable) environment(args []string) (cty.Value, error) {
	if len(args) > 0 && args[0] == "" {
		return cty.NilVal, errors.New("it needs the name of a variable")
	}
	if len(args) != 1 && len(args) != 2 {
		return cty.NilVal, errors.New("it takes one or two arguments")
	}
	text, set := t.reading.variable(args[0])
	switch {
	case set:
		return cty.StringVal(text), nil
	case len(args) == 2:
		return cty.StringVal(args[1]).Mark(assume("the environment variable %s is not set", args[0])), nil
	case plainName.MatchString(args[0]):
		return cty.NilVal, &staticeval.Unknown{Reason: "it depends on the environment variable " + args[0], Hint: namesValues(args[0])}
	}
	return cty.NilVal, &staticeval.Unknown{Reason: "it depends on the environment"}
}

// namesValues says how to name the values of a variable, in YAML that can be copied.
func namesValues(name string) string {
	return "name the values of " + name + " in .github/relock.yml: `terragrunt: {environments: [{name: production, env: {" + name + ": VALUE}}]}`"
}

// meetsConstraints is the function constraint_check.
func meetsConstraints(version, constraints string) (cty.Value, error) {
	v, err := provider.ParseVersion(strings.TrimPrefix(version, "v"))
	if err != nil {
		return cty.NilVal, errors.New("it is no version")
	}
	allowed, err := provider.ParseConstraints(constraints)
	if err != nil {
		return cty.NilVal, errors.New("these are no constraints")
	}
	return cty.BoolVal(allowed.Allows(v)), nil
}

// compareTimes is the function timecmp.
func compareTimes(first, second string) (cty.Value, error) {
	a, errA := time.Parse(time.RFC3339, first)
	b, errB := time.Parse(time.RFC3339, second)
	if err := cmp.Or(errA, errB); err != nil {
		return cty.NilVal, errors.New("it is no time")
	}
	return cty.NumberIntVal(int64(a.Compare(b))), nil
}
