package units

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/relock-dev/relock/internal/staticeval"
)

// TestFunctions holds the values of Terragrunt's functions in a unit that includes two
// files.
func TestFunctions(t *testing.T) {
	t.Parallel()
	const top = repositoryTop
	files := tree(`
-- live/app/terragrunt.hcl --
include "r" {
  path = "../root.hcl"
}
include "e" {
  path = "../../env/env.hcl"
}
-- live/root.hcl --
-- env/env.hcl --
-- live/terragrunt.hcl --
-- live/app/text --
abc
-- live/app/v.tfvars --
a = "x"
b = [1, 2]
-- live/app/v.json --
{"a": "y"}
-- live/app/wrong.tfvars --
a = "
-- live/app/t.tftpl --
${a}-${m.b}
-- live/other/terragrunt.hcl --
locals {
  m = "other"
}
-- live/circle.hcl --
include "r" {
  path = "none.hcl"
}
`)
	for expr, want := range map[string]string{
		`path_relative_to_include("r")`:               `"app"`,
		`path_relative_to_include("e")`:               `"../live/app"`,
		`path_relative_from_include("r")`:             `".."`,
		`path_relative_from_include("e")`:             `"../../env"`,
		`get_parent_terragrunt_dir("e")`:              `"` + top + `/env"`,
		`path_relative_to_include()`:                  "refused: error in function call",
		`path_relative_to_include("x")`:               "refused: error in function call",
		`get_terragrunt_dir()`:                        `"` + top + `/live/app"`,
		`get_original_terragrunt_dir()`:               `"` + top + `/live/app"`,
		`get_repo_root()`:                             `"` + top + `"`,
		`get_path_to_repo_root()`:                     `"../.."`,
		`get_path_from_repo_root()`:                   `"live/app"`,
		`find_in_parent_folders()`:                    `"` + top + `/live/terragrunt.hcl"`,
		`find_in_parent_folders("root.hcl")`:          `"` + top + `/live/root.hcl"`,
		`find_in_parent_folders("env")`:               `"` + top + `/env"`,
		`find_in_parent_folders("text")`:              "refused: find_in_parent_folders finds nothing in the repository",
		`find_in_parent_folders("text", "x")`:         `"x"`,
		`find_in_parent_folders("a", "b", "c")`:       "refused: error in function call",
		`abspath("/a/../b")`:                          `"/b"`,
		`abspath("a")`:                                "unknown: abspath depends on where Terragrunt runs",
		`get_env("A", "d")`:                           `"d"`,
		`get_env("A")`:                                "unknown: it depends on the environment variable A",
		`get_env("A B")`:                              "unknown: it depends on the environment",
		`get_env("")`:                                 "refused: error in function call",
		`constraint_check("v1.2.0", ">= 1.0")`:        "true",
		`constraint_check("1.2.0", "~> 1.0.0")`:       "false",
		`constraint_check("x", "~> 1.0.0")`:           "refused: error in function call",
		`timecmp("2020-01-01T00:00:00Z", "x")`:        "refused: error in function call",
		`basename("a/b")`:                             `"b"`,
		`dirname("a/b")`:                              `"a"`,
		`mark_as_read("a")`:                           `"a"`,
		`run_cmd("x")`:                                "unknown: run_cmd depends on a command",
		`get_terraform_commands_that_need_input()[0]`: `"apply"`,

		`file("text")`:               `"abc\n"`,
		`filebase64("text")`:         `"YWJjCg=="`,
		`file("none")`:               "unknown: it reads a file that is not there",
		`file("../../../x")`:         "unknown: it leads out of the repository",
		`fileexists("text")`:         "true",
		`fileexists("none")`:         "false",
		`fileexists("/etc")`:         "unknown: it leads out of the repository",
		`fileset(".", "v.*")`:        `["v.json","v.tfvars"]`,
		`fileset(".", "{text,t.*}")`: `["t.tftpl","text"]`,
		`fileset("none", "*")`:       `[]`,
		`fileset(".", "../*")`:       "unknown: the pattern of fileset leads out of its directory",

		`jsondecode(read_tfvars_file("v.tfvars"))`: `{"a":"x","b":[1,2]}`,
		`read_tfvars_file("v.json")`:               `"{\"a\": \"y\"}\n"`,
		`read_tfvars_file("wrong.tfvars")`:         "refused: error in function call",
		`read_tfvars_file("none")`:                 "unknown: it reads a file that is not there",

		`read_terragrunt_config("../other").locals.m`:    `"other"`,
		`read_terragrunt_config("../none.hcl")`:          "refused: there is no file live/none.hcl",
		`read_terragrunt_config("../circle.hcl").locals`: "refused: there is no file live/none.hcl",

		`templatefile("t.tftpl", { a = "x", m = { b = "y" } })`: `"x-y\n"`,
		`templatefile("t.tftpl", { a = "x" })`:                  `"x-relock_not_known_1_\n"`,
		`templatefile("t.tftpl", tomap({ a = "x" }))`:           `"x-relock_not_known_1_\n"`,
		`templatefile("t.tftpl", run_cmd("x"))`:                 `"relock_not_known_1_-relock_not_known_2_\n"`,

		`deep_merge({ l = [1], m = { a = 1, b = 1 }, s = "x" }, { l = [2], m = { b = 2 }, s = ["y"] })`: `{"l":[1,2],"m":{"a":1,"b":2},"s":["y"]}`,
		`deep_merge({}, { l = [] }, { l = [1, 2] })`:                                                    `{"l":[1,2]}`,
		`deep_merge({ a = 1 }, "x")`:                                                                    "refused: error in function call",
	} {
		r := NewReading(NewFiles(files), "live/app", nil)
		unit, why := r.Open("live/app/terragrunt.hcl", "live/app", nil)
		if why != nil {
			t.Fatal(why)
		}
		parsed, diags := hclsyntax.ParseExpression([]byte(expr), "x", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if got := shownValue(unit, parsed); got != want {
			t.Errorf("%s is %s, want %s", expr, got, want)
		}
	}
}

// shownValue is the value of an expression as JSON, or why it has none.
func shownValue(e *Evaluator, expr hcl.Expression) string {
	v, why := e.Value(expr)
	if why == nil {
		why = staticeval.ReasonFor(v)
	}
	if why != nil && why.Refused {
		return "refused: " + why.Reason
	}
	if why != nil {
		return "unknown: " + why.Reason
	}
	v, _ = v.UnmarkDeep()
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return err.Error()
	}
	return string(text)
}
