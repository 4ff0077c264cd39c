// Package tfconfig reads the configuration of one module: the files of its directory,
// decoded and merged by the rules of a tool, without the modules that it calls.
//
// A Tree is a file tree that modules are in, and a Directory one of its directories.
// Directory.Configuration says which providers the module needs, with the place of each term
// (Need), which modules it calls and where those are (ModuleCall), which releases of
// the tool it takes, and what its test files add. The rules are the tools' own, by
// release, and where both differ by tool. What the calls of a whole module tree lead
// to is package scan's business, and so is what variables stand for: the caller gives
// the values of expressions that a tool evaluates early (ModuleCall.Evaluate).
//
// The package reads of a file what bears on providers and module calls, and
// leaves every other body unread, so that newer syntax there is no obstacle. At
// the top of a file and in terraform blocks, where requirements come from,
// unknown syntax is an error, as it is for the tools
// [terraform 1.11 internal/configs/parser_config.go]: ignoring it might drop a requirement.
package tfconfig
