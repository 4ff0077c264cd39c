// Package tfconfig reads the configuration of one module: the files of its directory,
// decoded and merged by the rules of a tool. It does not read the modules that it calls.
//
// A Tree is a file tree with modules, and a Directory is one of its directories.
// Directory.Configuration has these parts:
//
//   - the providers that the module needs, with the place of each term (Need);
//   - the modules that it calls, and their places (ModuleCall);
//   - the releases of the tool that it accepts;
//   - what its test files add.
//
// The rules are those of the tool's release. Package scan follows the calls of a whole
// module tree and decides the values of variables: it passes an Evaluator for expressions
// that a tool evaluates early (ModuleCall.Evaluate).
//
// The package reads only the parts of a file that affect providers and module calls. It
// skips every other body, so that newer syntax there does no harm. At the top of a file and
// in terraform blocks, where requirements come from, unknown syntax is an error, as it is
// for the tools [terraform 1.11 internal/configs/parser_config.go]: ignoring it might drop
// a requirement.
package tfconfig
